package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// The memoized result of a node was pending on a commit that the store has lost. It is stored
// again, so nothing is charged twice.
func TestRecover_PendingWritesOfALostCommitAreStoredAgain(t *testing.T) {
	for left := range uint64(2) {
		var ran counter
		f := &forgetful{Store: new(checkpoint.Memory)}
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

// absent is a store that returns ErrNotFound for each commit.
type absent struct{ *checkpoint.Memory }

func (absent) Commit(context.Context, checkpoint.Commit) error { return checkpoint.ErrNotFound }

func TestRecover_StoreWithNothingToLoseIsNotRecovered(t *testing.T) {
	for _, d := range durabilities {
		g := build(t, parallel(map[string]graph.Node[world]{"a": logs("a")}), graph.Config{Store: absent{new(checkpoint.Memory)}})
		_, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: d})
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

// A subgraph that has charged depends on a step of its parent. A crash must not lose that step and
// keep the charge: the parent would draw another word for it, or have no record of it.
func TestSubgraph_IsNotStoredBeforeTheStepOfItsParent(t *testing.T) {
	for _, d := range durabilities {
		t.Run(d.String(), func(t *testing.T) {
			var ran counter
			m := &mortal{Memory: new(checkpoint.Memory)}
			g := charging(t, m, &ran, func() error { m.dead = true; return errors.New("the process dies") })
			_, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: d})
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

func TestSubgraph_WaitsForItsParentsCommit(t *testing.T) {
	var ran counter
	b := &behind{new(checkpoint.Memory), make(chan struct{})}
	close(b.charged)
	_, err := charging(t, b, &ran, func() error { return nil }).Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: graph.Async})
	is(t, err, errFault)
	logged(t, resume(t, charging(t, b.Memory, &ran, func() error { return nil }), graph.Answers{}, graph.Done), "x2 x2")
	ran.want(t, "charge x1", 0)
}

// An edit of a child that shares its parent's state is part of what the child wrote, and
// what it had written before is not written again.
func TestInlineChild_IsEditedAtItsPlace(t *testing.T) {
	cfg := stored()
	b := graph.New[world]("kid")
	b.Node("k1", logs("k1"))
	b.Node("k2", graph.Func(func(ctx context.Context, s *world) error {
		word, err := graph.Ask[string](ctx, graph.Question{Prompt: "word"})
		s.Log.Append(s.Name.Get() + word)
		return err
	}))
	b.Edge(graph.Start, "k1")
	b.Edge("k1", "k2")
	b.Edge("k2", graph.End)
	kid := build(t, b, cfg)
	g := build(t, parallel(map[string]graph.Node[world]{"in": graph.Inline(kid)}), cfg)
	on := graph.RunOptions{Thread: "t1", Namespace: invoke(t, g, "t1", graph.Interrupted).Interrupts[0].Namespace}
	_, err := kid.Patch(ctx, func(s *world) error {
		s.Name.Set("new")
		s.Log.Append("patched")
		return nil
	}, on)
	if err != nil {
		t.Fatal(err)
	}
	res := resume(t, g, graph.Reply("w"), graph.Done)
	if logged(t, res, "k1 patched neww"); res.State.Name.Get() != "new" {
		t.Errorf("the name is %q, want what the edit wrote", res.State.Name.Get())
	}
}

// bomb is a value that cannot be encoded, with a panic.
type bomb struct{ Live bool }

func (b bomb) MarshalJSON() ([]byte, error) {
	if b.Live {
		panic("boom")
	}
	return []byte("false"), nil
}

type bombs struct {
	B state.Value[bomb] `json:"b"`
}

func TestPanic_WhileTheEndIsStoredReleasesTheThread(t *testing.T) {
	for _, d := range durabilities {
		b := graph.New[bombs]("bombs")
		b.Node("a", graph.Func(func(_ context.Context, s *bombs) error { s.B.Set(bomb{true}); return nil }))
		b.Node("z", graph.Func(func(context.Context, *bombs) error { return errors.New("no") }))
		b.Edge(graph.Start, "a")
		b.Edge("a", "z")
		b.Edge("z", graph.End)
		g := build(t, b, stored())
		for range 2 {
			_, err := g.Invoke(ctx, bombs{}, graph.RunOptions{Thread: "t1", Durability: d})
			var p *graph.PanicError
			if !errors.As(err, &p) || errors.Is(err, context.Canceled) || errors.Is(err, checkpoint.ErrOwned) {
				t.Errorf("%v: got %v, want the panic alone", d, err)
			}
		}
	}
}

// brittle is a store that panics instead of making a second commit.
type brittle struct{ *checkpoint.Memory }

func (b brittle) Commit(ctx context.Context, c checkpoint.Commit) error {
	if c.Head > 0 {
		panic("the driver is broken")
	}
	return b.Memory.Commit(ctx, c)
}

// Requirement: a node panics or hangs
func TestPanic_OfTheStoreIsAnErrorWithEachDurability(t *testing.T) {
	for _, d := range durabilities[:2] {
		var ran counter
		_, err := chainOf(t, &ran, graph.Config{Store: brittle{new(checkpoint.Memory)}}, "a", "b", "c").
			Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: d})
		var p *graph.PanicError
		if !errors.As(err, &p) || !strings.Contains(err.Error(), "t1") {
			t.Errorf("%v: got %v, want a panic that names the thread", d, err)
		}
	}
}

