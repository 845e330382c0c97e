package budget_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities/budget"
	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/internal/servertest"
	"github.com/weftrun/weft/state/message"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// clock is a clock that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// limiter returns a limiter over documents.
func limiter(t testing.TB, docs document.Store, c budget.Config) *budget.Limiter {
	t.Helper()
	if c.Now == nil {
		c.Now = (&clock{now: noon}).read
	}
	c.Log = slog.New(slog.DiscardHandler)
	l, err := budget.Over(docs, c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// provider is a model that counts its calls.
type provider struct {
	made  atomic.Int64
	calls func() // is called before each answer, if it is not nil
	usage message.Usage
	fail  error
}

func (p *provider) Stream(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		p.made.Add(1)
		if p.calls != nil {
			p.calls()
		}
		if p.fail != nil {
			yield(model.Chunk{}, p.fail)
			return
		}
		yield(model.Chunk{Text: "yes", Stop: model.StopEnd, Usage: &p.usage}, nil)
	}
}

// ask makes a call with a request that reserves some 1,000 tokens.
func ask(ctx context.Context, m model.Model) error {
	_, err := model.Generate(ctx, m, model.Request{Messages: []message.Message{message.User("hello")}, MaxTokens: 1000})
	return err
}

// refused returns the Error in err.
func refused(t testing.TB, err error) *budget.Error {
	t.Helper()
	var e *budget.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *budget.Error", err)
	}
	return e
}

// storage is a store with its documents, as one process opens it.
type storage struct {
	checkpoint.Store
	docs document.Store
}

// stores returns an address for a new store of each kind, for this and other processes.
var stores = map[string]func(*testing.T) string{
	"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "weft.db") },
	"redis":    func(t *testing.T) string { return servertest.Redis(t) },
	"postgres": func(t *testing.T) string { return servertest.Postgres(t) },
}

// openStore opens the store of a kind at an address.
func openStore(t *testing.T, kind, address string) storage {
	t.Helper()
	var s interface {
		checkpoint.Store
		Documents(context.Context) (document.Store, error)
		Close() error
	}
	var err error
	switch kind {
	case "sqlite":
		s, err = sqlite.Open(t.Context(), address)
	case "redis":
		s, err = redis.OpenURL(t.Context(), address)
	case "postgres":
		s, err = postgres.Open(t.Context(), address, postgres.Config{RetryFor: time.Minute})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	docs, err := s.Documents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return storage{s, docs}
}

// onAllStores runs a test on each store.
func onAllStores(t *testing.T, test func(t *testing.T, s storage)) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, storage{new(checkpoint.Memory), new(document.Map)})
	})
	for kind, address := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, openStore(t, kind, address(t)))
		})
	}
}
