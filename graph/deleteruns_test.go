package graph_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// meanwhile is a store on which another writer does something after the history was read.
type meanwhile struct {
	*checkpoint.Memory
	do func()
}

func (m *meanwhile) History(ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
	return func(yield func(checkpoint.Snapshot, error) bool) {
		for snap, err := range m.Memory.History(ctx, k, q) {
			if !yield(snap, err) {
				return
			}
		}
		if do := m.do; do != nil && k.Namespace == "" {
			m.do = nil
			do()
		}
	}
}

type added struct {
	N state.Sum[int] `json:"n"`
}

// adder returns a graph that adds one to the state of its thread, and a function that runs it and
// returns the id of the run.
func adder(t *testing.T, store checkpoint.Store) (g *graph.Graph[added], add func() (run string)) {
	t.Helper()
	b := graph.New[added]("adder")
	b.Node("add", graph.Func(func(_ context.Context, s *added) error { s.N.Add(1); return nil }))
	b.Edge(graph.Start, "add")
	b.Edge("add", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return g, func() string {
		res, err := g.Invoke(t.Context(), added{}, graph.RunOptions{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		return res.Run
	}
}

// A run that begins while the only run of its thread is deleted is not deleted.
func TestDeleteRuns_RunThatBeginsMeanwhile(t *testing.T) {
	ctx, store := t.Context(), &meanwhile{Memory: &checkpoint.Memory{}}
	g, add := adder(t, store.Memory)
	first, second := add(), ""
	store.do = func() { second = add() }
	if err := checkpoint.DeleteRuns(ctx, store, "t", first); err != nil {
		t.Fatal(err)
	}
	s, p, err := g.Thread("t").State(ctx, 0)
	if err != nil || p.Run != second || s.N.Get() != 2 {
		t.Errorf("rule: DeleteRuns deletes no other run\n got: run %q, %d, %v; want run %q, 2", p.Run, s.N.Get(), err, second)
	}
	if err := checkpoint.DeleteRuns(ctx, store, "t", second); err != nil {
		t.Fatal(err)
	}
	if _, _, err := g.Thread("t").State(ctx, 0); !errors.Is(err, graph.ErrUnknownThread) {
		t.Errorf("rule: a thread whose last run is deleted is deleted\n got: %v", err)
	}
}

// A writer whose lease was taken over does not delete the thread.
func TestDeleteRunsHeld_LostLease(t *testing.T) {
	ctx, store := t.Context(), &checkpoint.Memory{}
	g, add := adder(t, store)
	run := add()
	var fences []string
	for range 2 {
		held, err := checkpoint.Hold(ctx, store, "t", checkpoint.HoldOptions{Policy: checkpoint.TakeOver})
		if err != nil {
			t.Fatal(err)
		}
		defer held.Leave()
		fences = append(fences, held.Fence())
	}
	if err := checkpoint.DeleteRunsHeld(ctx, store, "t", fences[0], run); !errors.Is(err, checkpoint.ErrFenced) {
		t.Errorf("rule: a lost lease deletes nothing\n got: %v", err)
	}
	if _, _, err := g.Thread("t").State(ctx, 0); err != nil {
		t.Errorf("the thread: %v", err)
	}
	if err := checkpoint.DeleteRunsHeld(ctx, store, "t", fences[1], run); err != nil {
		t.Error(err)
	}
}
