package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// plan is a small random graph: nodes that lead to later ones by edges or joins, some
// deferred, some asking, some sending, one a subgraph.
type plan struct {
	Kinds    []string
	Edges    [][2]int
	Joined   []bool // all ways into the node are one join
	Deferred []bool
	Breaks   []string // static interrupts before

	Durability graph.Durability // Sync or Async; with Exit, finished tasks run again
}

func drawPlan(t *rapid.T) plan {
	n := rapid.IntRange(1, 6).Draw(t, "nodes")
	p := plan{Joined: make([]bool, n), Deferred: make([]bool, n)}
	p.Durability = rapid.SampledFrom([]graph.Durability{graph.Sync, graph.Async}).Draw(t, "durability")
	for i := range n {
		p.Kinds = append(p.Kinds, rapid.SampledFrom([]string{"plain", "plain", "ask", "send", "sub", "again"}).Draw(t, "kind"))
		p.Joined[i] = rapid.Bool().Draw(t, "joined")
		p.Deferred[i] = rapid.IntRange(0, 4).Draw(t, "deferred") == 0
		for j := range i {
			if rapid.IntRange(0, 2).Draw(t, "edge") == 0 {
				p.Edges = append(p.Edges, [2]int{j, i})
			}
		}
		if rapid.IntRange(0, 4).Draw(t, "break") == 0 {
			p.Breaks = append(p.Breaks, nodeName(i))
		}
	}
	return p
}

func nodeName(i int) string { return fmt.Sprint("n", i) }

// build returns the graph, which counts each run of a task under its id.
func (p plan) build(tb testing.TB, store checkpoint.Store, ran *counter, id string) *graph.Graph[world] {
	b := graph.New[world]("plan")
	b.Node("w", graph.Worker(func(ctx context.Context, s *world, n int) error {
		ran.add(graph.TaskID(ctx))
		s.Log.Append(fmt.Sprint("w", n))
		s.Count.Add(n)
		return nil
	}))
	b.Edge("w", graph.End)
	b.Branch("w", toEnd, graph.End)
	b.Node("boot", graph.Router(toEnd, "w", graph.End)) // makes w reachable, and is step 1's fan-out
	b.Edge(graph.Start, "boot")
	into := make([][]string, len(p.Kinds))
	for _, e := range p.Edges {
		into[e[1]] = append(into[e[1]], nodeName(e[0]))
	}
	for i, kind := range p.Kinds {
		name := nodeName(i)
		b.Node(name, p.node(tb, name, kind, ran))
		b.Edge(name, graph.End)
		if p.Deferred[i] {
			b.Defer(name)
		}
		switch {
		case len(into[i]) == 0:
			b.Edge(graph.Start, name)
		case p.Joined[i]:
			b.Join(name, into[i]...)
		default:
			for _, from := range into[i] {
				b.Edge(from, name)
			}
		}
	}
	return build(tb, b, graph.Config{Store: store, InterruptBefore: p.Breaks, NewID: func() string { return id }})
}

func (p plan) node(tb testing.TB, name, kind string, ran *counter) graph.Node[world] {
	if kind == "sub" {
		c := child(tb, new(counter), graph.Config{}, func(ctx context.Context, s *inner) error {
			ran.add(graph.TaskID(ctx))
			answer, err := graph.Ask[string](ctx, graph.Question{Prompt: "in " + name})
			s.Path.Append(answer)
			return err
		})
		return hosts(c, name, nil)
	}
	return graph.Router(func(ctx context.Context, s *world) (c graph.Command, err error) {
		ran.add(graph.TaskID(ctx))
		s.Log.Append(fmt.Sprint(name, "@", s.Log.Len()))
		s.Seen.Put(name, s.Seen.Get(name)+1)
		switch kind {
		case "send":
			c = graph.Send("w", len(name)).Send("w", 2)
		case "ask":
			var answer string
			answer, err = graph.Ask[string](ctx, graph.Question{Prompt: "by " + name})
			s.Log.Append(answer)
		case "again":
			if s.Seen.Get(name) < 3 {
				c = graph.Goto(name)
			}
		}
		return c, err
	}, "w", name)
}