func TestNode_ThatWaitsForItsOwnThreadGetsAnError(t *testing.T) {
	for name, inner := range map[string]graph.RunOptions{
		"queue": {Thread: "t1", OnOpenQuestions: graph.Queue},
		"wait":  {Thread: "t1", Lease: checkpoint.HoldOptions{Policy: checkpoint.Wait}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				var g *graph.Graph[world]
				g = build(t, parallel(map[string]graph.Node[world]{"a": graph.Func(func(ctx context.Context, _ *world) error {
					_, err := g.Invoke(ctx, world{}, inner)
					return err
				})}), stored())
				_, err := g.Invoke(ctx, world{}, t1)
				if is(t, err, checkpoint.ErrOwned, "t1", `node "a"`); ctx.Err() != nil {
					t.Error("it waited for itself")
				}
			})
		})
	}
}

// expiring is a node that asks x for an hour and y for ever; fails is called in between.
func expiring(ctx context.Context, fails func() error) error {
	_, errX := graph.Ask[string](ctx, graph.Question{Prompt: "x", Timeout: time.Hour})
	_, errY := graph.Ask[string](ctx, graph.Question{Prompt: "y"})
	if err := fails(); err != nil {
		return err
	}
	if errX != nil {
		return errX
	}
	return errY
}

func TestExpiry_DoesNotMoveInAChildOrWithAFailure(t *testing.T) {
	for name, of := range map[string]func(fails func() error) graph.Node[world]{
		"failure": func(fails func() error) graph.Node[world] {
			return graph.Func(func(ctx context.Context, _ *world) error { return expiring(ctx, fails) })
		},
		"stateless": func(func() error) graph.Node[world] {
			return callsOf(remembers(t, graph.Stateless, "child", func(ctx context.Context, _ *memo) error {
				return expiring(ctx, func() error { return nil })
			}), "w")
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &clock{time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
			cfg := stored()
			cfg.Now = c.read
			runs := 0
			g := build(t, parallel(map[string]graph.Node[world]{"a": of(func() error {
				if runs++; runs == 2 || runs == 3 {
					return errors.New("not now")
				}
				return nil
			})}), cfg)
			res := invoke(t, g, "t1", graph.Interrupted)
			c.now = c.now.Add(50 * time.Minute)
			answer := graph.Answer(idOf(t, res, "y"), "v")
			res, err := g.Resume(ctx, answer, t1)
			for range 2 {
				if err != nil {
					res, err = g.Resume(ctx, graph.Answers{}, t1)
				}
			}
			asked(t, ended(t, graph.Interrupted, res, err), "x")
			if at := res.Interrupts[0].Expires; !at.Equal(time.Date(2026, 5, 1, 13, 0, 0, 0, time.UTC)) {
				t.Errorf("x expires at %v, want an hour after it was asked first", at)
			}
		})
	}
}

