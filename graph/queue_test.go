package graph_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// polite is a graph that asks for a word each turn, and logs it with the turn's name.
func polite(t testing.TB, cfg graph.Config) *graph.Graph[world] {
	b := graph.New[world]("polite")
	b.Node("a", graph.Func(func(ctx context.Context, s *world) error {
		word, err := graph.Ask[string](ctx, graph.Question{Prompt: "word"})
		s.Log.Append(s.Name.Get() + ":" + word)
		return err
	}))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	return build(t, b, cfg)
}

func inputOf(name string) world { return world{Name: state.Of(name)} }

// Requirement: Inputs wait for their turn
func TestQueue_InputsWaitForTheirTurn(t *testing.T) {
	cfg := stored()
	g := polite(t, cfg)
	queue := graph.RunOptions{Thread: "t1", OnOpenQuestions: graph.Queue}
	res, err := g.Invoke(ctx, inputOf("one"), queue)
	ended(t, graph.Interrupted, res, err) // nothing was open: it begins at once
	for _, name := range []string{"two", "three"} {
		res, err = g.Invoke(ctx, inputOf(name), queue)
		ended(t, graph.Queued, res, err)
	}
	_, err = g.Invoke(ctx, inputOf("no"), t1)
	is(t, err, graph.ErrWaiting)
	for i, want := range []string{"one:x0", "one:x0 two:x1"} {
		res = resume(t, g, graph.Reply(fmt.Sprint("x", i)), graph.Interrupted)
		logged(t, res, want)
		asked(t, res, "word")
	}
	res = resume(t, g, graph.Reply("x2"), graph.Done)
	logged(t, res, "one:x0 two:x1 three:x2")
	if p, _ := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); p.Turn != 3 {
		t.Errorf("the thread is in turn %d, want 3", p.Turn)
	}
	resume(t, g, graph.Answers{}, graph.Done) // each input is taken once
}

// Requirement: Inputs wait for their turn
func TestQueue_NoInputIsLostWhenManyQueueAtOnce(t *testing.T) {
	g := polite(t, stored())
	queue := graph.RunOptions{Thread: "t1", OnOpenQuestions: graph.Queue}
	res, err := g.Invoke(ctx, inputOf("first"), queue)
	ended(t, graph.Interrupted, res, err)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if res, err := g.Invoke(ctx, inputOf(fmt.Sprint(i)), queue); err != nil || res.Status != graph.Queued {
				t.Errorf("input %d: %q, %v", i, res.Status, err)
			}
		})
	}
	wg.Wait()
	for range 8 {
		resume(t, g, graph.Reply("x"), graph.Interrupted)
	}
	if res := resume(t, g, graph.Reply("x"), graph.Done); res.State.Log.Len() != 9 {
		t.Errorf("the log is %v, want 9 turns", res.State.Log.Slice())
	}
}

// Requirement: Inputs wait for their turn
func TestDiscard_DropsTheQuestionAndKeepsTheState(t *testing.T) {
	g := polite(t, stored())
	res, err := g.Invoke(ctx, inputOf("old"), t1)
	ended(t, graph.Interrupted, res, err)
	resume(t, g, graph.Reply("v"), graph.Done)
	res, err = g.Invoke(ctx, inputOf("dropped"), t1)
	dropped := idOf(t, ended(t, graph.Interrupted, res, err), "word")
	res, err = g.Invoke(ctx, inputOf("new"), graph.RunOptions{Thread: "t1", OnOpenQuestions: graph.Discard})
	asked(t, ended(t, graph.Interrupted, res, err), "word")
	_, err = g.Resume(ctx, graph.Answer(dropped, "late"), t1)
	is(t, err, graph.ErrUnknownQuestion)
	logged(t, resume(t, g, graph.Reply("w"), graph.Done), "old:v new:w")
	_, err = g.Invoke(ctx, inputOf("x"), graph.RunOptions{Thread: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Invoke(ctx, inputOf("x"), graph.RunOptions{Thread: "t1", OnOpenQuestions: "sometimes"})
	if err == nil {
		t.Error("an unknown policy is taken")
	}
}

// Requirement: Inputs wait for their turn
func TestQueuedInput_IsTakenOnceAfterAnyCrash(t *testing.T) {
	for at := 1; ; at++ {
		f := &faultStore{Store: stored().Store}
		g := polite(t, graph.Config{Store: f})
		queue := graph.RunOptions{Thread: "t1", OnOpenQuestions: graph.Queue}
		res, err := g.Invoke(ctx, inputOf("one"), queue)
		ended(t, graph.Interrupted, res, err)
		res, err = g.Invoke(ctx, inputOf("two"), queue)
		ended(t, graph.Queued, res, err)
		f.at = f.writes + at
		res, err = g.Resume(ctx, graph.Reply("x"), t1)
		if f.writes < f.at {
			return // every write was cut off once
		}
		is(t, err, errFault)
		f.at = 0
		res, err = g.Resume(ctx, graph.Answers{}, t1)
		if err == nil && len(res.Interrupts) == 1 && res.State.Log.Len() == 0 { // the answer was lost
			res, err = g.Resume(ctx, graph.Reply("x"), t1)
		}
		ended(t, graph.Interrupted, res, err)
		logged(t, res, "one:x")
		logged(t, resume(t, g, graph.Reply("y"), graph.Done), "one:x two:y")
	}
}
