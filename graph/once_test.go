package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// one is a graph of a single node.
func one(t testing.TB, cfg graph.Config, fn func(ctx context.Context, s *world) error, p ...graph.Policy) *graph.Graph[world] {
	t.Helper()
	b := graph.New[world]("one")
	node := graph.Func(fn)
	for _, policy := range p {
		node = node.With(policy)
	}
	b.Node("n", node)
	b.Edge(graph.Start, "n")
	b.Edge("n", graph.End)
	return build(t, b, cfg)
}

// again is a Policy that tries so often, at once.
func again(attempts int) graph.Policy {
	return graph.Policy{Retry: graph.Retry{Attempts: attempts, Initial: 1}}
}

// failsFirst returns an error the first n times.
func failsFirst(ran *counter, name string, n int) error {
	if ran.add(name) <= n {
		return errors.New("boom")
	}
	return nil
}

// Requirement: graph.Once stores a side effect by its key
func TestOnce_IsNotRepeatedByRetriesAndResumes(t *testing.T) {
	for name, cfg := range map[string]graph.Config{"stored": stored(), "not stored": {}} {
		t.Run(name, func(t *testing.T) {
			var ran counter
			g := one(t, cfg, func(ctx context.Context, s *world) error {
				paid, err := graph.Once(ctx, "pay", func(context.Context) (int, error) { return ran.add("pay"), nil })
				s.Count.Add(paid)
				return errors.Join(err, failsFirst(&ran, "node", 3))
			}, again(2))
			thread := ""
			if cfg.Store != nil {
				thread = "t1"
			}
			if _, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: thread}); err == nil {
				t.Fatal("the run did not fail")
			}
			ran.want(t, "pay", 1)
			if cfg.Store == nil {
				return
			}
			if res := resume(t, g, graph.Answers{}, graph.Done); res.State.Count.Get() != 1 {
				t.Errorf("the count is %d, want the result of the first attempt", res.State.Count.Get())
			}
			ran.want(t, "pay", 1)
			ran.want(t, "node", 4)
		})
	}
}

func replays[T any](t *testing.T, name string, v T) {
	t.Run(name, func(t *testing.T) {
		var ran counter
		var got []string
		g := one(t, stored(), func(ctx context.Context, s *world) error {
			v, err := graph.Once(ctx, "k", func(context.Context) (T, error) { ran.add("fn"); return v, nil })
			got = append(got, fmt.Sprintf("%#v", v))
			return errors.Join(err, failsFirst(&ran, "node", 1))
		})
		if _, err := g.Invoke(ctx, world{}, t1); err == nil {
			t.Fatal("the run did not fail")
		}
		resume(t, g, graph.Answers{}, graph.Done)
		ran.want(t, "fn", 1)
		if len(got) != 2 || got[0] != got[1] {
			t.Errorf("Once returns %v; a replay must return what the first call did", got)
		}
	})
}

func TestOnce_KeepsEveryValue(t *testing.T) {
	replays(t, "false", false)
	replays(t, "zero", 0)
	replays(t, "empty", "")
	replays(t, "nil pointer", (*int)(nil))
	replays(t, "nil any", any(nil))
	replays(t, "nil slice", []string(nil))
	replays(t, "number in any", any(3))
	replays(t, "struct in any", any(struct{ A int }{1}))
	replays(t, "struct", struct{ A, b int }{1, 2})
	replays(t, "nothing", struct{}{})
}

// Requirement: calls inside a node: questions, errors, bounds
func TestOnce_DoesNotStoreErrors(t *testing.T) {
	var ran counter
	g := one(t, stored(), func(ctx context.Context, s *world) error {
		v, err := graph.Once(ctx, "k", func(context.Context) (string, error) { return "v", failsFirst(&ran, "fn", 2) })
		s.Log.Append(v)
		return err
	}, again(2))
	_, err := g.Invoke(ctx, world{}, t1)
	if err == nil || !strings.Contains(err.Error(), `once "k": boom`) {
		t.Fatalf("got %v, want the error of fn, with its key", err)
	}
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "v")
	ran.want(t, "fn", 3)
}

func TestOnce_OneKeyIsOneResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		g := one(t, stored(), func(ctx context.Context, s *world) error {
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					v, err := graph.Once(ctx, "k", func(context.Context) (int, error) {
						time.Sleep(time.Second)
						return ran.add("fn"), nil
					})
					if v != 1 || err != nil {
						t.Errorf("Once gives %v and %v, want the one result", v, err)
					}
				})
			}
			all.Wait()
			other, err := graph.Once(ctx, "other", func(context.Context) (int, error) { return ran.add("other"), nil })
			s.Count.Add(other)
			return err
		})
		invoke(t, g, "t1", graph.Done)
		ran.want(t, "fn", 1)
		ran.want(t, "other", 1)
	})
}

func TestOnce_OutsideARunCallsTheFunction(t *testing.T) {
	v, err := graph.Once(ctx, "k", func(context.Context) (int, error) { return 3, nil })
	if v != 3 || err != nil {
		t.Errorf("got %v and %v", v, err)
	}
	if id := graph.ExecutionID(ctx); id != "" {
		t.Errorf("the id is %q outside a run, want none", id)
	}
}

// Requirement: calls inside a node: questions, errors, bounds
func TestOnce_ResultThatCannotBeStoredFailsTheStep(t *testing.T) {
	var ran counter
	g := one(t, stored(), func(ctx context.Context, s *world) error {
		_, _ = graph.Once(ctx, "k", func(context.Context) (float64, error) {
			ran.add("fn")
			return math.NaN(), nil
		})
		return nil // the node goes on as if nothing had happened
	}, again(3))
	_, err := g.Invoke(ctx, world{}, t1)
	if err == nil || !strings.Contains(err.Error(), `the result of "k", a float64, cannot be stored`) {
		t.Errorf("got %v, want an error that names the key and the type", err)
	}
	ran.want(t, "fn", 1)
}

