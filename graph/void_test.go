package graph_test

import (
	"context"
	"testing"

	"github.com/weftrun/weft/graph"
)

// When the results of a step do not count, the tasks run again, also one that had asked before
// it finished something that it does not ask any more.
func TestWhatATaskDoesNotAskAnyMoreIsNotOpenAfterAConflict(t *testing.T) {
	asksTwo := graph.Func(func(ctx context.Context, _ *world) error {
		_, err := graph.Ask[string](ctx, graph.Question{Prompt: "x", Key: "x"})
		if err != nil {
			_, _ = graph.Ask[string](ctx, graph.Question{Prompt: "y", Key: "y"})
		}
		return err
	})
	sets := graph.Func(func(_ context.Context, s *world) error { s.Name.Set("n"); return nil })
	cfg := stored()
	g := build(t, parallel(map[string]graph.Node[world]{"a": asksTwo, "b": sets, "c": sets}), cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	if len(res.Interrupts) != 2 {
		t.Fatalf("%d questions are open, want 2", len(res.Interrupts))
	}
	_, err := g.Resume(ctx, graph.Answer(idOf(t, res, "x"), "1"), t1)
	is(t, err, graph.ErrConflict, `"b"`, `"c"`)
	p, err := graph.Inspect(ctx, cfg.Store, "t1")
	if err != nil || len(p.Interrupts) != 0 {
		t.Errorf("open are %v, %v; want none", p.Interrupts, err)
	}
	_, err = g.Resume(ctx, graph.Answers{}, t1)
	is(t, err, graph.ErrConflict, `"b"`, `"c"`)
}
