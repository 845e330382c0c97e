package graph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// watcher is an observer that writes down what happens, each activity below the one around it.
type watcher struct {
	mu    sync.Mutex
	open  int
	lines []string
	ends  []graph.Outcome // of runs at the root
	leave map[string]string
}

type watchKey struct{}

func (w *watcher) Begin(ctx context.Context, a graph.Activity) (context.Context, func(graph.Outcome)) {
	above, _ := ctx.Value(watchKey{}).(string)
	own := fmt.Sprint(a.Kind)
	for _, more := range []string{a.Name, a.Node} {
		if more != "" {
			own += " " + more
		}
	}
	if a.Attempt > 0 {
		own += fmt.Sprint(" ", a.Attempt)
	}
	path := strings.TrimPrefix(above+" > "+own, " > ")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open++
	var once sync.Once
	return context.WithValue(ctx, watchKey{}, path), func(o graph.Outcome) {
		w.mu.Lock()
		defer w.mu.Unlock()
		once.Do(func() { w.open-- })
		how := ""
		switch {
		case o.Err != nil:
			how = ": error"
		case o.Phase != "":
			how = ": " + string(o.Phase)
		case o.Status != "":
			how = ": " + string(o.Status)
		}
		w.lines = append(w.lines, path+how)
		if a.Kind == graph.RunActivity && a.Namespace == "" {
			w.ends = append(w.ends, o)
		}
	}
}

func (w *watcher) Carrier(context.Context) map[string]string { return w.leave }

// without returns the lines that do not mention a kind.
func (w *watcher) without(kind graph.ActivityKind) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.lines), func(l string) bool { return strings.Contains(l, "> "+string(kind)) })
}

type watched struct {
	Log state.List[string] `json:"log"`
}

