package graph_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/graph"
)

// yields returns a function that counts its runs and returns its name.
func yields(ran *counter, name string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { ran.add(name); return name, nil }
}

// Requirement: graph.Call stores a result by name and order
func TestCalls_FinishedAreReplayed(t *testing.T) {
	var ran counter
	g := one(t, stored(), func(ctx context.Context, s *world) error {
		a, err1 := graph.Call(ctx, "x", yields(&ran, "a"))
		b, err2 := graph.Call(ctx, "x", yields(&ran, "b")) // the same name: the second of it
		c, err3 := graph.Call(ctx, "y", yields(&ran, "c"))
		if err := errors.Join(err1, err2, err3, failsFirst(&ran, "node", 1)); err != nil {
			return err
		}
		s.Log.Append(a, b, c)
		return nil
	})
	if _, err := g.Invoke(ctx, world{}, t1); err == nil {
		t.Fatal("the run did not fail")
	}
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "a b c")
	for _, name := range []string{"a", "b", "c"} {
		ran.want(t, name, 1)
	}
}

// Requirement: graph.Call stores a result by name and order
func TestCalls_ParallelHaveThePlaceOfTheirStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		g := one(t, stored(), func(ctx context.Context, s *world) error {
			var all []*graph.Future[int]
			for i := range 10 {
				all = append(all, graph.Go(ctx, "x", func(ctx context.Context) (int, error) {
					time.Sleep(time.Duration(10-i) * time.Second) // the last one made ends first
					ran.add("x")
					return i, nil
				}))
			}
			for i, f := range all {
				v, err := f.Wait(ctx)
				if v != i || err != nil {
					t.Errorf("call %d gives %d and %v", i, v, err)
				}
			}
			return failsFirst(&ran, "node", 1)
		})
		if _, err := g.Invoke(ctx, world{}, t1); err == nil {
			t.Fatal("the run did not fail")
		}
		resume(t, g, graph.Answers{}, graph.Done)
		ran.want(t, "x", 10)
	})
}

// Requirement: calls inside a node: questions, errors, bounds
func TestCalls_QuestionsHaveTheirOwnIDs(t *testing.T) {
	for _, order := range []string{"0 1 2", "2 1 0", "1 0 2"} {
		t.Run(order, func(t *testing.T) {
			var ran counter
			g := one(t, stored(), func(ctx context.Context, s *world) error {
				var all []*graph.Future[string]
				for i := range 3 {
					all = append(all, graph.Go(ctx, "ask", func(ctx context.Context) (string, error) {
						v, err := graph.Ask[string](ctx, graph.Question{Prompt: fmt.Sprint(i)})
						if err == nil {
							ran.add("done")
						}
						return v, err
					}))
				}
				done, err := graph.Call(ctx, "done", yields(&ran, "beside"))
				var errs error
				for _, f := range all {
					v, err := f.Wait(ctx)
					done, errs = done+v, errors.Join(errs, err)
				}
				if errs == nil {
					s.Log.Append(done)
				}
				return errors.Join(err, errs)
			})
			first := invoke(t, g, "t1", graph.Interrupted)
			asked(t, first, "0 1 2")
			words := strings.Fields(order)
			for i, w := range words {
				status := graph.Interrupted
				if i == len(words)-1 {
					status = graph.Done
				}
				res := resume(t, g, graph.Answer(idOf(t, first, w), "!"+w), status)
				if status == graph.Done {
					logged(t, res, "beside!0!1!2")
				}
			}
			ran.want(t, "beside", 1)
			ran.want(t, "done", 3)
		})
	}
}

