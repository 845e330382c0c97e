package graph_test

import (
	"context"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// What a node kept stood beside a commit that the store has lost: it is stored again, so
// that nothing is charged twice.
func TestWhatStoodBesideALostCommitIsStoredAgain(t *testing.T) {
	for left := range uint64(2) {
		var ran counter
		f := &forgetful{new(checkpoint.Memory)}
		b := graph.New[world]("pays")
		b.Node("a", logs("a"))
		b.Node("pay", graph.Func(func(ctx context.Context, _ *world) error {
			charge := func(context.Context) (int, error) { return ran.add("charge"), nil }
			if _, err := graph.Once(ctx, "charge", charge); err != nil {
				return err
			}
			if ran.add("pay") == 1 {
				f.forget(t, left)
			}
			_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "sure"})
			return err
		}))
		b.Edge(graph.Start, "a")
		b.Edge("a", "pay")
		b.Edge("pay", graph.End)
		g := build(t, b, graph.Config{Store: f})
		asked(t, invoke(t, g, "t1", graph.Interrupted), "sure")
		resume(t, g, graph.Reply(true), graph.Done)
		ran.want(t, "charge", 1)
	}
}

// absent is a store that takes no commit, and says each time that the thread is gone.
type absent struct{ *checkpoint.Memory }

func (absent) Commit(context.Context, checkpoint.Commit) error { return checkpoint.ErrNotFound }

func TestAStoreThatHasNothingToLoseIsNotHealed(t *testing.T) {
	for _, d := range durabilities {
		g := build(t, parallel(map[string]graph.Node[world]{"a": logs("a")}), graph.Config{Store: absent{new(checkpoint.Memory)}})
		_, err := g.Invoke(ctx, world{}, graph.Run{Thread: "t1", Durability: d})
		is(t, err, checkpoint.ErrNotFound, "t1")
	}
}