func TestObserver_SeesWhatRuns(t *testing.T) {
	w := &watcher{}
	tried := 0
	b := graph.New[watched]("watched")
	b.Node("flaky", graph.Func(func(ctx context.Context, s *watched) error {
		if above, _ := ctx.Value(watchKey{}).(string); !strings.HasSuffix(above, fmt.Sprint("attempt flaky ", graph.Attempt(ctx))) {
			t.Errorf("the node runs in %q", above)
		}
		if tried++; tried == 1 {
			return errors.New("not yet")
		}
		_, end := graph.Observe(ctx, graph.Activity{Kind: graph.ToolActivity, Name: "hammer"})
		end(graph.Outcome{})
		return nil
	}).With(graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: time.Nanosecond}}))
	for _, name := range []string{"a", "b"} {
		b.Node(name, graph.Func(func(_ context.Context, s *watched) error { s.Log.Append(name); return nil }))
		b.Edge("flaky", name)
		b.Edge(name, graph.End)
	}
	b.Edge(graph.Start, "flaky")
	g, err := b.Compile(graph.Config{Observer: w, Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Invoke(t.Context(), watched{}, graph.RunOptions{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	const task = "run invoke > step > task "
	want := []string{
		task + "flaky > attempt flaky 1: error",
		task + "flaky > attempt flaky 2 > tool hammer flaky",
		task + "flaky > attempt flaky 2",
		task + "flaky: finished",
		"run invoke > step",
		task + "a > attempt a 1", task + "a: finished", task + "b > attempt b 1", task + "b: finished",
		"run invoke > step",
		"run invoke: done",
	}
	got := w.without(graph.StoreActivity)
	slices.Sort(got[5:9]) // they run at once
	slices.Sort(want[5:9])
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, call := range []string{"acquire", "load", "commit"} {
		if !slices.Contains(w.lines, "run invoke > store "+call) {
			t.Errorf("the store's %s is missing:\n%s", call, strings.Join(w.lines, "\n"))
		}
	}
	if w.open != 0 {
		t.Errorf("%d activities have not ended", w.open)
	}
}

// A run gets what the observer of the run before it has left, also where that run has committed
// nothing, and in the graph of another process.
func TestObserver_CarriesToTheRunThatGoesOn(t *testing.T) {
	for name, codec := range map[string]checkpoint.Codec{
		"in the clear": {},
		"encrypted":    {Keys: &checkpoint.Keys{Current: "k", Ring: map[string][]byte{"k": checkpoint.NewKey()}}},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := checkpoint.Sealed(new(checkpoint.Memory), codec)
			if err != nil {
				t.Fatal(err)
			}
			run := func(trace string, do func(g *graph.Graph[watched]) (graph.Result[watched], error)) (before map[string]string, open []graph.Interrupt) {
				t.Helper()
				w := &watcher{leave: map[string]string{"trace": trace}}
				b := graph.New[watched]("asks")
				for _, node := range []string{"a", "b"} {
					b.Node(node, graph.Func(func(ctx context.Context, s *watched) error {
						_, err := graph.Ask[bool](ctx, graph.Question{Prompt: node + "?"})
						return err
					}))
					b.Edge(graph.Start, node)
					b.Edge(node, graph.End)
				}
				g, err := b.Compile(graph.Config{Observer: w, Store: store})
				if err != nil {
					t.Fatal(err)
				}
				res, err := do(g)
				if err != nil || len(w.ends) != 1 || w.open != 0 {
					t.Fatalf("%v, %d runs have ended, %d activities are open", err, len(w.ends), w.open)
				}
				return w.ends[0].Before, res.Interrupts
			}
			o := graph.RunOptions{Thread: "t"}
			before, open := run("one", func(g *graph.Graph[watched]) (graph.Result[watched], error) {
				return g.Invoke(t.Context(), watched{}, o)
			})
			if before != nil || len(open) != 2 {
				t.Fatalf("before the first run: %v, open %v", before, open)
			}
			for _, want := range []string{"one", "two"} {
				next := map[string]string{"one": "two", "two": "three"}[want]
				before, open = run(next, func(g *graph.Graph[watched]) (graph.Result[watched], error) {
					return g.Resume(t.Context(), graph.Answer(open[0].ID, true), o)
				})
				if !maps.Equal(before, map[string]string{"trace": want}) {
					t.Errorf("run %s goes on from %v, want %s", next, before, want)
				}
			}
			before, _ = run("four", func(g *graph.Graph[watched]) (graph.Result[watched], error) {
				return g.Invoke(t.Context(), watched{}, o)
			})
			if before["trace"] != "three" {
				t.Errorf("the next turn goes on from %v, want three", before)
			}
		})
	}
}

func TestObserver_WatchesSubgraphsAndHandlers(t *testing.T) {
	w := &watcher{}
	child := graph.New[watched]("child")
	child.Node("in", graph.Func(func(context.Context, *watched) error { panic("boom") }))
	child.Edge(graph.Start, "in")
	child.Edge("in", graph.End)
	inner, err := child.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b := graph.New[watched]("parent")
	b.Node("out", graph.Func(func(ctx context.Context, s *watched) error {
		_, err := inner.Call(ctx, watched{})
		return err
	}).With(graph.Policy{Timeout: time.Hour}))
	b.OnError("out", graph.Handler(func(context.Context, *watched, *graph.NodeError) (graph.Command, error) { return graph.Command{}, nil }))
	b.Edge(graph.Start, "out")
	b.Edge("out", graph.End)
	g, err := b.Compile(graph.Config{Observer: w})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Invoke(t.Context(), watched{}, graph.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	const up = "run invoke > step > task out"
	const down = up + " > attempt out 1 > run call"
	want := []string{
		down + " > step > task in > attempt in 1: error", down + " > step > task in: error", down + " > step: error", down + ": error",
		up + " > attempt out 1: error", up + " > attempt out 1", up + ": finished", "run invoke > step", "run invoke: done",
	}
	if got := w.without(graph.StoreActivity); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestObserver_SeesTheEndOfARunThatIsGivenUp(t *testing.T) {
	w := &watcher{}
	begun, release := make(chan struct{}), make(chan struct{})
	b := graph.New[watched]("stuck")
	b.Node("unresponsive", graph.Func(func(context.Context, *watched) error { close(begun); <-release; return nil }))
	b.Edge(graph.Start, "unresponsive")
	b.Edge("unresponsive", graph.End)
	g, err := b.Compile(graph.Config{Observer: w, Grace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { _, err := g.Invoke(ctx, watched{}, graph.RunOptions{}); ended <- err }()
	<-begun
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
	close(release)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ends) != 1 || !errors.Is(w.ends[0].Err, context.Canceled) {
		t.Errorf("the runs ended with %+v, want one that was cancelled", w.ends)
	}
}

func TestObserve_OutsideOfARunDoesNothing(t *testing.T) {
	ctx, end := graph.Observe(t.Context(), graph.Activity{Kind: graph.ToolActivity})
	if end(graph.Outcome{}); ctx != t.Context() {
		t.Error("the context is another one")
	}
}

func TestObserved_ReplacesTheObserver(t *testing.T) {
	w := &watcher{}
	b := graph.New[watched]("one")
	b.Node("a", graph.Func(func(context.Context, *watched) error { return nil }))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g, err := b.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := graph.Observed(g.Untyped(), w).Invoke(t.Context(), []byte("{}"), graph.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	if want := "run invoke > step > task a > attempt a 1"; !slices.Contains(w.lines, want) {
		t.Errorf("%q is missing in\n%s", want, strings.Join(w.lines, "\n"))
	}
	seen := len(w.lines)
	if _, err := g.Invoke(t.Context(), watched{}, graph.RunOptions{}); err != nil || len(w.lines) != seen {
		t.Errorf("the graph itself is watched: %v, %d lines, want %d", err, len(w.lines), seen)
	}
}
