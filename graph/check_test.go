package graph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// withCount and the types after it are states of versions of one graph.
type withCount struct {
	Name  state.Value[string] `json:"name"`
	Count state.Sum[int]      `json:"count"`
}

type withoutCount struct {
	Name state.Value[string] `json:"name"`
}

type withNumber struct {
	Name  state.Value[int] `json:"name"`
	Count state.Sum[int]   `json:"count"`
}

// release is a version of the graph that TestCheck checks threads against.
type release struct {
	without string // a node of the first version that is gone
	plainW  bool   // the Worker is a node
	inner   string // the node of the subgraph
	joins   bool   // end waits for all
}

// compileVersion compiles a version. The first step of its turns has a question, a subgraph that
// asks, and two tasks of a Worker, which finish and add to the count.
func compileVersion[S any](t *testing.T, v release, store checkpoint.Store, add func(*S)) *graph.Graph[S] {
	t.Helper()
	ask := func(prompt string) graph.Node[S] {
		return graph.Func(func(ctx context.Context, _ *S) error {
			_, err := graph.Ask[bool](ctx, graph.Question{Prompt: prompt})
			return err
		})
	}
	child := graph.New[S]("child")
	child.Node(v.inner, ask("inner"))
	child.Edge(graph.Start, v.inner)
	child.Edge(v.inner, graph.End)
	sub := build(t, child, graph.Config{})

	done := graph.Func(func(context.Context, *S) error { return nil })
	nodes := map[string]graph.Node[S]{
		"ask": ask("outer"),
		"sub": graph.Subgraph(sub, func(s *S) (S, error) { return *s, nil }, func(*S, *S) error { return nil }),
		"w":   graph.Worker(func(_ context.Context, s *S, n int) error { add(s); return nil }),
	}
	if v.plainW {
		nodes["w"] = done
	}
	delete(nodes, v.without)
	names := slices.Sorted(maps.Keys(nodes))
	b := graph.New[S]("checked")
	b.Node("begin", graph.Router(func(context.Context, *S) (graph.Command, error) {
		return graph.Goto("ask", "sub").Send("w", 1).Send("w", 2), nil
	}, names...))
	b.Node("end", done)
	b.Edge(graph.Start, "begin")
	b.Edge("end", graph.End)
	var sources []string
	for _, name := range names {
		b.Node(name, nodes[name])
		if v.joins && name != "w" {
			sources = append(sources, name)
		} else {
			b.Edge(name, "end")
		}
	}
	if v.joins {
		b.Join("end", sources...)
	}
	return build(t, b, graph.Config{Store: store})
}