func TestQueue_InputIsLastThoughTheQuestionHasExpired(t *testing.T) {
	c := &clock{time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	cfg := stored()
	cfg.Now = c.read
	g := build(t, parallel(map[string]graph.Node[world]{"a": graph.Func(func(ctx context.Context, s *world) error {
		if s.Log.Append(s.Name.Get()); s.Name.Get() != "one" {
			return nil
		}
		_, err := graph.Ask[string](ctx, graph.Question{Prompt: "word", Timeout: time.Hour})
		return err
	})}), cfg)
	queue := graph.RunOptions{Thread: "t1", OnOpenQuestions: graph.Queue}
	for _, in := range []struct {
		name string
		want graph.Status
	}{{"one", graph.Interrupted}, {"two", graph.Queued}, {"three", graph.Queued}, {"four", graph.Done}} {
		if in.name == "four" {
			c.now = c.now.Add(2 * time.Hour)
		}
		res, err := g.Invoke(ctx, inputOf(in.name), queue)
		if ended(t, in.want, res, err); in.name == "four" {
			logged(t, res, "two three four")
		}
	}
}

func TestPatch_ThatEndsTheTurnTakesNoAnswers(t *testing.T) {
	for _, name := range []string{graph.Start, graph.End} {
		g := polite(t, stored())
		id := idOf(t, invoke(t, g, "t1", graph.Interrupted), "word")
		_, err := g.UpdateAndResume(ctx, graph.Edit[world]{As: name}, graph.Answer(id, "w"), t1)
		is(t, err, graph.ErrEdit, name)
		asked(t, resume(t, g, graph.Answers{}, graph.Interrupted), "word")
	}
}

// A child that shares its parent's state records its writes in its commits. The commit that
// recovers a store records all of them.
func TestRecover_WritesOfAnInlineChildStay(t *testing.T) {
	var ran counter
	f := &forgetful{Store: new(checkpoint.Memory)}
	b := graph.New[world]("kid")
	b.Node("k1", logs("k1"))
	b.Node("k2", graph.Func(func(ctx context.Context, s *world) error {
		if ran.add("k2") == 1 {
			f.forget(t, 1) // all of the child
		}
		if _, err := graph.Once(ctx, "k", func(context.Context) (int, error) { return ran.add("once"), nil }); err != nil {
			return err
		}
		word, err := graph.Ask[string](ctx, graph.Question{Prompt: "word"})
		s.Log.Append(word)
		return err
	}))
	b.Edge(graph.Start, "k1")
	b.Edge("k1", "k2")
	b.Edge("k2", graph.End)
	kid := build(t, b, graph.Config{})
	g := build(t, parallel(map[string]graph.Node[world]{"in": graph.Inline(kid)}), graph.Config{Store: f})
	asked(t, invoke(t, g, "t1", graph.Interrupted), "word")
	logged(t, resume(t, g, graph.Reply("w"), graph.Done), "k1 w")
	ran.want(t, "once", 1)
}

func TestCompile_MissingFunctionsAreMistakes(t *testing.T) {
	for name, n := range map[string]graph.Node[world]{
		"func":     graph.Func[world](nil),
		"router":   graph.Router[world](nil, graph.End),
		"worker":   graph.Worker[world, int](nil),
		"subgraph": graph.Subgraph[world, memo](nil, nil, nil),
		"mapping":  graph.Subgraph[world](remembers(t, graph.PerCall, "child", nil), nil, nil),
		"inline":   graph.Inline[world](nil),
	} {
		_, err := parallel(map[string]graph.Node[world]{name: n}).Compile(graph.Config{})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: compiled with %v", name, err)
		}
	}
	b := parallel(map[string]graph.Node[world]{"a": logs("a")})
	b.OnError("a", graph.Handler[world](nil))
	if _, err := b.Compile(graph.Config{}); err == nil {
		t.Error("a handler without a function compiles")
	}
}
