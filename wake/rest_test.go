package wake_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/servertest"
	"github.com/weftrun/weft/wake"
)

// counted counts what is read of documents.
type counted struct {
	document.Store
	queries, read int
}

func (c *counted) Query(ctx context.Context, q document.Query) ([]document.Doc, error) {
	docs, err := c.Store.Query(ctx, q)
	c.queries, c.read = c.queries+1, c.read+len(docs)
	return docs, err
}

// resting returns a waker of n timers that are due in an hour, and later.
func resting(t testing.TB, docs document.Store, n int) wake.Config {
	t.Helper()
	c := wake.Config{Store: new(checkpoint.Memory), Timers: wake.Over(docs), Now: func() time.Time { return noon }, Log: slog.New(slog.DiscardHandler),
		Resume: func(context.Context, graph.Timer) error { t.Error("a thread is resumed before its time"); return nil }}
	for i := range n {
		at := noon.Add(time.Hour + time.Duration(i)*time.Second)
		if err := c.Timers.Set(t.Context(), graph.Timer{Thread: fmt.Sprint("t", i), Graph: "g", At: at}); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// While nothing is due, a pass reads at most one timer, however many there are.
func TestOnce_ReadsOneTimerWhileNothingIsDue(t *testing.T) {
	for _, n := range []int{0, 1, 1000} {
		docs := &counted{Store: new(document.Map)}
		c := resting(t, docs, n)
		docs.queries, docs.read = 0, 0
		if got, err := wake.Once(t.Context(), c); err != nil || got != (wake.Report{}) {
			t.Errorf("%d timers: got %+v, %v; want nothing done", n, got, err)
		}
		if docs.queries != 2 || docs.read != min(n, 1) {
			t.Errorf("%d timers: %d queries read %d timers, want 2 and %d", n, docs.queries, docs.read, min(n, 1))
		}
	}
}

// BenchmarkRest is a pass while nothing is due: a waker makes one each second.
func BenchmarkRest(b *testing.B) {
	for _, n := range []int{1, 100_000} {
		b.Run(fmt.Sprint("memory/", n), func(b *testing.B) { rest(b, new(document.Map), n) })
		b.Run(fmt.Sprint("sqlite/", n), func(b *testing.B) {
			s, err := sqlite.OpenConfig(b.Context(), filepath.Join(b.TempDir(), "weft.db"), sqlite.Config{Sync: sqlite.SyncNormal})
			restOn(b, s, err, n)
		})
		b.Run(fmt.Sprint("redis/", n), func(b *testing.B) {
			s, err := redis.OpenURL(b.Context(), servertest.Redis(b))
			restOn(b, s, err, n)
		})
		b.Run(fmt.Sprint("postgres/", n), func(b *testing.B) {
			s, err := postgres.Open(b.Context(), servertest.Postgres(b), postgres.Config{RetryFor: time.Minute})
			restOn(b, s, err, n)
		})
	}
}

// restOn measures a pass on a store that was opened with err.
func restOn(b *testing.B, s interface {
	Documents(context.Context) (document.Store, error)
	Close() error
}, err error, n int) {
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	docs, err := s.Documents(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	rest(b, docs, n)
}

func rest(b *testing.B, docs document.Store, n int) {
	c := resting(b, docs, n)
	for b.Loop() {
		if _, err := wake.Once(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}