// TestCheck_SeesWhatResumeNeeds checks a thread with all kinds of pending writes against new
// versions of its graph. Where Check finds nothing, Resume on a copy goes on.
func TestCheck_SeesWhatResumeNeeds(t *testing.T) {
	count := func(s *withCount) { s.Count.Add(1) }
	compiled := func(v release) func(*testing.T, checkpoint.Store) graph.Untyped {
		return func(t *testing.T, store checkpoint.Store) graph.Untyped {
			if v.inner == "" {
				v.inner = "inner"
			}
			return compileVersion(t, v, store, count).Untyped()
		}
	}
	for name, c := range map[string]struct {
		now   func(*testing.T, checkpoint.Store) graph.Untyped
		lacks []string // words of each
		late  bool     // Resume finds it when the subgraph runs, after the answers
	}{
		"the same":     {now: compiled(release{})},
		"another way":  {now: compiled(release{joins: true})},
		"no node ask":  {now: compiled(release{without: "ask"}), lacks: []string{`it waits for node "ask"`}},
		"no node sub":  {now: compiled(release{without: "sub"}), lacks: []string{`it waits for node "sub"`}},
		"no Worker":    {now: compiled(release{without: "w"}), lacks: []string{`it waits for node "w"`, `it waits for node "w"`}},
		"a plain node": {now: compiled(release{plainW: true}), lacks: []string{`it waits for Worker "w"`, `it waits for Worker "w"`}},
		"another child": {now: compiled(release{inner: "core"}), late: true,
			lacks: []string{`in the subgraph of node "sub": it waits for node "inner"`}},
		"two are gone": {now: compiled(release{without: "ask", inner: "core"}),
			lacks: []string{`it waits for node "ask"`, `in the subgraph of node "sub": it waits for node "inner"`}},
		"a field is gone": {lacks: []string{`it wrote field "count", which is gone`},
			now: func(t *testing.T, store checkpoint.Store) graph.Untyped {
				return compileVersion(t, release{inner: "inner"}, store, func(*withoutCount) {}).Untyped()
			}},
		"a field has another type": {lacks: []string{`field "name"`, `in the subgraph of node "sub": `},
			now: func(t *testing.T, store checkpoint.Store) graph.Untyped {
				return compileVersion(t, release{inner: "inner"}, store, func(s *withNumber) { s.Count.Add(1) }).Untyped()
			}},
	} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, over func(checkpoint.Store) checkpoint.Store) {
				memory := new(checkpoint.Memory)
				before := compileVersion(t, release{inner: "inner"}, over(memory), count)
				var in withCount
				in.Name.Set("x")
				if res, err := before.Invoke(ctx, in, t1); err != nil || res.Status != graph.Interrupted {
					t.Fatal(res.Status, err)
				}
				was := exportOf(t, memory)
				got, err := c.now(t, over(memory)).Check(ctx, "t1")
				if err != nil {
					t.Fatal(err)
				}
				if exportOf(t, memory) != was {
					t.Error("rule: a check writes nothing")
				}
				if len(got.Unchecked) > 0 || len(got.Lacks) != len(c.lacks) {
					t.Fatalf("got unchecked %q and lacks %q, want lacks %q", got.Unchecked, got.Lacks, c.lacks)
				}
				for i, words := range c.lacks {
					if !strings.Contains(got.Lacks[i], words) {
						t.Errorf("got the lack %q, want one with %q", got.Lacks[i], words)
					}
				}
				var answers graph.Answers
				if c.late {
					for _, in := range got.Interrupts {
						answers = answers.Answer(in.ID, true)
					}
				}
				res, err := c.now(t, over(memory)).Resume(ctx, answers, t1)
				goesOn := err == nil && res.Status == graph.Interrupted
				refused := errors.Is(err, graph.ErrProgram) || errors.Is(err, checkpoint.ErrSchema)
				if goesOn != (len(c.lacks) == 0) || refused != (len(c.lacks) > 0) {
					t.Errorf("rule: Check agrees with Resume\ngot the lacks %q and from Resume %q, %v", got.Lacks, res.Status, err)
				}
				if !c.late && refused && exportOf(t, memory) != was {
					t.Error("rule: Resume with a program that lacks something changes nothing")
				}
			})
		})
	}
}

// exportOf returns all that is stored of t1.
func exportOf(t *testing.T, store checkpoint.Store) string {
	t.Helper()
	var b strings.Builder
	for _, ns := range must(store.Namespaces(ctx, "t1")) {
		for snap, err := range store.History(ctx, checkpoint.Key{Thread: "t1", Namespace: ns}, checkpoint.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%q %d %s %v\n", ns, snap.Seq, snap.ID, snap.Pending)
		}
	}
	return b.String()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestCheck_DoneUnknownAndForeignThreads(t *testing.T) {
	cfg := stored()
	b := graph.New[world]("line")
	line(b, "a", "b")
	g := build(t, b, cfg)
	invoke(t, g, "t1", graph.Done)
	if c, err := g.Check(ctx, "t1"); err != nil || !c.Same || len(c.Lacks) > 0 || c.Status != graph.Done {
		t.Errorf("a thread that is done: %+v, %v", c, err)
	}
	_, err := g.Check(ctx, "nowhere")
	is(t, err, graph.ErrUnknownThread, "nowhere")
	_, err = g.Check(ctx, "")
	is(t, err, checkpoint.ErrThreadID)
	other := graph.New[world]("other")
	line(other, "a", "b")
	c, err := build(t, other, cfg).Check(ctx, "t1")
	if err != nil || len(c.Lacks) != 1 || !strings.Contains(c.Lacks[0], `the graph "line"`) {
		t.Errorf("a thread of another graph: %q, %v", c.Lacks, err)
	}
	_, err = build(t, b, graph.Config{}).Check(ctx, "t1")
	is(t, err, graph.ErrNoStore)
}
