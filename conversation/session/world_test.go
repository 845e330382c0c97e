package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/state/message"
)

// newWorld returns a manager over documents in memory. The failure messages have the rule.
func newWorld(t *testing.T, rule string) *world {
	w := &world{TB: t, ctx: t.Context(), rule: rule, engine: &engine{}, clock: &clock{now: noon}}
	w.store = &flaky{Store: new(document.Map)}
	w.m = w.manager(session.Config{})
	return w
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// world is a manager with a store, a clock and an engine of the test.
type world struct {
	testing.TB
	ctx    context.Context
	rule   string
	store  *flaky
	engine *engine
	clock  *clock
	m      *session.Manager
	log    safeBuffer
	round  int // of a random test
}

// manager returns another manager of the same store, clock and engine. Its sessions last an hour.
func (w *world) manager(cfg session.Config) *session.Manager {
	w.Helper()
	if cfg.Store == nil {
		cfg.Store = w.store
	}
	cfg.TTL, cfg.OffloadFor, cfg.Now, cfg.Engine = time.Hour, time.Minute, w.clock.Now, w.engine
	cfg.Log = slog.New(slog.NewTextHandler(&w.log, nil))
	m, err := session.New(cfg)
	if err != nil {
		w.Fatal(err)
	}
	return m
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// engine records its calls. It stores each key once.
type engine struct {
	mu    sync.Mutex
	known map[string]string
	calls []session.Ended
	taken map[string]session.Ended
	fail  error
	after func() // called when an Offload is done, before it returns
}

func (e *engine) Offload(_ context.Context, s session.Ended) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, s)
	if e.fail != nil {
		return e.fail
	}
	if e.taken == nil {
		e.taken = map[string]session.Ended{}
	}
	e.taken[s.Key] = s
	if e.after != nil {
		e.after()
	}
	return nil
}

func (e *engine) Bootstrap(_ context.Context, user string) (string, error) {
	if user == "panic" {
		panic("ouch")
	}
	return e.known[user], e.fail
}

// flaky is a store that can fail.
type flaky struct {
	document.Store
	mu     sync.Mutex
	before func(p document.Place, changes []document.Change) error // asked before each write
}

var errFlaky = errors.New("the store has failed")

func (f *flaky) ask(p document.Place, changes []document.Change) error {
	f.mu.Lock()
	before := f.before
	f.mu.Unlock()
	if before == nil {
		return nil
	}
	return before(p, changes)
}

func (f *flaky) Batch(ctx context.Context, p document.Place, changes []document.Change) ([]document.Doc, error) {
	if err := f.ask(p, changes); err != nil {
		return nil, err
	}
	return f.Store.Batch(ctx, p, changes)
}

func (f *flaky) Set(ctx context.Context, p document.Place, c document.Change) (document.Doc, error) {
	if err := f.ask(p, []document.Change{c}); err != nil {
		return document.Doc{}, err
	}
	return f.Store.Set(ctx, p, c)
}

func (f *flaky) Delete(ctx context.Context, p document.Place, id string) error {
	if err := f.ask(p, []document.Change{{ID: id}}); err != nil {
		return err
	}
	return f.Store.Delete(ctx, p, id)
}

func (w *world) create(s session.Start) session.Session {
	w.Helper()
	made, err := w.m.Create(w.ctx, s)
	if err != nil {
		w.Fatalf("create: %v", err)
	}
	return made
}

func (w *world) append(id string, ms ...message.Message) session.Appended {
	w.Helper()
	done, err := w.m.Append(w.ctx, id, ms...)
	if err != nil {
		w.Fatalf("append: %v", err)
	}
	return done
}

func (w *world) logOf(id string) []message.Message {
	w.Helper()
	ms, err := w.m.Log(w.ctx, id)
	if err != nil {
		w.Fatalf("log: %v", err)
	}
	return ms
}

func (w *world) sweep() session.SweepStats {
	w.Helper()
	done, err := (&session.Sweeper{Manager: w.m}).Sweep(w.ctx)
	if err != nil {
		w.Fatalf("sweep: %v", err)
	}
	return done
}

// want checks the texts of messages, in order.
func (w *world) want(ms []message.Message, texts ...string) {
	w.Helper()
	if got := textsOf(ms); !slices.Equal(got, texts) {
		w.Errorf("rule: %s\n got: %q\nwant: %q", w.rule, got, texts)
	}
}

// wantError checks the kind of an error.
func (w *world) wantError(err, kind error) {
	w.Helper()
	if !errors.Is(err, kind) {
		w.Errorf("rule: %s\n got: %v\nwant: an error that is %q", w.rule, err, kind)
	}
}

func textsOf(ms []message.Message) (list []string) {
	for _, m := range ms {
		list = append(list, m.Text())
	}
	return list
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// left counts the documents of all sessions.
func (w *world) left() (n int) {
	w.Helper()
	for _, c := range []string{session.Collection, session.Index} {
		docs, err := w.store.Query(w.ctx, document.Query{Place: document.At(c, "")})
		if err != nil {
			w.Fatal(err)
		}
		n += len(docs)
	}
	return n
}
