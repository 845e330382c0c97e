package graph_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// hanging is a store whose call number at does not return before its context ends.
type hanging struct {
	*checkpoint.Memory
	mu    sync.Mutex
	at    int    // from 1; 0 hangs never
	name  string // the first call of this name hangs, whatever its number
	calls int
	hung  string // the call that hung
}

func (h *hanging) call(ctx context.Context, what string) error {
	h.mu.Lock()
	h.calls++
	hangs := h.calls == h.at || what == h.name && h.hung == ""
	if hangs {
		h.hung = what
	}
	h.mu.Unlock()
	if !hangs {
		return nil
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

func (h *hanging) Load(ctx context.Context, k checkpoint.Key, seq uint64) (checkpoint.Snapshot, error) {
	if err := h.call(ctx, "load"); err != nil {
		return checkpoint.Snapshot{}, err
	}
	return h.Memory.Load(ctx, k, seq)
}

func (h *hanging) History(ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
	if err := h.call(ctx, "history"); err != nil {
		return func(yield func(checkpoint.Snapshot, error) bool) { yield(checkpoint.Snapshot{}, err) }
	}
	return h.Memory.History(ctx, k, q)
}

func (h *hanging) Commit(ctx context.Context, c checkpoint.Commit) error {
	if err := h.call(ctx, "commit"); err != nil {
		return err
	}
	return h.Memory.Commit(ctx, c)
}

func (h *hanging) Put(ctx context.Context, p checkpoint.Pending) error {
	if err := h.call(ctx, "put"); err != nil {
		return err
	}
	return h.Memory.Put(ctx, p)
}

func (h *hanging) Acquire(ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	if r.Fence == "" { // renewals come when they like
		if err := h.call(ctx, "acquire"); err != nil {
			return checkpoint.Lease{}, err
		}
	}
	return h.Memory.Acquire(ctx, r)
}

func (h *hanging) Release(ctx context.Context, thread, fence string) error {
	if err := h.call(ctx, "release"); err != nil {
		return err
	}
	return h.Memory.Release(ctx, thread, fence)
}

// A run whose store hangs, in whatever call, ends soon after it is cancelled, and its thread
// can be gone on with: what follows gives the log that a run gives which nothing befell.
func TestCancel_StoreThatHangsDoesNotDelayIt(t *testing.T) {
	const more = 20 // calls than a run makes; how many these are depends on who ends first
	for _, durability := range durabilities {
		for at := range more {
			synctest.Test(t, func(t *testing.T) { hangAt(t, durability, at, "") })
		}
		for _, name := range []string{"acquire", "load", "commit", "put", "release"} {
			synctest.Test(t, func(t *testing.T) {
				if got := hangAt(t, durability, 0, name); got != name && name != "put" { // a put depends on who ends first
					t.Errorf("%v: %q hung, want %s", durability, got, name)
				}
			})
		}
	}
}

func hangAt(t *testing.T, durability graph.Durability, at int, name string) string {
	var ran counter
	h := &hanging{Memory: new(checkpoint.Memory), at: at, name: name}
	b := parallel(map[string]graph.Node[world]{
		"x": hosts(child(t, &ran, graph.Config{}, nil), "x", nil),
		"y": graph.Func(func(ctx context.Context, s *world) error {
			n, err := graph.Once(ctx, "k", func(context.Context) (int, error) { return 1, nil })
			s.Log.Append(fmt.Sprint("y", n))
			return err
		}),
		"z": logs("z"),
	})
	g := build(t, b, graph.Config{Store: h})
	c, cancel := context.WithTimeoutCause(ctx, time.Hour, errBoom)
	defer cancel()
	began := time.Now()
	res, err := g.Invoke(c, world{}, graph.RunOptions{Thread: "t1", Durability: durability})
	if h.hung == "" {
		ended(t, graph.Done, res, err)
		return ""
	}
	if took := time.Since(began); took > time.Hour+time.Minute {
		t.Errorf("%v, call %d, %s: it ended %v after it was cancelled: %v", durability, h.calls, h.hung, took-time.Hour, err)
	}
	if h.hung != "release" {
		is(t, err, errBoom)
	}
	time.Sleep(time.Hour) // no lease of the thread is valid any more
	res, err = g.Resume(ctx, graph.Answers{}, t1)
	if errors.Is(err, graph.ErrUnknownThread) { // nothing had been stored
		res, err = g.Invoke(ctx, world{}, t1)
	}
	logged(t, ended(t, graph.Done, res, err), "xc1 xc2 xc3 y1 z")
	return h.hung
}

// vast is a state that can hold any value.
type vast struct {
	Number state.Value[float64]        `json:"number"`
	Table  state.Map[string, float64]  `json:"table"`
	Any    state.Value[map[string]any] `json:"any"`
}

func TestNumber_WithoutJSONNamesItsField(t *testing.T) {
	for _, n := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for field, write := range map[string]func(s *vast){
			"number": func(s *vast) { s.Number.Set(n) },
			"table":  func(s *vast) { s.Table.Put("k", n) },
			"any":    func(s *vast) { s.Any.Set(map[string]any{"k": []any{n}}) },
		} {
			for _, durability := range durabilities {
				cfg := stored()
				b := graph.New[vast]("vast")
				b.Node("a", graph.Func(func(_ context.Context, s *vast) error { write(s); return nil }))
				b.Edge(graph.Start, "a")
				b.Edge("a", graph.End)
				g := build(t, b, cfg)
				_, err := g.Invoke(ctx, vast{}, graph.RunOptions{Thread: "t1", Durability: durability})
				if err == nil || !strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), `"t1"`) {
					t.Errorf("%v in %s, %v: %v; want an error that names the field and the thread", n, field, durability, err)
				}
				if _, err := g.Untyped().Invoke(ctx, []byte(`{}`), graph.RunOptions{Thread: "t2"}); err == nil {
					t.Errorf("%v in %s: a plain run stores it", n, field)
				}
			}
		}
	}
}

// A graph that calls itself without an end fails, and nothing worse.
func TestGraph_ThatCallsItselfFails(t *testing.T) {
	for name, cfg := range map[string]graph.Config{"stored": stored(), "not stored": {}, "stateless": {Nested: graph.Stateless}} {
		t.Run(name, func(t *testing.T) {
			var g *graph.Graph[world]
			b := graph.New[world]("self")
			b.Node("a", graph.Func(func(ctx context.Context, s *world) error {
				_, err := g.Call(ctx, world{})
				return err
			}))
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			g = build(t, b, cfg)
			run := t1
			if cfg.Store == nil {
				run = graph.RunOptions{}
			}
			_, err := g.Invoke(ctx, world{}, run)
			if want := map[string]error{"stored": checkpoint.ErrTooLarge}[name]; want != nil {
				is(t, err, want, "namespaces")
			} else {
				is(t, err, graph.ErrDepth, `"self"`)
			}
		})
	}
}
