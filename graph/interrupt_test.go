package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// asks is a node that asks a question for each word, one after the other, and logs
// its name with the answers.
func asks(name string, ran *counter, words ...string) graph.Node[world] {
	return graph.Func(func(ctx context.Context, s *world) error {
		ran.add(name)
		s.Log.Append(name) // is not seen before the node has finished
		for _, w := range words {
			answer, err := graph.Ask[string](ctx, graph.Question{Prompt: w})
			if err != nil {
				return err
			}
			s.Log.Append(w + "=" + answer)
		}
		return nil
	})
}

// parallel puts nodes between Start and End, all at once.
func parallel(nodes map[string]graph.Node[world]) *graph.Builder[world] {
	b := graph.New[world]("parallel")
	for name, n := range nodes {
		b.Node(name, n)
		b.Edge(graph.Start, name)
		b.Edge(name, graph.End)
	}
	return b
}

// asked fails the test unless the run waits for answers to these prompts.
func asked(t *testing.T, res graph.Result[world], want string) {
	t.Helper()
	var prompts []string
	ids := map[string]bool{}
	for _, in := range res.Interrupts {
		prompts = append(prompts, in.Prompt)
		if ids[in.ID] || in.ID == "" || in.Kind != "question" {
			t.Errorf("interrupt %+v has no id of its own, or another kind", in)
		}
		ids[in.ID] = true
	}
	if got := strings.Join(prompts, " "); got != want {
		t.Errorf("the run asks %q, want %q", got, want)
	}
}

// idOf returns the id of the question with this prompt.
func idOf(t *testing.T, res graph.Result[world], prompt string) string {
	t.Helper()
	for _, in := range res.Interrupts {
		if in.Prompt == prompt {
			return in.ID
		}
	}
	t.Fatalf("%q is not asked in %v", prompt, res.Interrupts)
	return ""
}

func TestNode_AsksOneQuestionAfterTheOther(t *testing.T) {
	var ran counter
	g := build(t, parallel(map[string]graph.Node[world]{"a": asks("a", &ran, "x", "y", "z")}), stored())
	res := invoke(t, g, "t1", graph.Interrupted)
	for _, w := range []string{"x", "y", "z"} {
		asked(t, res, w)
		logged(t, res, "")
		status := graph.Interrupted
		if w == "z" {
			status = graph.Done
		}
		res = resume(t, g, graph.Answer(idOf(t, res, w), w+w), status)
	}
	logged(t, res, "a x=xx y=yy z=zz")
	ran.want(t, "a", 4)
}

