package golden

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// century is a time to live that no golden store outlives.
const century = 100 * 365 * 24 * time.Hour

// writer writes one thread.
type writer struct {
	graphs
	store  checkpoint.Store
	thread string
	ctx    context.Context
	err    error
	result graph.Result[State]
}

// threads has the threads of a golden store by name. Each function runs a thread to its pause.
var threads map[string]func(w *writer)

func init() {
	threads = map[string]func(w *writer){
		"lists":     func(w *writer) { w.begin("fill", "", 4).begin("fill", "", 6) },
		"large":     func(w *writer) { w.begin("large", "", 0) },
		"question":  func(w *writer) { w.begin("ask", "", 0) },
		"questions": func(w *writer) { w.begin("two", "", 0) },
		"half answered": func(w *writer) {
			w.begin("two", "", 0)
			w.resume(graph.Answer(w.result.Interrupts[1].ID, "one"), 0)
		},
		"answered": func(w *writer) { w.begin("ask", "", 0).resume(graph.Reply("yes"), 0) },
		"lasting":  func(w *writer) { w.begin("lasting", "", 0) },
		"declined": func(w *writer) {
			w.begin("lasting", "", 0)
			w.resume(graph.Decline(w.result.Interrupts[0].ID, "too late"), 0)
		},
		"branch":       func(w *writer) { w.begin("ask", "", 0).resume(graph.Reply("yes"), 0).back("ask") },
		"branch ended": func(w *writer) { threads["branch"](w); w.resume(graph.Reply("no"), 0).begin("fill", "", 2) },
		"call":         func(w *writer) { w.begin("call", "ask", 0) },
		"call ended":   func(w *writer) { w.begin("call", "ask", 0).resume(graph.Reply("yes"), 0) },
		"thread":       func(w *writer) { w.begin("thread", "tell", 0).begin("thread", "ask", 0) },
		"thread ended": func(w *writer) { threads["thread"](w); w.resume(graph.Reply("yes"), 0) },
		"deep":         func(w *writer) { w.begin("deep", "ask", 0) },
		"inline":       func(w *writer) { w.begin("inline", "", 0) },
		"sends":        func(w *writer) { w.begin("sends", "", 0) },
		"drained": func(w *writer) {
			drain := new(graph.Drain)
			w.ctx = context.WithValue(w.ctx, writingKey{}, writing{drain: drain})
			w.invoke("drained", "", 0, graph.RunOptions{Drain: drain})
		},
		"failed": func(w *writer) {
			w.ctx = context.WithValue(w.ctx, writingKey{}, writing{begun: make(chan struct{}, 2)})
			if w.invoke("failed", "", 0, graph.RunOptions{}); w.err != nil && w.result.Status == graph.Failed {
				w.err = nil
			} else if w.err == nil {
				w.err = errors.New("the run did not fail")
			}
		},
		"joins": func(w *writer) { w.begin("joins", "", 0) },
		"queued": func(w *writer) {
			w.begin("ask", "", 0)
			w.invoke("fill", "", 2, graph.RunOptions{OnOpenQuestions: graph.Queue})
			w.invoke("ask", "", 0, graph.RunOptions{OnOpenQuestions: graph.Queue})
		},
		"patched": func(w *writer) {
			w.begin("ask", "", 0)
			_, err := w.root.Patch(w.ctx, func(s *State) error { s.Title.Set("patched"); return nil }, w.run(graph.RunOptions{}))
			w.err = errors.Join(w.err, err)
		},
		"acted": func(w *writer) {
			w.begin("ask", "", 0)
			_, err := w.root.UpdateAndResume(w.ctx, graph.Edit[State]{Do: func(s *State) (graph.Command, error) {
				s.Lines.Append("by hand")
				return graph.Command{}, nil
			}}, graph.Reply("yes"), w.run(graph.RunOptions{}))
			w.err = errors.Join(w.err, err)
		},
		"typed": func(w *writer) {
			_, err := w.root.Edit(w.ctx, [][]graph.Edit[State]{
				{{As: graph.Start, Do: func(s *State) (graph.Command, error) { s.Mode.Set("ask"); return graph.Command{}, nil }}},
				{{As: "route", Do: func(*State) (graph.Command, error) { return graph.Goto("ask", "side"), nil }}},
				{{As: "side", Do: func(s *State) (graph.Command, error) { s.Lines.Append("typed"); return graph.Command{}, nil }}},
			}, w.run(graph.RunOptions{}))
			w.err = errors.Join(w.err, err)
		},
		"pruned": func(w *writer) {
			w.begin("fill", "", 4).begin("call", "ask", 0).resume(graph.Reply("yes"), 0).begin("ask", "", 0)
			w.err = errors.Join(w.err, checkpoint.Prune(w.ctx, w.store, w.thread, checkpoint.Keep{Last: 3}))
		},
		"expiring": func(w *writer) {
			w.begin("ask", "", 0)
			w.err = errors.Join(w.err, w.store.(checkpoint.Expirer).Expire(w.ctx, w.thread, century))
		},
		"held": func(w *writer) {
			w.begin("ask", "", 0)
			_, err := w.store.(checkpoint.Leaser).Acquire(w.ctx, checkpoint.LeaseRequest{Thread: w.thread, Owner: "ann", TTL: century, ID: "golden"})
			w.err = errors.Join(w.err, err)
		},
	}
}

