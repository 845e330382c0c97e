package graph_test

import (
	"context"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// halfFailing is a graph of two parallel nodes: "asks" asks, and then "fails" fails, the first
// time.
func halfFailing(t testing.TB, ran *counter, kind graph.Lifetime) *graph.Graph[inner] {
	isAsked := make(chan struct{})
	b := graph.New[inner]("half")
	b.Node("asks", graph.Func(func(ctx context.Context, s *inner) error {
		answer, err := graph.Ask[string](ctx, graph.Question{Prompt: "q"})
		if ran.add("asks") == 1 {
			close(isAsked)
		}
		s.Path.Append("q=" + answer)
		return err
	}))
	b.Node("fails", graph.Func(func(_ context.Context, s *inner) error {
		<-isAsked
		if ran.add("fails") == 1 {
			return errBoom
		}
		s.Path.Append("ok")
		return nil
	}))
	for _, n := range []string{"asks", "fails"} {
		b.Edge(graph.Start, n)
		b.Edge(n, graph.End)
	}
	return build(t, b, graph.Config{Nested: kind})
}

// Requirement: Siblings keep their work
func TestQuestionBesideAFailureInAChild_IsListedAtOnce(t *testing.T) {
	for name, kind := range map[string]graph.Lifetime{
		"per call": graph.PerCall, "per thread": graph.PerThread, "stateless": graph.Stateless,
	} {
		for _, levels := range []int{1, 2} {
			t.Run(name+map[int]string{1: "", 2: ", two levels"}[levels], func(t *testing.T) {
				var ran counter
				c := halfFailing(t, &ran, kind)
				if levels == 2 {
					mid := graph.New[inner]("mid")
					mid.Node("m", graph.Subgraph(c, func(s *inner) (inner, error) { return *s, nil },
						func(s *inner, end *inner) error { s.Path.Append(end.Path.Slice()...); return nil }))
					mid.Edge(graph.Start, "m")
					mid.Edge("m", graph.End)
					c = build(t, mid, graph.Config{Nested: kind})
				}
				cfg := stored()
				g := build(t, parallel(map[string]graph.Node[world]{"n": hosts(c, "", nil)}), cfg)
				res, err := g.Invoke(ctx, world{}, t1)
				is(t, err, errBoom)
				asked(t, res, "q")
				p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"})
				if err != nil || p.Status != graph.Interrupted || len(p.Interrupts) != 1 || len(p.Failures) != 1 {
					t.Fatalf("the thread is %q with the questions %v and the failures %v (%v); want one of each",
						p.Status, p.Interrupts, p.Failures, err)
				}
				for p, err := range graph.Threads(ctx, cfg.Store, checkpoint.ThreadQuery{}) {
					if err != nil || len(p.Interrupts) != 1 {
						t.Errorf("a list of threads shows the questions %v (%v), want q", p.Interrupts, err)
					}
				}
				res = resume(t, g, graph.Reply("yes"), graph.Done)
				logged(t, res, "q=yes ok")
			})
		}
	}
}

func TestResumeOfAChild_RunsWhatFailedBesideAQuestion(t *testing.T) {
	var ran counter
	g := build(t, parallel(map[string]graph.Node[world]{
		"n": hosts(halfFailing(t, &ran, graph.PerCall), "", nil)}), stored())
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, errBoom)
	asked(t, resume(t, g, graph.Answers{}, graph.Interrupted), "q")
	ran.want(t, "fails", 2)
	ran.want(t, "asks", 1)
	logged(t, resume(t, g, graph.Reply("yes"), graph.Done), "q=yes ok")
	ran.want(t, "fails", 2)
}