func TestNode_AsksManyQuestionsAtOnce(t *testing.T) {
	prompts := []string{"x", "y", "z"}
	n := graph.Func(func(ctx context.Context, s *world) error {
		var errs []error
		for _, p := range prompts {
			answer, err := graph.Ask[int](ctx, graph.Question{Prompt: p, Key: p})
			s.Count.Add(answer)
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	for range 20 {
		g := build(t, parallel(map[string]graph.Node[world]{"a": n}), stored())
		first := invoke(t, g, "t1", graph.Interrupted)
		asked(t, first, "x y z")
		status := graph.Interrupted
		for i, at := range rand.Perm(3) {
			if i == 2 {
				status = graph.Done
			}
			res := resume(t, g, graph.Answer(idOf(t, first, prompts[at]), 1), status)
			if want := 3; i == 2 && res.State.Count.Get() != want {
				t.Errorf("the sum of the answers is %d, want %d", res.State.Count.Get(), want)
			}
		}
	}
}

func TestQuestions_CollectedComeBeforeRouting(t *testing.T) {
	b := graph.New[world]("collect")
	b.Node("a", graph.Func(func(ctx context.Context, s *world) error {
		name, _ := graph.Ask[string](ctx, graph.Question{Prompt: "x"})
		s.Name.Set(name) // goes on after ErrInterrupted and returns nil
		return nil
	}))
	b.Branch("a", func(_ context.Context, s *world) (graph.Command, error) {
		if s.Name.Get() == "" {
			return graph.Command{}, errors.New("the branch saw a half-done node")
		}
		return graph.Goto(graph.End), nil
	}, graph.End)
	b.Edge(graph.Start, "a")
	g := build(t, b, stored())
	asked(t, invoke(t, g, "t1", graph.Interrupted), "x")
	resume(t, g, graph.Reply("ann"), graph.Done)
}

// branchThatAsks returns a graph whose only node, a, has a branch that asks where to go.
func branchThatAsks(t testing.TB) *graph.Graph[world] {
	t.Helper()
	b := graph.New[world]("branch")
	b.Node("a", logs("a"))
	b.Branch("a", func(ctx context.Context, s *world) (graph.Command, error) {
		to, err := graph.Ask[string](ctx, graph.Question{Prompt: "where?"})
		return graph.Goto(to), err
	}, "a", graph.End)
	b.Edge(graph.Start, "a")
	return build(t, b, stored())
}

func TestBranch_MayAsk(t *testing.T) {
	g := branchThatAsks(t)
	invoke(t, g, "t1", graph.Interrupted)
	logged(t, resume(t, g, graph.Reply("a"), graph.Interrupted), "a")
	logged(t, resume(t, g, graph.Reply(graph.End), graph.Done), "a a")
}

// Requirement: Every question counts
// Requirement: a node asks a person, for a minute or a month
func TestQuestions_ParallelAnsweredInAnyOrder(t *testing.T) {
	all := []string{"x", "y", "z"}
	for _, order := range [][]string{{"x y z"}, {"x", "y", "z"}, {"z", "y", "x"}, {"y", "x z"}, {"z x", "y"}} {
		t.Run(strings.Join(order, ","), func(t *testing.T) {
			var ran counter
			cfg := stored()
			compiled := func() *graph.Graph[world] { // as after a restart of the process
				nodes := map[string]graph.Node[world]{"done": asks("done", &ran)}
				for _, w := range all {
					nodes["n"+w] = asks("n"+w, &ran, w)
				}
				return build(t, parallel(nodes), cfg)
			}
			first := invoke(t, compiled(), "t1", graph.Interrupted)
			asked(t, first, "x y z")
			res := first
			for i, words := range order {
				var a graph.Answers
				for _, w := range strings.Fields(words) {
					if id := idOf(t, res, w); id != idOf(t, first, w) {
						t.Errorf("the id of %s changed", w)
					}
					a = a.Answer(idOf(t, first, w), w+w)
				}
				status := graph.Interrupted
				if i == len(order)-1 {
					status = graph.Done
				}
				res = resume(t, compiled(), a, status)
			}
			logged(t, res, "done nx x=xx ny y=yy nz z=zz")
			ran.want(t, "done", 1)
			for _, w := range all {
				ran.want(t, "n"+w, 2) // once to ask, once with the answer
			}
		})
	}
}

func TestQuestions_InALoopHaveTheirOwnIDs(t *testing.T) {
	b := graph.New[world]("loop")
	b.Node("a", graph.Router(func(ctx context.Context, s *world) (graph.Command, error) {
		word, err := graph.Ask[string](ctx, graph.Question{Prompt: "x"})
		s.Log.Append(word)
		if word == "stop" {
			return graph.Goto(graph.End), err
		}
		return graph.Goto("a"), err
	}, "a", graph.End))
	b.Edge(graph.Start, "a")
	g := build(t, b, stored())
	res := invoke(t, g, "t1", graph.Interrupted)
	ids := map[string]bool{}
	for _, word := range []string{"1", "2", "3"} {
		ids[idOf(t, res, "x")] = true
		res = resume(t, g, graph.Reply(word), graph.Interrupted)
	}
	logged(t, resume(t, g, graph.Reply("stop"), graph.Done), "1 2 3 stop")
	if len(ids) != 3 {
		t.Errorf("three laps have %d ids", len(ids))
	}
}

// Requirement: a node asks a person, for a minute or a month
func TestSend_OnlyTheAnsweredOneRunsAgain(t *testing.T) {
	var ran counter
	cfg := stored()
	works := func(ctx context.Context, s *world, p parcel) error {
		ran.add(p.Name)
		if p.Name != "z" {
			return nil
		}
		answer, err := graph.Ask[string](ctx, graph.Question{Prompt: "x"})
		if err == nil && (answer != "yes" || p.String() != parcels[0].String()) {
			err = fmt.Errorf("got %q and the payload %v", answer, p)
		}
		return err
	}
	asked(t, invoke(t, build(t, post(works), cfg), "t1", graph.Interrupted), "x")
	logged(t, resume(t, build(t, post(works), cfg), graph.Reply("yes"), graph.Done), posted)
	ran.want(t, "z", 2)
	ran.want(t, parcels[1].Name, 1)
	ran.want(t, parcels[2].Name, 1)
}

func TestAsk_OutsideANodeIsAnErrorAndEmitDoesNothing(t *testing.T) {
	_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "x"})
	is(t, err, graph.ErrNoTask)
	is(t, graph.Emit(ctx, 1), nil)
	if id := graph.TaskID(ctx); id != "" {
		t.Errorf("TaskID outside a node is %q", id)
	}
}

// TestAnswers_TwoToOneQuestion gives one question two answers at once: none is dropped in
// silence, and the question stays open.
func TestAnswers_TwoToOneQuestion(t *testing.T) {
	b := graph.New[small]("twice")
	b.Node("ask", graph.Func(func(ctx context.Context, _ *small) error {
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "ok?"})
		return err
	}))
	b.Edge(graph.Start, "ask")
	b.Edge("ask", graph.End)
	g, err := b.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	run := graph.RunOptions{Thread: "t"}
	res, err := g.Invoke(t.Context(), small{}, run)
	if err != nil {
		t.Fatal(err)
	}
	id := res.Interrupts[0].ID
	for _, a := range []graph.Answers{graph.Reply(true).Answer("", false), graph.Answer(id, true).Answer(id, false), graph.Reply(true).Answer(id, false)} {
		if _, err := g.Resume(t.Context(), a, run); !errors.Is(err, graph.ErrAnswer) {
			t.Errorf("two answers: %v, want ErrAnswer", err)
		}
	}
	res, err = g.Resume(t.Context(), graph.Reply(true).Answer(id, true), run)
	if err != nil || res.Status != graph.Done {
		t.Errorf("the same answer twice: %s, %v", res.Status, err)
	}
}