func TestOnce_StoreThatFailsOnceDoesNotRepeatTheEffect(t *testing.T) {
	var ran counter
	store := &faultStore{Store: new(checkpoint.Memory), at: 2}
	g := one(t, graph.Config{Store: store}, func(ctx context.Context, s *world) error {
		v, _ := graph.Once(ctx, "k", func(context.Context) (int, error) { return ran.add("fn"), nil })
		s.Count.Add(v)
		ran.add("node")
		return nil
	}, again(2))
	if res := invoke(t, g, "t1", graph.Done); res.State.Count.Get() != 1 {
		t.Errorf("the count is %d, want the result of the first attempt", res.State.Count.Get())
	}
	ran.want(t, "fn", 1)
	ran.want(t, "node", 2)
}

func TestOnce_AbandonedAttemptKeepsItsResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		g := one(t, stored(), func(ctx context.Context, s *world) error {
			_, err := graph.Once(ctx, "k", func(context.Context) (int, error) {
				time.Sleep(5 * time.Second) // and does not look at its context
				return ran.add("fn"), nil
			})
			return err
		}, graph.Policy{Timeout: 3 * time.Second, Retry: graph.Retry{Attempts: 2, Initial: 1}})
		invoke(t, g, "t1", graph.Done)
		ran.want(t, "fn", 1)
	})
}

func TestOnce_TasksHaveTheirOwn(t *testing.T) {
	var ran counter
	var mu sync.Mutex
	ids := map[string]bool{}
	keeps := graph.Func(func(ctx context.Context, s *world) error {
		_, err := graph.Once(ctx, "k", func(ctx context.Context) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			ids[graph.ExecutionID(ctx)] = true
			return ran.add("fn"), nil
		})
		if graph.ExecutionID(ctx) != graph.TaskID(ctx) {
			t.Error("the id of a node's own code is not its task's")
		}
		return err
	})
	g := build(t, parallel(map[string]graph.Node[world]{"a": keeps, "b": keeps}), stored())
	for range 2 {
		invoke(t, g, "t1", graph.Done)
	}
	ran.want(t, "fn", 4)
	if len(ids) != 4 {
		t.Errorf("%d results have %d ids; each must have one of its own", 4, len(ids))
	}
}

func TestOnce_QuestionInside(t *testing.T) {
	var ran counter
	g := one(t, stored(), func(ctx context.Context, s *world) error {
		v, err := graph.Once(ctx, "k", func(ctx context.Context) (string, error) {
			ran.add("fn")
			return graph.Ask[string](ctx, graph.Question{Prompt: "q"})
		})
		if err == nil {
			again, err := graph.Ask[string](ctx, graph.Question{Prompt: "r"})
			s.Log.Append(v, again)
			return err
		}
		return err
	})
	asked(t, invoke(t, g, "t1", graph.Interrupted), "q")
	asked(t, resume(t, g, graph.Reply("a"), graph.Interrupted), "r")
	logged(t, resume(t, g, graph.Reply("b"), graph.Done), "a b")
	ran.want(t, "fn", 2)
}

func TestOnce_ResultsEndWithTheirStep(t *testing.T) {
	cfg := stored()
	var left []context.Context
	g := one(t, cfg, func(ctx context.Context, s *world) error {
		left = append(left, ctx)
		_, err := graph.Once(ctx, "k", func(context.Context) (int, error) { return 1, nil })
		return err
	})
	invoke(t, g, "t1", graph.Done)
	_, err := graph.Once(left[0], "late", func(context.Context) (int, error) { return 1, nil })
	is(t, err, graph.ErrNoTask)
	snap, err := cfg.Store.Load(ctx, checkpoint.Key{Thread: "t1"}, 0)
	if err != nil || slices.ContainsFunc(snap.Pending, func(e checkpoint.Entry) bool { return strings.HasPrefix(e.Slot, storedMemo) }) {
		t.Errorf("pending are %v (%v), want no memoized result", snap.Pending, err)
	}
}

// The attempt that was given up stores its result at the moment at which the step ends. With Exit
// that stores the state too, which must not change meanwhile.
func TestOnce_GivenUpAttemptAtTheEndOfTheStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts atomic.Int32
		late := make(chan error, 1)
		b := graph.New[world]("late")
		b.Node("a", graph.Func(func(ctx context.Context, s *world) error {
			if attempts.Add(1) == 1 {
				time.Sleep(2500 * time.Millisecond) // the second attempt ends then
				_, err := graph.Once(ctx, "paid", func(context.Context) (bool, error) { return true, nil })
				late <- err
				return err
			}
			time.Sleep(500 * time.Millisecond)
			s.Log.Append("a")
			return nil
		}).With(graph.Policy{Timeout: time.Second, Retry: graph.Retry{Attempts: 2, Initial: graph.NoWait}}))
		b.Node("b", logs("b"))
		through(b, "a", "b")
		store := new(checkpoint.Memory)
		g := build(t, b, graph.Config{Store: store, Grace: time.Second})
		res, err := g.Invoke(t.Context(), world{}, graph.RunOptions{Thread: "t", Durability: graph.Exit})
		if err != nil || attempts.Load() != 2 || fmt.Sprint(res.State.Log.Slice()) != "[a b]" {
			t.Errorf("got %v after %d attempts, %v; want [a b] after 2", res.State.Log.Slice(), attempts.Load(), err)
		}
		<-late // it was stored in time or refused
	})
}
