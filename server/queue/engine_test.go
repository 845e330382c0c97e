package queue_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/state"
)

// With an engine the lease of the thread is free, and still only one process has the claim.
func TestClaim_OnAnEngineHasALeaseOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory()
		process := func() *queue.Queue {
			q, err := queue.New(queue.Config{Store: s.store, Documents: s.docs, Engine: true})
			if err != nil {
				t.Fatal(err)
			}
			return q
		}
		a, b := process(), process()
		create(t, a, "t1", "r1", queue.Enqueue)
		create(t, a, "t1", "r2", queue.Enqueue)
		c := claim(t, a, 5, "r1")[0]
		claim(t, b, 5)
		held, err := checkpoint.Hold(t.Context(), s.store, "t1", checkpoint.HoldOptions{Owner: "the engine"})
		if err != nil {
			t.Fatalf("the engine cannot lease the thread: %v", err)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.Abandon()
		time.Sleep(2 * time.Second)
		again := claim(t, b, 5, "r1")[0]
		if !again.Again || again.Run.Attempt != 2 {
			t.Errorf("the second claim is %+v of attempt %d, want that it is another one", again.Again, again.Run.Attempt)
		}
		finish(t, again)
		finish(t, claim(t, b, 5, "r2")[0])
	})
}

// A rollback waits for the lease of a worker that was given up.
func TestClaim_OnAnEngineRollsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type nothing struct {
			N state.Sum[int] `json:"n"`
		}
		s := inMemory()
		q, err := queue.New(queue.Config{Store: s.store, Documents: s.docs, Engine: true})
		if err != nil {
			t.Fatal(err)
		}
		b := graph.New[nothing]("adds")
		b.Node("add", graph.Func(func(_ context.Context, n *nothing) error { n.N.Add(1); return nil }))
		b.Edge(graph.Start, "add")
		b.Edge("add", graph.End)
		g, err := b.Compile(graph.Config{Store: s.store})
		if err != nil {
			t.Fatal(err)
		}
		create(t, q, "t1", "r1", queue.Enqueue)
		c := claim(t, q, 5, "r1")[0]
		if _, err := g.Invoke(t.Context(), nothing{}, graph.RunOptions{ID: "r1", Thread: "t1", Lease: c.Lease()}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.store.(checkpoint.Leaser).Acquire(t.Context(), checkpoint.LeaseRequest{Thread: "t1", Owner: "a worker", TTL: 30 * time.Second}); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Cancel(t.Context(), "t1", "r1", queue.Undo); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		finish(t, c)
		if waited := time.Since(began); waited < 29*time.Second || waited > 35*time.Second {
			t.Errorf("the rollback took %v, want the 30 s of the lease", waited)
		}
		status(t, q, "t1", "r1", "")
		if _, err := graph.Inspect(t.Context(), s.store, checkpoint.Key{Thread: "t1"}); err == nil {
			t.Error("the thread has commits of the run, want none")
		}
	})
}
