package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// charging is a parent that draws a word and calls a child with it, which charges for it.
// The first time it fails after that, with what then returns.
func charging(t testing.TB, store checkpoint.Store, ran *counter, then func() error) *graph.Graph[world] {
	c := remembers(t, graph.PerCall, "child", func(ctx context.Context, s *memo) error {
		_, err := graph.Once(ctx, "charge", func(context.Context) (int, error) { return ran.add("charge " + s.Word.Get()), nil })
		return err
	})
	b := graph.New[world]("parent")
	b.Node("draw", graph.Func(func(_ context.Context, s *world) error {
		s.Name.Set(fmt.Sprint("x", ran.add("draw")))
		return nil
	}))
	b.Node("use", graph.Func(func(ctx context.Context, s *world) error {
		end, err := c.Call(ctx, say(s.Name.Get()))
		s.Log.Append(s.Name.Get(), strings.Join(end.Words.Slice(), "+"))
		if err == nil && ran.add("use") == 1 {
			return then()
		}
		return err
	}))
	b.Edge(graph.Start, "draw")
	b.Edge("draw", "use")
	b.Edge("use", graph.End)
	return build(t, b, graph.Config{Store: store})
}

// A subgraph that has charged stands on a step of its parent: a crash must not lose that
// step and keep the charge, or the parent draws another word for it, or nobody knows of it.
func TestASubgraphIsNotStoredBeforeWhatItStandsOn(t *testing.T) {
	for _, d := range durabilities {
		t.Run(d.String(), func(t *testing.T) {
			var ran counter
			m := &mortal{Memory: new(checkpoint.Memory)}
			g := charging(t, m, &ran, func() error { m.dead = true; return errors.New("the process dies") })
			_, err := g.Invoke(ctx, world{}, graph.Run{Thread: "t1", Durability: d})
			if err == nil {
				t.Fatal("the process did not die")
			}
			m.dead = false
			logged(t, resume(t, g, graph.Answers{}, graph.Done), "x1 x1")
			ran.want(t, "charge x1", 1)
			ran.want(t, "draw", 1)
		})
	}
}

// behind is a store whose commits of the root, but the first, do not come through.
type behind struct {
	*checkpoint.Memory
	charged chan struct{}
}

func (b *behind) Commit(ctx context.Context, c checkpoint.Commit) error {
	if c.Namespace == "" && c.Head > 0 {
		<-b.charged
		return errFault
	}
	return b.Memory.Commit(ctx, c)
}

func TestASubgraphWaitsForTheCommitOfItsParentThatIsUnderWay(t *testing.T) {
	var ran counter
	b := &behind{new(checkpoint.Memory), make(chan struct{})}
	close(b.charged)
	_, err := charging(t, b, &ran, func() error { return nil }).Invoke(ctx, world{}, graph.Run{Thread: "t1", Durability: graph.Async})
	is(t, err, errFault)
	logged(t, resume(t, charging(t, b.Memory, &ran, func() error { return nil }), graph.Answers{}, graph.Done), "x2 x2")
	ran.want(t, "charge x1", 0)
}