// finish runs the graph to its end. It answers each question and resumes the run after each fault,
// each time with a newly compiled graph. It returns the final state.
func (p plan) finish(t *rapid.T, tb testing.TB, store checkpoint.Store, ran *counter) string {
	resumes, on := 0, graph.RunOptions{Thread: "t1", Durability: p.Durability}
	run := func(a graph.Answers, first bool) (graph.Result[world], error) {
		if first { // always by the same id, which the ids of the tasks hold
			return p.build(tb, store, ran, "first").Invoke(ctx, world{}, on)
		}
		resumes++
		return p.build(tb, store, ran, fmt.Sprint("resume", resumes)).Resume(ctx, a, on)
	}
	res, err := run(graph.Answers{}, true)
	for range 200 {
		switch {
		case errors.Is(err, graph.ErrUnknownThread):
			res, err = run(graph.Answers{}, true)
		case errors.Is(err, errFault):
			res, err = run(graph.Answers{}, false)
		case err != nil:
			t.Fatal(err)
		case res.Status == graph.Interrupted:
			var a graph.Answers
			for _, in := range res.Interrupts {
				if in.Kind == "question" {
					a = a.Answer(in.ID, "answer "+in.Prompt)
				}
			}
			res, err = run(a, false)
		default:
			data, err := p.build(tb, store, ran, "").EncodeState(res.State)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%s starved %v", data, res.Starved)
		}
	}
	t.Fatal("the run does not come to an end")
	return ""
}

// A run that crashes at any write to the store, before or after the write is done, and is resumed
// elsewhere reaches the same end. Only the tasks of the undisturbed run run, each at most once
// more.
func TestCrash_RunsEndTheSameAtEveryPoint(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		var calm counter
		whole := &faultStore{Store: new(checkpoint.Memory)}
		want := p.finish(rt, t, whole, &calm)
		for at := 1; at <= whole.writes; at += 1 + whole.writes/5 { // in the long run, at each
			at += rapid.IntRange(0, whole.writes/5).Draw(rt, "at")
			p.cutOff(rt, t, at, &calm, want)
		}
	})
}

// cutOff runs the plan with a fault at a write, and compares.
func (p plan) cutOff(rt *rapid.T, tb testing.TB, at int, calm *counter, want string) {
	for _, applied := range []bool{false, true} {
		var ran counter
		store := &faultStore{Store: new(checkpoint.Memory), at: at, applied: applied}
		if got := p.finish(rt, tb, store, &ran); got != want {
			rt.Fatalf("cut off at write %d (applied: %v)\ngot  %s\nwant %s", at, applied, got, want)
		}
		for id, n := range ran.n {
			if m := calm.of(id); n < m || n > m+1 || m == 0 {
				rt.Fatalf("cut off at write %d (applied: %v): task %s ran %d times, undisturbed %d", at, applied, id, n, m)
			}
		}
		if len(ran.n) != len(calm.n) {
			rt.Fatalf("cut off at write %d: %d tasks ran, undisturbed %d", at, len(ran.n), len(calm.n))
		}
	}
}

// Requirement: a node panics or hangs
func TestCrash_KilledSuperstepKeepsFinishedResults(t *testing.T) {
	var ran counter
	cfg := stored()
	first := true
	b := parallel(map[string]graph.Node[world]{
		"quick": asks("quick", &ran),
		"slow": graph.Func(func(ctx context.Context, s *world) error {
			ran.add("slow")
			s.Log.Append("slow")
			if !first {
				return nil
			}
			for !hasPending(cfg.Store) { // the process is killed when quick's work is in the store
			}
			first = false
			panic("killed")
		}),
	})
	if _, err := build(t, b, cfg).Invoke(ctx, world{}, t1); err == nil {
		t.Fatal("the run did not fail")
	}
	logged(t, resume(t, build(t, b, cfg), graph.Answers{}, graph.Done), "quick slow")
	ran.want(t, "quick", 1)
}

// hasPending reports whether the store has a pending write, as that of a finished task.
func hasPending(s checkpoint.Store) bool {
	snap, err := s.Load(ctx, checkpoint.Key{Thread: "t1"}, 0)
	return err == nil && slices.ContainsFunc(snap.Pending, func(e checkpoint.Entry) bool { return e.Slot == "result" })
}
