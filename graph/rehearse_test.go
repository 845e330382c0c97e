package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

func TestRehearse_NodeThatAsksRunsWithoutARun(t *testing.T) {
	var s State
	s.Rounds.Add(2)
	c, err := review(graph.Rehearse(t.Context(), true), &s)
	if err != nil || !s.Approved.Get() || c.String() != `Goto("__end__")` {
		t.Errorf("got %s, %v, approved %v", c, err, s.Approved.Get())
	}
	if _, err := review(graph.Rehearse(t.Context()), &s); !errors.Is(err, graph.ErrInterrupted) {
		t.Errorf("without an answer left: got %v, want %v", err, graph.ErrInterrupted)
	}
	if _, err := review(graph.Rehearse(t.Context(), "yes"), &s); !errors.Is(err, graph.ErrAnswer) {
		t.Errorf("an answer of the wrong type: got %v, want %v", err, graph.ErrAnswer)
	}
}

func TestCommand_StringShowsItsTargets(t *testing.T) {
	c := graph.Goto("a", "b").Send("w", 3)
	if got, want := c.String(), `Goto("a").Goto("b").Send("w", 3)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// taskIDOn runs a graph of one node on a thread and returns the id of its task.
func taskIDOn(t *testing.T, name string, store checkpoint.Store, thread string) (id string) {
	t.Helper()
	b := graph.New[State](name)
	b.Node("pay", graph.Func(func(ctx context.Context, _ *State) error {
		id = graph.TaskID(ctx)
		return nil
	}))
	b.Edge(graph.Start, "pay")
	b.Edge("pay", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Invoke(t.Context(), State{}, graph.RunOptions{Thread: thread}); err != nil {
		t.Fatal(err)
	}
	return id
}

// Requirement: An answer to an old question
func TestTaskIDs_DifferForAllTasks(t *testing.T) {
	store := new(checkpoint.Memory)
	seen := map[string]bool{}
	for _, id := range []string{
		taskIDOn(t, "pay", store, "a"), taskIDOn(t, "pay", store, "b"), taskIDOn(t, "pay", store, "b"),
		taskIDOn(t, "refund", store, "c"), taskIDOn(t, "pay", new(checkpoint.Memory), "a"), taskIDOn(t, "pay", nil, ""), taskIDOn(t, "pay", nil, ""),
	} {
		if id == "" || seen[id] {
			t.Errorf("the id %q is not unique", id)
		}
		seen[id] = true
	}
}

func TestInput_MayDropOpenQuestions(t *testing.T) {
	b := graph.New[State]("drop")
	b.Node("ask", graph.Func(func(ctx context.Context, s *State) error {
		ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: s.Question.Get()})
		s.Approved.Set(ok)
		return err
	}))
	b.Edge(graph.Start, "ask")
	b.Edge("ask", graph.End)
	g, err := b.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	first, err := g.Invoke(t.Context(), State{Question: state.Of("one")}, graph.RunOptions{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Invoke(t.Context(), State{Question: state.Of("two")}, graph.RunOptions{Thread: "t"}); !errors.Is(err, graph.ErrWaiting) {
		t.Errorf("got %v, want %v", err, graph.ErrWaiting)
	}
	second, err := g.Invoke(t.Context(), State{Question: state.Of("two")}, graph.RunOptions{Thread: "t", OnOpenQuestions: graph.Discard})
	if err != nil || len(second.Interrupts) != 1 || second.Interrupts[0].Prompt != "two" {
		t.Fatalf("got %+v, %v; want the question of the new turn alone", second.Interrupts, err)
	}
	if _, err := g.Resume(t.Context(), graph.Answer(first.Interrupts[0].ID, true), graph.RunOptions{Thread: "t"}); !errors.Is(err, graph.ErrUnknownQuestion) {
		t.Errorf("the answer to a dropped question: got %v, want %v", err, graph.ErrUnknownQuestion)
	}
}
