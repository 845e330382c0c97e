package work_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
)

// kill runs the first attempt of r1 in a process that dies in node slow, when the first n of its
// events are in the log. It returns how many events there were.
func (s *site) kill(t *testing.T, n int) (events int) {
	dead, err := queue.New(queue.Config{Store: s.store, Documents: s.docs})
	if err != nil {
		t.Fatal(err)
	}
	create(t, dead, "r1", queue.Enqueue)
	claims, err := dead.Claim(t.Context(), 1)
	if err != nil || len(claims) != 1 {
		t.Fatalf("got %d claims and error %v, want one", len(claims), err)
	}
	log := eventlog.Log{Bus: s.bus}
	start := wire.RunStart{Run: "r1", Attempt: 1, Thread: "t1", Graph: "steps"}
	note, err := json.Marshal(map[string]any{"at": time.Now(), "begin": start, "step": -2})
	if err != nil {
		t.Fatal(err)
	}
	if n > 0 { // else not even the beginning
		if err := log.Publish(t.Context(), "t1", eventlog.Batch{Run: "r1", Attempt: 1, Note: note}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, kill := context.WithCancel(t.Context())
	h := s.host.graph.Start(ctx, json.RawMessage(`{}`), graph.RunOptions{ID: "r1", Thread: "t1", Lease: claims[0].Lease(), Hold: true})
	reader := h.Join(eventlog.Reader())
	died := make(chan struct{})
	go func() {
		defer close(died)
		for ev, err := range reader {
			if err != nil || ev.Mode == graph.Ended || ev.Phase == graph.Failing {
				continue
			}
			if events++; events <= n {
				if err := log.Publish(t.Context(), "t1", eventlog.Batch{Run: "r1", Attempt: 1, Events: []graph.Event{ev}}); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for node := ""; node != "slow"; {
		node = <-s.runs
	}
	synctest.Wait()
	claims[0].Abandon()
	kill()
	_, _ = h.Wait()
	<-died
	return events
}

// records returns the records of the thread, by kind, node and namespace.
func (s *site) records(t *testing.T) (list []wire.Event) {
	t.Helper()
	list, err := s.log().Read(t.Context(), "t1")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// named returns the records that show what the run has done, without those of its beginnings.
func named(list []wire.Event) (names []string) {
	for _, e := range list {
		switch e.Kind {
		case wire.KindResult:
			names = append(names, fmt.Sprintf("%s %s %s", e.NS, e.Node, e.Data))
		case wire.KindState:
			var at wire.StateAt
			_ = json.Unmarshal(e.Data, &at)
			names = append(names, fmt.Sprintf("%s state %d %s %v", e.NS, at.Step, at.Values, at.Next))
		}
	}
	return names
}

// Whatever of its log a process took with it, the next one restores it.
func TestWorker_RestoresTheEventsOfADeadProcess(t *testing.T) {
	graphs := map[string]func(*site) *graph.Graph[steps]{
		"chain":    nil,
		"fan-out":  fanOut,
		"subgraph": inSubgraph,
	}
	for name, build := range graphs {
		t.Run(name, func(t *testing.T) {
			var want []string
			total := 1
			for n := 0; n <= total; n++ {
				synctest.Test(t, func(t *testing.T) {
					s := newSite(t)
					if build != nil {
						s.host.graph = build(s).Untyped()
					}
					events := s.kill(t, n)
					total = events
					q, end := s.process(t)
					defer end()
					go func() { s.stays <- struct{}{} }()
					ended(t, q, "r1", queue.Success)
					got := named(s.records(t))
					if n == 0 { // the whole log is restored
						want = got
						return
					}
					if strings.Join(got, "\n") != strings.Join(want, "\n") {
						t.Errorf("with %d of %d events in the log, its records are\n%s\nwant\n%s", n, events, strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
				})
			}
			if all := strings.Join(want, "\n"); total < 8 || !strings.Contains(all, `first {`) || !strings.Contains(all, `"last"`) {
				t.Errorf("the restored records of %d events are\n%s", total, all)
			}
		})
	}
}

func (s *site) node(name string, wait bool) func(context.Context, *steps) error {
	return func(ctx context.Context, st *steps) error {
		time.Sleep(time.Millisecond) // of fake time: commits have different ones
		s.runs <- name
		if wait {
			select {
			case <-s.stays:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if name != "second" {
			st.Log.Append(name)
		}
		return nil
	}
}

func compiled(s *site, b *graph.Builder[steps]) *graph.Graph[steps] {
	g, err := b.Compile(graph.Config{Store: s.store})
	if err != nil {
		panic(err)
	}
	return g
}

func fanOut(s *site) *graph.Graph[steps] {
	b := graph.New[steps]("steps")
	for _, name := range []string{"first", "second"} {
		b.Node(name, graph.Func(s.node(name, false)))
		b.Edge(graph.Start, name)
	}
	b.Node("slow", graph.Func(s.node("slow", true)))
	b.Join("slow", "first", "second")
	b.Node("last", graph.Func(s.node("last", false)))
	b.Edge("slow", "last")
	b.Edge("last", graph.End)
	return compiled(s, b)
}

func inSubgraph(s *site) *graph.Graph[steps] {
	inner := graph.New[steps]("inner")
	inner.Node("first", graph.Func(s.node("first", false)))
	inner.Node("slow", graph.Func(s.node("slow", true)))
	inner.Edge(graph.Start, "first")
	inner.Edge("first", "slow")
	inner.Edge("slow", graph.End)
	b := graph.New[steps]("steps")
	b.Node("child", graph.Subgraph(compiled(s, inner), func(*steps) (steps, error) { return steps{}, nil }, func(st *steps, end *steps) error {
		for _, name := range end.Log.All() {
			st.Log.Append(name)
		}
		return nil
	}))
	b.Node("last", graph.Func(s.node("last", false)))
	b.Edge(graph.Start, "child")
	b.Edge("child", "last")
	b.Edge("last", graph.End)
	return compiled(s, b)
}