// run adds to the options what all runs have. They take no lease: it would name this machine.
func (w *writer) run(o graph.RunOptions) graph.RunOptions {
	o.Thread, o.Lease.Policy, o.Metadata = w.thread, checkpoint.NoLease, map[string]string{"tenant": "golden"}
	return o
}

func (w *writer) begin(mode, title string, steps int) *writer {
	return w.invoke(mode, title, steps, graph.RunOptions{})
}

func (w *writer) invoke(mode, title string, steps int, o graph.RunOptions) *writer {
	if w.err == nil {
		in := State{Mode: state.Of(mode), Title: state.Of(title), Steps: state.Of(steps)}
		w.result, w.err = w.root.Invoke(w.ctx, in, w.run(o))
	}
	return w
}

func (w *writer) resume(a graph.Answers, at uint64) *writer {
	if w.err == nil {
		w.result, w.err = w.root.Resume(w.ctx, a, w.run(graph.RunOptions{At: at}))
	}
	return w
}

// back goes on from the newest commit after which a node was due.
func (w *writer) back(node string) *writer {
	for p, err := range graph.History(w.ctx, w.store, checkpoint.Key{Thread: w.thread}, checkpoint.Query{}) {
		if err != nil {
			w.err = errors.Join(w.err, err)
			return w
		}
		if slices.Contains(p.Next, node) {
			return w.resume(graph.Answers{}, p.Checkpoint)
		}
	}
	w.err = errors.Join(w.err, fmt.Errorf("no commit is before node %s", node))
	return w
}

// config is that of all graphs on a store. The ids of runs begin with a name.
func config(store checkpoint.Store, name string) graph.Config {
	var mu sync.Mutex
	n := 0
	return graph.Config{
		Store: store, Trace: name == "answered", Concurrency: 8,
		Now: func() time.Time { return moment },
		NewID: func() string {
			mu.Lock()
			defer mu.Unlock()
			n++
			return fmt.Sprintf("%s %d", name, n)
		},
		Rand: func() float64 { return 0.5 },
	}
}

// kinds are the ways in which each thread is stored.
var kinds = []string{"plain", "sealed"}

// sealedOf returns the store with the values of kind.
func sealedOf(store checkpoint.Store, kind string) (checkpoint.Store, error) {
	if kind == "plain" {
		return store, nil
	}
	return checkpoint.Sealed(store, checkpoint.Codec{Keys: Keys()})
}

// Write writes all threads, and the records if there is a store for them, to a store that is
// empty.
func Write(ctx context.Context, s Stored) error {
	for _, kind := range kinds {
		store, err := sealedOf(s.Threads, kind)
		if err != nil {
			return err
		}
		for _, name := range names() {
			w := &writer{store: store, thread: kind + "/" + name, ctx: context.WithValue(ctx, writingKey{}, writing{})}
			if w.graphs, w.err = compile(config(store, name)); w.err == nil {
				threads[name](w)
			}
			if w.err != nil {
				return fmt.Errorf("thread %q: %w", w.thread, w.err)
			}
		}
	}
	return writeRecords(ctx, s)
}

// names are the names of the threads in a fixed order.
func names() (list []string) {
	for name := range threads {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