func TestCalls_HaveRetriesAndLimitsOfTheirPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		g := one(t, stored(), func(ctx context.Context, s *world) error {
			v, err := graph.CallWith(ctx, "flaky", again(3), func(context.Context) (string, error) { return "ok", failsFirst(&ran, "flaky", 2) })
			s.Log.Append(v)
			_, slow := graph.CallWith(ctx, "slow", graph.Policy{Timeout: time.Second, Retry: graph.Retry{Attempts: 2, Initial: 1}}, func(ctx context.Context) (int, error) {
				ran.add("slow")
				<-ctx.Done()
				return 0, ctx.Err()
			})
			is(t, slow, graph.ErrTimeout, `call "slow"`, "1s")
			_, late := graph.CallWith(ctx, "late", graph.Policy{Timeout: time.Second}, func(ctx context.Context) (int, error) {
				time.Sleep(time.Hour)
				_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "too late"})
				if err == nil || errors.Is(err, graph.ErrInterrupted) {
					t.Errorf("a call that was given up asks and gets %v", err)
				}
				return 1, nil
			})
			is(t, late, graph.ErrTimeout, `call "late"`, "not stopped in time")
			_, bad := graph.CallWith(ctx, "bad", graph.Policy{Timeout: -1}, yields(&ran, "bad"))
			is(t, bad, graph.ErrPolicy, `call "bad"`)
			_, idle := graph.CallWith(ctx, "idle", graph.Policy{Idle: time.Second}, yields(&ran, "bad"))
			is(t, idle, graph.ErrPolicy, `call "idle"`)
			_, panics := graph.CallWith(ctx, "panics", again(5), func(context.Context) (int, error) { panic("oops") })
			if p := (*graph.PanicError)(nil); !errors.As(panics, &p) {
				t.Errorf("a call that panics gives %v", panics)
			}
			return err
		})
		logged(t, invoke(t, g, "t1", graph.Done), "ok")
		ran.want(t, "flaky", 3)
		ran.want(t, "slow", 2)
		ran.want(t, "bad", 0)
		time.Sleep(2 * time.Hour) // until the abandoned call has returned
	})
}

// Requirement: calls inside a node: questions, errors, bounds
func TestCall_WithoutAReaderStillCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		g := one(t, stored(), func(ctx context.Context, s *world) error {
			graph.Go(ctx, "late", func(context.Context) (int, error) {
				time.Sleep(time.Second)
				return ran.add("late"), nil
			})
			graph.Go(ctx, "fails", func(context.Context) (int, error) { return 0, failsFirst(&ran, "fails", 1) })
			return nil
		})
		_, err := g.Invoke(ctx, world{}, t1)
		if err == nil || !strings.Contains(err.Error(), `node "n"`) || !strings.Contains(err.Error(), `call "fails": boom`) {
			t.Errorf("got %v, want the failure of the call", err)
		}
		ran.want(t, "late", 1)
		resume(t, g, graph.Answers{}, graph.Done)
		ran.want(t, "late", 1)
	})
}

// Requirement: calls inside a node: questions, errors, bounds
func TestCalls_AreCancelledByAFailureOfTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		g := one(t, stored(), func(ctx context.Context, s *world) error {
			graph.Go(ctx, "slow", func(ctx context.Context) (int, error) {
				select {
				case <-ctx.Done():
					ran.add("cancelled")
					return 0, ctx.Err()
				case <-time.After(time.Hour):
					return ran.add("slow"), nil
				}
			})
			time.Sleep(time.Second)
			return failsFirst(&ran, "node", 1)
		})
		if _, err := g.Invoke(ctx, world{}, t1); err == nil || !strings.Contains(err.Error(), "boom") {
			t.Fatalf("got %v, want the node's failure", err)
		}
		ran.want(t, "cancelled", 1)
		ran.want(t, "slow", 0)
		resume(t, g, graph.Answers{}, graph.Done)
		ran.want(t, "slow", 1)
	})
}

func TestCall_EmitsTaskEvents(t *testing.T) {
	var ran counter
	g := one(t, stored(), func(ctx context.Context, s *world) error {
		_, err := graph.Call(ctx, "outer", func(ctx context.Context) (string, error) {
			return graph.CallWith(ctx, "inner", again(2), func(context.Context) (string, error) { return "v", failsFirst(&ran, "inner", 1) })
		})
		_, once := graph.Once(ctx, "key", yields(&ran, "once"))
		return errors.Join(err, once, failsFirst(&ran, "node", 1))
	}, again(2))
	var got []string
	ids, node := map[string]bool{}, ""
	for ev, err := range g.Stream(ctx, world{}, graph.RunOptions{Thread: "t1", Modes: graph.Tasks}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Mode == graph.Tasks {
			if node == "" {
				node = ev.Task
			}
			if within := map[bool]string{true: node}[ev.Label != ""]; ev.ParentTask != within {
				t.Errorf("%s%d %s is within %q, want %q", ev.Label, ev.Attempt, ev.Phase, ev.ParentTask, within)
			}
			got = append(got, fmt.Sprintf("%s%d %s", ev.Label, ev.Attempt, ev.Phase))
			ids[ev.Task] = true
		}
	}
	want := "1 started, outer1 started, inner1 started, inner1 retrying, inner2 started, inner2 finished, outer1 finished, key1 started, key1 finished, 1 retrying, 2 started, 2 finished"
	if strings.Join(got, ", ") != want {
		t.Errorf("events are\n%s\nwant\n%s", strings.Join(got, ", "), want)
	}
	if len(ids) != 4 {
		t.Errorf("the node and its three calls have %d ids, want one each", len(ids))
	}
}

