package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// Requirement: Commit names unfinished tasks
func TestCommit_NamesUnfinishedTasks(t *testing.T) {
	var ran counter
	d := drives(t, stored(), inOneStep(map[string]graph.Node[world]{"a": questions("a", &ran), "b": logs("b"), "c": logs("c")}))
	p, err := d.plan(run1)
	d.at(p, err, graph.Pending, "a, b, c")
	for _, node := range []string{"a", "b"} {
		if _, err := d.run(p, taskOf(p, node)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := d.commit(p)
	var unfinished *graph.UnfinishedError
	if !errors.As(err, &unfinished) || !slices.Equal(unfinished.Tasks, []string{taskOf(p, "c")}) || !errors.Is(err, graph.ErrUnfinished) {
		t.Fatalf("got %v, want the task of c", err)
	}
	if got.ID != p.ID || tasksOf(got) != "a asked, b finished, c" {
		t.Errorf("beside the error: %+v", got)
	}
	if _, err := d.run(p, taskOf(p, "c")); err != nil {
		t.Fatal(err)
	}
	p, err = d.commit(p)
	d.at(p, err, graph.Interrupted, "a asked, b finished, c finished")
	if len(p.Interrupts) != 1 || p.Interrupts[0].Prompt != "a?" {
		t.Errorf("the questions are %+v", p.Interrupts)
	}
	d.release(p)
	_, err = d.drive(graph.PlanRequest{Run: "run-2", Answers: graph.Decline(p.Interrupts[0].ID, "no")})
	var node *graph.NodeError
	if !errors.As(err, &node) || node.Code() != graph.CodeDeclined {
		t.Errorf("got %v, want a failure of a by a declined question", err)
	}
}

// Each Commit of the run returns the error of a fold that fails. Another run runs the tasks again.
//
// Requirement: Commit returns the first failure in canonical order
func TestCommit_FoldThatFails(t *testing.T) {
	var ran counter
	sets := func(name string) graph.Node[world] {
		return graph.Func(func(_ context.Context, s *world) error {
			if ran.add(name) <= 2 {
				s.Name.Set(name)
			} else {
				s.Log.Append(name)
			}
			return nil
		})
	}
	d := drives(t, stored(), inOneStep(map[string]graph.Node[world]{"a": sets("a"), "b": sets("b")}))
	for n := range 2 {
		q := graph.PlanRequest{Run: fmt.Sprint("run-", n)}
		if n == 0 {
			q.Input = noInput
		}
		p, err := d.drive(q)
		is(t, err, graph.ErrConflict, "name", `"a"`, `"b"`)
		if p.Status != graph.Failed {
			t.Errorf("the status is %q, want failed", p.Status)
		}
		ran.want(t, "a", n+1)
	}
	p, err := d.drive(graph.PlanRequest{Run: "run-2"})
	d.at(p, err, graph.Done, "")
	ran.want(t, "b", 3)
	d.log("a b")
}

// Requirement: Plan checks limits and static interrupts
func TestCommit_StaticInterruptsPause(t *testing.T) {
	cfg := stored()
	cfg.InterruptBefore, cfg.InterruptAfter = []string{"c"}, []string{"a"}
	d := drives(t, cfg, inLine("a", "b", "c"))
	p, err := d.drive(run1)
	d.at(p, err, graph.Interrupted, "")
	if len(p.Interrupts) != 1 || p.Interrupts[0].Kind != "after" || p.Interrupts[0].Node != "a" {
		t.Errorf("the first pause is %+v", p.Interrupts)
	}
	p, err = d.drive(graph.PlanRequest{Run: "run-2"})
	d.at(p, err, graph.Interrupted, "")
	if len(p.Interrupts) != 1 || p.Interrupts[0].Kind != "before" || p.Interrupts[0].Node != "c" || p.Steps != 1 {
		t.Errorf("the second pause is %+v after %d steps", p.Interrupts, p.Steps)
	}
	p, err = d.drive(graph.PlanRequest{Run: "run-3"})
	d.at(p, err, graph.Done, "")
	d.log("a b c")
}

// Requirement: driver: events reach the caller
func TestCommit_EventsReachTheCaller(t *testing.T) {
	d := drives(t, stored(), inOneStep(map[string]graph.Node[world]{"a": graph.Func(func(ctx context.Context, s *world) error {
		s.Log.Append("a")
		return graph.Emit(ctx, "hello")
	})}))
	var seen []string
	take := func(ev graph.Event) {
		text := ev.Mode.String()
		switch ev.Mode {
		case graph.Custom:
			text += fmt.Sprint(" ", ev.Payload)
		case graph.Tasks:
			text += " " + string(ev.Phase)
		case graph.Ended:
			text += " " + string(ev.Status)
		}
		seen = append(seen, text)
	}
	all := graph.Reader{Modes: graph.Updates | graph.Tasks | graph.Custom | graph.Checkpoints}
	g := d.open()
	q := run1
	q.Thread, q.Events, q.Reader = "t1", take, all
	p, err := g.Plan(ctx, q)
	d.at(p, err, graph.Pending, "a")
	if _, err := g.RunTask(ctx, graph.TaskRequest{Step: p.ID, Task: p.Tasks[0].ID, Events: take, Reader: all}); err != nil {
		t.Fatal(err)
	}
	p, err = g.Commit(ctx, graph.CommitRequest{Step: p.ID, Events: take, Reader: all})
	d.at(p, err, graph.Done, "")
	const want = "checkpoints, tasks started, custom hello, tasks finished, checkpoints, updates, ended done"
	if got := strings.Join(seen, ", "); got != want {
		t.Errorf("the events are\n got: %s\nwant: %s", got, want)
	}
	_, err = g.Plan(ctx, graph.PlanRequest{Thread: "t1", Run: "run-2", Events: take, Reader: graph.Reader{Depth: -1}})
	is(t, err, graph.ErrReader)
}

// breaks is a store one of whose calls fails, before or after it is done.
type breaks struct {
	*checkpoint.Memory
	at    int64 // number of the call, from 1
	after bool
	calls atomic.Int64
}

func (b *breaks) call(do func() error) error {
	if b.calls.Add(1) != b.at {
		return do()
	}
	if b.after {
		_ = do()
	}
	return fmt.Errorf("%w: it is away", checkpoint.ErrUnavailable)
}

func (b *breaks) Commit(ctx context.Context, c checkpoint.Commit) error {
	return b.call(func() error { return b.Memory.Commit(ctx, c) })
}

func (b *breaks) Put(ctx context.Context, p checkpoint.Pending) error {
	return b.call(func() error { return b.Memory.Put(ctx, p) })
}

func (b *breaks) Acquire(ctx context.Context, r checkpoint.LeaseRequest) (l checkpoint.Lease, err error) {
	err = b.call(func() error { l, err = b.Memory.Acquire(ctx, r); return err })
	return l, err
}

func (b *breaks) Release(ctx context.Context, thread, fence string) error {
	return b.call(func() error { return b.Memory.Release(ctx, thread, fence) })
}

func (b *breaks) Load(ctx context.Context, k checkpoint.Key, seq uint64) (s checkpoint.Snapshot, err error) {
	err = b.call(func() error { s, err = b.Memory.Load(ctx, k, seq); return err })
	return s, err
}

// If the store is unavailable, a call fails. The repeated call continues: no work is lost or done
// twice.
//
// Requirement: driver: a call continues after a store outage
// Requirement: RunTask: a cancelled call does not end the task
func TestDriver_StoreAwayAtEachCall(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at := int64(1); ; at++ {
			store := &breaks{Memory: new(checkpoint.Memory), at: at, after: after}
			failed := 0
			retry := func(do func(graph.Untyped) error) {
				t.Helper()
				d := drives(t, graph.Config{Store: store}, breakable)
				for range 3 {
					err := do(d.open())
					if err == nil {
						return
					}
					if failed++; !errors.Is(err, checkpoint.ErrUnavailable) {
						t.Fatalf("call %d of the store fails (done: %v)\n got: %v\nwant: %v", at, after, err, checkpoint.ErrUnavailable)
					}
				}
				t.Fatal("the call did not succeed")
			}
			var p graph.Plan
			for run, done := 1, false; !done; run++ {
				q := graph.PlanRequest{Thread: "t1", Run: fmt.Sprint("run-", run)}
				if run == 1 {
					q.Input = noInput
				} else {
					q.Answers = graph.Reply(true)
				}
				retry(func(g graph.Untyped) (err error) { p, err = g.Plan(ctx, q); return err })
				for p.Status == graph.Pending {
					for _, task := range p.Due() {
						retry(func(g graph.Untyped) error {
							_, err := g.RunTask(ctx, graph.TaskRequest{Step: p.ID, Task: task.ID})
							return err
						})
					}
					id := p.ID
					retry(func(g graph.Untyped) (err error) { p, err = g.Commit(ctx, graph.CommitRequest{Step: id}); return err })
				}
				retry(func(g graph.Untyped) error { return g.Release(ctx, p.ID) })
				done = p.Status == graph.Done
			}
			d := drives(t, graph.Config{Store: store.Memory}, breakable)
			d.log("a b q=true end")
			if c := p.ID.Checkpoint; c != 4 {
				t.Errorf("call %d of the store fails (done: %v): the thread has %d commits, want 4", at, after, c)
			}
			if failed == 0 {
				if at < 20 {
					t.Errorf("the store was called %d times, want more", at)
				}
				break
			}
		}
	}
}

// breakable is a step of two tasks, a question and an end.
func breakable() *graph.Builder[world] {
	b := graph.New[world]("breakable")
	var ran counter
	b.Node("a", logs("a"))
	b.Node("b", logs("b"))
	b.Node("q", questions("q", &ran))
	b.Node("end", logs("end"))
	b.Edge(graph.Start, "a")
	b.Edge(graph.Start, "b")
	b.Join("q", "a", "b")
	b.Edge("q", "end")
	b.Edge("end", graph.End)
	return b
}

// If the store loses its newest commits between two calls, a new Plan continues from the commits
// that are left.
//
// Requirement: Commit after the store lost its newest commits
func TestCommit_StoreThatLostItsTail(t *testing.T) {
	cfg := stored()
	d := drives(t, cfg, inLine("a", "b", "c"))
	p, err := d.plan(run1)
	var lost graph.Plan
	older := new(checkpoint.Memory) // what the store is after the loss
	for _, node := range []string{"a", "b"} {
		d.at(p, err, graph.Pending, node)
		if _, err := d.run(p, p.Tasks[0].ID); err != nil {
			t.Fatal(err)
		}
		if node == "b" {
			if err := checkpoint.Copy(ctx, cfg.Store, "t1", older, "t1"); err != nil {
				t.Fatal(err)
			}
		}
		p, err = d.commit(p)
		lost = p
	}
	d = drives(t, graph.Config{Store: older}, inLine("a", "b", "c"))
	if _, err := older.Acquire(ctx, checkpoint.LeaseRequest{Thread: "t1", TTL: 1 << 40, ID: lost.ID.Fence}); err != nil {
		t.Fatal(err)
	}
	_, err = d.run(lost, lost.Tasks[0].ID)
	is(t, err, graph.ErrStale, "is 2, not 3")
	_, err = d.commit(lost)
	is(t, err, graph.ErrStale)
	p, err = d.plan(run1)
	d.at(p, err, graph.Pending, "b finished")
	p, err = d.drive(run1)
	d.at(p, err, graph.Done, "")
	d.log("a b c")
}