func TestCalls_GoexitIsAnError(t *testing.T) {
	g := one(t, stored(), func(ctx context.Context, s *world) error {
		_, err := graph.Go(ctx, "exit", func(context.Context) (int, error) { runtime.Goexit(); return 0, nil }).Wait(ctx)
		return err
	})
	_, err := g.Invoke(ctx, world{}, t1)
	if err == nil || !strings.Contains(err.Error(), "Goexit") {
		t.Errorf("got %v, want an error that names Goexit", err)
	}
}

// meter counts the calls that work at once.
type meter struct{ now, peak atomic.Int64 }

func (g *meter) work() {
	n := g.now.Add(1)
	for p := g.peak.Load(); n > p && !g.peak.CompareAndSwap(p, n); p = g.peak.Load() {
	}
	time.Sleep(time.Second)
	g.now.Add(-1)
}

// Requirement: calls inside a node: questions, errors, bounds
func TestCalls_ShareOneBoundWithSubgraphsAndTasks(t *testing.T) {
	for _, limit := range []int{1, 2, 3, 10} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g meter
				call := func(context.Context) (int, error) { g.work(); return 1, nil }
				leaf := graph.New[world]("leaf")
				for i := range 4 {
					name := fmt.Sprint("l", i)
					leaf.Node(name, graph.Func(func(ctx context.Context, s *world) error {
						a, b := graph.Go(ctx, "a", call), graph.Go(ctx, "b", call)
						n, err1 := a.Wait(ctx)
						m, err2 := b.Wait(ctx)
						g.work()
						s.Count.Add(n + m)
						return errors.Join(err1, err2)
					}))
					leaf.Edge(graph.Start, name)
					leaf.Edge(name, graph.End)
				}
				child := build(t, leaf, graph.Config{})
				nodes := map[string]graph.Node[world]{}
				for i := range 3 {
					nodes[fmt.Sprint("n", i)] = graph.Func(func(ctx context.Context, s *world) error {
						f := child.Go(ctx, world{})
						end, err1 := child.Call(ctx, world{})
						other, err2 := f.Wait(ctx)
						s.Count.Add(end.Count.Get() + other.Count.Get())
						return errors.Join(err1, err2)
					})
				}
				top := build(t, parallel(nodes), graph.Config{Concurrency: limit})
				if res := invoke(t, top, "", graph.Done); res.State.Count.Get() != 48 {
					t.Errorf("%d calls were made, want 48", res.State.Count.Get())
				}
				if p := g.peak.Load(); p != int64(limit) {
					t.Errorf("at most %d were at work at once, want just %d", p, limit)
				}
			})
		})
	}
}

// Requirement: calls inside a node: questions, errors, bounds
func TestCalls_FromPlainGoroutinesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g meter
		top := one(t, graph.Config{Concurrency: 2}, func(ctx context.Context, s *world) error {
			done := make(chan error)
			for i := range 6 {
				go func() {
					_, err := graph.Call(ctx, fmt.Sprint(i), func(context.Context) (int, error) { g.work(); return 0, nil })
					done <- err
				}()
			}
			var errs error
			for range 6 {
				errs = errors.Join(errs, <-done)
			}
			return errs
		})
		invoke(t, top, "", graph.Done)
		if p := g.peak.Load(); p != 2 {
			t.Errorf("at most %d were at work at once, want 2", p)
		}
	})
}

func TestAbandonedNode_ReleasesItsPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		nodes := map[string]graph.Node[world]{}
		for i := range 4 {
			nodes[fmt.Sprint("n", i)] = graph.Func(func(ctx context.Context, s *world) error {
				f := graph.Go(ctx, "x", func(context.Context) (int, error) { return ran.add("x"), nil })
				if ran.add("node") <= 4 {
					time.Sleep(time.Minute) // and the context does not matter to it
				}
				_, err := f.Wait(ctx)
				return err
			})
		}
		b := graph.New[world]("places")
		for name, n := range nodes {
			b.Node(name, n.With(graph.Policy{Timeout: time.Second, Retry: graph.Retry{Attempts: 9, Initial: 1}}))
			b.Edge(graph.Start, name)
			b.Edge(name, graph.End)
		}
		invoke(t, build(t, b, graph.Config{Concurrency: 2}), "", graph.Done)
		time.Sleep(time.Hour)
	})
}
