package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// rpcError is the error of a client that was cancelled. It wraps no other error.
type rpcError struct{ code string }

func (e *rpcError) Error() string { return "rpc error: code = " + e.code }

// untilCancelled waits for the end of ctx and returns an rpcError.
func untilCancelled(ctx context.Context) error {
	<-ctx.Done()
	return &rpcError{"Canceled"}
}

// bystanders are nodes that do not fail by themselves, each with its Policy. late counts the
// actions that must not happen after the step was cancelled.
func bystanders(t *testing.T, late *counter) map[string]struct {
	node    graph.Node[world]
	policy  graph.Policy
	handler bool
} {
	waits := graph.Func(func(ctx context.Context, _ *world) error { return untilCancelled(ctx) })
	once := graph.Func(func(context.Context, *world) error { return errBusy })
	b := graph.New[world]("child")
	b.Node("inside", waits)
	b.Node("other", waits)
	for _, n := range []string{"inside", "other"} {
		b.Edge(graph.Start, n)
		b.Edge(n, graph.End)
	}
	child := build(t, b, graph.Config{})
	type bystander = struct {
		node    graph.Node[world]
		policy  graph.Policy
		handler bool
	}
	three := graph.Retry{Attempts: 3, Initial: time.Hour, Max: time.Hour}
	return map[string]bystander{
		"own error":       {node: waits},
		"context's error": {node: graph.Func(func(ctx context.Context, _ *world) error { <-ctx.Done(); return ctx.Err() })},
		"panic":           {node: graph.Func(func(ctx context.Context, _ *world) error { panic(untilCancelled(ctx)) })},
		"retries left": {node: waits, policy: graph.Policy{Retry: graph.Retry{Attempts: 3, If: func(error) bool {
			late.add("decision of a retry")
			return true
		}}}},
		"waits for its next attempt": {node: once, policy: graph.Policy{Retry: three}},
		"own time":                   {node: waits, policy: graph.Policy{Timeout: time.Hour}},
		"fallback left": {node: graph.Fallback(waits, graph.Func(func(context.Context, *world) error {
			late.add("second alternative")
			return nil
		}))},
		"handler left": {node: waits, handler: true},
		"call": {node: graph.Func(func(ctx context.Context, _ *world) error {
			_, err := graph.Call(ctx, "rpc", func(ctx context.Context) (int, error) { return 0, untilCancelled(ctx) })
			return err
		})},
		"call without a reader": {node: graph.Func(func(ctx context.Context, _ *world) error {
			graph.Go(ctx, "rpc", func(ctx context.Context) (int, error) { return 0, untilCancelled(ctx) })
			return nil
		})},
		"subgraph": {node: graph.Subgraph(child, func(*world) (world, error) { return world{}, nil },
			func(*world, *world) error { return nil })},
		"call of a graph": {node: graph.Func(func(ctx context.Context, _ *world) error {
			_, err := child.Call(ctx, world{})
			return err
		})},
	}
}

// Requirement: Panics and cancelling
func TestFailedStep_BystandersAreNotTheCause(t *testing.T) {
	var late counter
	for name, by := range bystanders(t, &late) {
		for kind, cfg := range map[string]graph.Config{"no store": {}, "store": stored()} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := graph.New[world]("step")
					b.Node("a", by.node.With(by.policy)) // canonically the first
					if by.handler {
						b.OnError("a", graph.Handler(func(context.Context, *world, *graph.NodeError) (graph.Command, error) {
							late.add("handler")
							return graph.Command{}, nil
						}))
					}
					b.Node("z", graph.Func(func(context.Context, *world) error { time.Sleep(time.Second); return errBoom }))
					for _, n := range []string{"a", "z"} {
						b.Edge(graph.Start, n)
						b.Edge(n, graph.End)
					}
					run := graph.RunOptions{Modes: graph.Tasks}
					if cfg.Store != nil {
						run.Thread = "t1"
					}
					var event *graph.NodeError
					var err error
					for ev, e := range build(t, b, cfg).Stream(t.Context(), world{}, run) {
						if err = e; ev.Phase == graph.Failing && ev.Node == "a" && ev.ParentTask == "" && ev.Namespace == "" {
							errors.As(ev.Err, &event)
						}
					}
					var failed *graph.NodeError
					if is(t, err, errBoom); !errors.As(err, &failed) || failed.Node != "z" || failed.Cancelled {
						t.Errorf("got %v, want the failure of node z", err)
					}
					if event == nil || !event.Cancelled || event.Kind() != graph.KindCancelled || !errors.Is(event, errBoom) {
						t.Errorf("the event has the error %+v; want a cancelled task with the cause %v", event, errBoom)
					}
					if cfg.Store == nil {
						return
					}
					p, err := graph.Inspect(t.Context(), cfg.Store, checkpoint.Key{Thread: "t1"})
					if err != nil || p.Status != graph.Failed || len(p.Failures) != 2 {
						t.Fatalf("the thread is reported as %+v, %v", p, err)
					}
					a, z := p.Failures[0], p.Failures[1]
					if !a.Cancelled || a.Kind != graph.KindCancelled || !strings.Contains(a.Message, "graph: stopped because another task failed: ") {
						t.Errorf("node a is reported as %+v, want cancelled", a)
					}
					if z.Cancelled || z.Message != "boom" {
						t.Errorf("node z is reported as %+v, want its failure", z)
					}
				})
			})
		}
	}
	for _, what := range []string{"decision of a retry", "second alternative", "handler"} {
		late.want(t, what, 0)
	}
}

// Inside a subgraph, the error of the child names the cause and the parent's error wraps it.
//
// Requirement: Panics and cancelling
func TestFailedStep_InSubgraphNamesCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := graph.New[world]("child")
		c.Node("a", graph.Func(func(ctx context.Context, _ *world) error { return untilCancelled(ctx) }))
		c.Node("z", graph.Func(func(context.Context, *world) error { time.Sleep(time.Second); return errBoom }))
		for _, n := range []string{"a", "z"} {
			c.Edge(graph.Start, n)
			c.Edge(n, graph.End)
		}
		child := build(t, c, graph.Config{})
		b := graph.New[world]("parent")
		b.Node("sub", graph.Inline(child))
		b.Edge(graph.Start, "sub")
		b.Edge("sub", graph.End)
		_, err := build(t, b, graph.Config{}).Invoke(t.Context(), world{}, graph.RunOptions{})
		if is(t, err, errBoom, `node "sub"`, `node "z"`); strings.Contains(err.Error(), "rpc error") {
			t.Errorf("got %v, want the cause alone", err)
		}
	})
}

// Two nodes that fail before the step is cancelled have both failed. The error of the run is that
// of the first in canonical order, whichever was faster.
//
// Requirement: Panics and cancelling
func TestFailedStep_TwoFailuresBeforeCancel(t *testing.T) {
	for range 50 {
		cfg := stored()
		var met sync.WaitGroup
		met.Add(2)
		fails := func(name string) (graph.Node[world], graph.Policy) {
			decides := func(error) bool { // when the node has returned, and before anything is cancelled
				met.Done()
				met.Wait()
				return false
			}
			return graph.Func(func(context.Context, *world) error { return &rpcError{name} }), graph.Policy{Retry: graph.Retry{Attempts: 2, If: decides}}
		}
		b := graph.New[world]("two")
		for _, n := range []string{"a", "z"} {
			node, policy := fails(n)
			b.Node(n, node.With(policy))
			b.Edge(graph.Start, n)
			b.Edge(n, graph.End)
		}
		_, err := build(t, b, cfg).Invoke(t.Context(), world{}, t1)
		var failed *graph.NodeError
		if !errors.As(err, &failed) || failed.Node != "a" || failed.Cancelled {
			t.Errorf("got %v, want the failure of node a", err)
		}
		p, err := graph.Inspect(t.Context(), cfg.Store, checkpoint.Key{Thread: "t1"})
		if err != nil || len(p.Failures) != 2 || p.Failures[0].Cancelled || p.Failures[1].Cancelled {
			t.Errorf("got %+v, %v; want two failures, none cancelled", p.Failures, err)
		}
	}
}

// The error of a run that its caller cancels names the caller's cause, whatever error its node
// returns.
//
// Requirement: Panics and cancelling
func TestCancelledRun_NodesOwnErrorIsAConsequence(t *testing.T) {
	for name, wrap := range map[string]func(graph.Node[world]) graph.Node[world]{
		"node": func(n graph.Node[world]) graph.Node[world] { return n },
		"subgraph": func(n graph.Node[world]) graph.Node[world] {
			b := graph.New[world]("child")
			b.Node("inside", n)
			b.Edge(graph.Start, "inside")
			b.Edge("inside", graph.End)
			return graph.Inline(build(t, b, graph.Config{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := stored()
			runs := make(chan struct{})
			n := graph.Func(func(ctx context.Context, _ *world) error { close(runs); return untilCancelled(ctx) })
			c, cancel := context.WithCancelCause(t.Context())
			go func() { <-runs; cancel(errLeave) }()
			_, err := single(t, wrap(n), graph.Policy{}, cfg).Invoke(c, world{}, t1)
			var failed *graph.NodeError
			if is(t, err, errLeave); !errors.As(err, &failed) || !failed.Cancelled || !strings.Contains(err.Error(), "the caller leaves: ") {
				t.Errorf("got %v, want the cause and that node a was cancelled", err)
			}
			p, err := graph.Inspect(t.Context(), cfg.Store, checkpoint.Key{Thread: "t1"})
			if err != nil || p.Status != graph.Pending {
				t.Errorf("the thread is %q, %v; want pending", p.Status, err)
			}
		})
	}
}

// If the store fails to store the result of a task, the store's error is the cause, and no
// cancelled node is.
func TestFailedStore_NamesNoBystander(t *testing.T) {
	f := &faultStore{Store: new(checkpoint.Memory), at: 2} // the input is stored, the result of a is not
	b := parallel(map[string]graph.Node[world]{
		"a": logs("a"),
		"b": graph.Func(func(ctx context.Context, _ *world) error { return untilCancelled(ctx) }),
	})
	_, err := build(t, b, graph.Config{Store: f}).Invoke(t.Context(), world{}, t1)
	var failed *graph.NodeError
	if is(t, err, errFault); errors.As(err, &failed) {
		t.Errorf("got %v, want the failure of the store and no node's", err)
	}
}

// asleep is a node that does not stop before release is closed.
func asleep(release <-chan struct{}) graph.Node[world] {
	return graph.Func(func(context.Context, *world) error { <-release; return nil })
}

// Requirement: policy: waiting and giving up
func TestAbandonedRun_NamesTheNodes(t *testing.T) {
	quick := graph.Func(func(ctx context.Context, _ *world) error { <-ctx.Done(); return ctx.Err() })
	for name, tt := range map[string]struct {
		build func(release chan struct{}) *graph.Builder[world]
		want  []string
		not   []string
	}{
		"one of three": {func(release chan struct{}) *graph.Builder[world] {
			return parallel(map[string]graph.Node[world]{"a": quick, "b": asleep(release), "c": quick})
		}, []string{`graph "parallel": node "b": step 1`}, []string{`node "a"`, `node "c"`}},
		"two of three": {func(release chan struct{}) *graph.Builder[world] {
			return parallel(map[string]graph.Node[world]{"a": asleep(release), "b": quick, "c": asleep(release)})
		}, []string{`node "a"`, `node "c"`}, []string{`node "b"`}},
		"the only one": {func(release chan struct{}) *graph.Builder[world] {
			return parallel(map[string]graph.Node[world]{"a": asleep(release)})
		}, []string{`node "a"`}, nil},
		"a node whose call does not stop": {func(release chan struct{}) *graph.Builder[world] {
			return parallel(map[string]graph.Node[world]{"a": quick, "b": graph.Func(func(ctx context.Context, _ *world) error {
				_, err := graph.Call(ctx, "call", func(context.Context) (int, error) { <-release; return 0, nil })
				return err
			})})
		}, []string{`node "b"`}, []string{`node "a"`}},
		"in a subgraph": {func(release chan struct{}) *graph.Builder[world] {
			child := build(t, parallel(map[string]graph.Node[world]{"a": asleep(release), "b": quick}), graph.Config{})
			return parallel(map[string]graph.Node[world]{"sub": graph.Inline(child), "x": quick})
		}, []string{`node "sub"`, `node "a"`}, []string{`node "b"`, `node "x"`}},
		"the only one in a subgraph": {func(release chan struct{}) *graph.Builder[world] {
			child := build(t, parallel(map[string]graph.Node[world]{"a": asleep(release)}), graph.Config{})
			return parallel(map[string]graph.Node[world]{"sub": graph.Inline(child)})
		}, []string{`node "sub"`, `node "a"`}, nil},
	} {
		for kind, store := range map[string]checkpoint.Store{"no store": nil, "store": new(checkpoint.Memory)} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					release := make(chan struct{})
					run := graph.RunOptions{}
					if store != nil {
						run = t1
					}
					began := time.Now()
					_, err := build(t, tt.build(release), graph.Config{Timeout: time.Minute, Store: store}).Invoke(t.Context(), world{}, run)
					is(t, err, graph.ErrAbandoned, tt.want...)
					is(t, err, graph.ErrTimeout)
					for _, n := range tt.not {
						if strings.Contains(err.Error(), n) {
							t.Errorf("got %v, which names %s", err, n)
						}
					}
					var at *graph.NodeError
					if !errors.As(err, &at) || at.Task == "" || at.Step != 1 || at.Thread != run.Thread {
						t.Errorf("got %#v, want the place of the node", at)
					}
					if took := time.Since(began); took < time.Minute+time.Second || took > time.Minute+5*time.Second/4 {
						t.Errorf("it was given up after %v, want Timeout and Grace", took)
					}
					close(release)
					synctest.Wait()
				})
			})
		}
	}
}

// Requirement: policy: waiting and giving up
func TestAbandonedRun_CauseComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		_, err := build(t, parallel(map[string]graph.Node[world]{
			"asleep": asleep(release),
			"fails":  graph.Func(func(context.Context, *world) error { time.Sleep(time.Second); return errBoom }),
		}), graph.Config{Grace: time.Second}).Invoke(t.Context(), world{}, graph.RunOptions{})
		is(t, err, graph.ErrAbandoned, `node "asleep"`)
		var first *graph.NodeError
		if is(t, err, errBoom); !errors.As(err, &first) || first.Node != "fails" || first.Cancelled {
			t.Errorf("got %v, want the failure of node fails first", err)
		}
		close(release)
		synctest.Wait()
	})
}

// slowError is an error whose text takes a while, as on a busy machine.
type slowError struct{}

func (slowError) Error() string { time.Sleep(600 * time.Millisecond); return "slow" }

// A run whose nodes have all returned is not abandoned, even if it ends later than its Grace.
//
// Requirement: policy: waiting and giving up
func TestSlowRun_PanicIsNotANodeThatDidNotStop(t *testing.T) {
	panics := graph.Func(func(context.Context, *world) error { panic(slowError{}) })
	beside := map[string]graph.Node[world]{"a": panics, "b": logs("b")}
	for name, b := range map[string]*graph.Builder[world]{
		"one node":  parallel(map[string]graph.Node[world]{"a": panics}),
		"two nodes": parallel(beside),
		"subgraph": parallel(map[string]graph.Node[world]{
			"sub": graph.Inline(build(t, parallel(beside), graph.Config{}))}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := stored()
				cfg.Grace = time.Second
				_, err := build(t, b, cfg).Invoke(t.Context(), world{}, t1)
				var failed *graph.NodeError
				var panicked *graph.PanicError
				if !errors.As(err, &panicked) || errors.Is(err, graph.ErrAbandoned) || !errors.As(err, &failed) {
					t.Errorf("got %v, want the panic of node a", err)
				}
				synctest.Wait()
			})
		})
	}
}

// nilError is an error whose method panics on a nil pointer.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// badError is an error one of whose methods panics.
type badError struct{ method string }

func (e badError) call(method string) {
	if e.method == method {
		panic(method + " panics")
	}
}

func (e badError) Error() string             { e.call("Error"); return "bad" }
func (e badError) Is(error) bool             { e.call("Is"); return false }
func (e badError) As(any) bool               { e.call("As"); return false }
func (e badError) Unwrap() error             { e.call("Unwrap"); return nil }
func (e badError) Code() string              { e.call("Code"); return "" }
func (e badError) ErrorName() string         { e.call("ErrorName"); return "" }
func (e badError) RetryAfter() time.Duration { e.call("RetryAfter"); return 0 }

// Requirement: Panics and cancelling
func TestError_WhoseMethodPanics(t *testing.T) {
	errs := map[string]error{"nil pointer": (*nilError)(nil)}
	for _, method := range []string{"Error", "Is", "As", "Unwrap", "Code", "ErrorName", "RetryAfter"} {
		errs[method] = badError{method}
		errs[method+", wrapped"] = fmt.Errorf("outer: %w", badError{method})
		errs[method+", joined"] = errors.Join(errBusy, badError{method})
		errs[method+", of a panic"] = errPanic{badError{method}}
	}
	for name, bad := range errs {
		fails := graph.Func(func(context.Context, *world) error {
			if p, ok := bad.(errPanic); ok {
				panic(p.error)
			}
			return bad
		})
		for shape, nodes := range map[string]map[string]graph.Node[world]{
			"alone":    {"a": fails},
			"parallel": {"a": fails, "b": graph.Func(func(ctx context.Context, _ *world) error { <-ctx.Done(); return ctx.Err() })},
			"fallback": {"a": graph.Fallback(fails, fails)},
			"subgraph": {"a": graph.Inline(build(t, parallel(map[string]graph.Node[world]{"a": fails}), graph.Config{}))},
		} {
			for kind, cfg := range map[string]graph.Config{"no store": {}, "store": stored()} {
				t.Run(shape+"/"+name+"/"+kind, func(t *testing.T) {
					run := graph.RunOptions{Modes: graph.Tasks}
					if cfg.Store != nil {
						run.Thread = "t1"
					}
					b := parallel(nodes)
					b.Defaults(graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: 1}})
					g := build(t, b, cfg)
					var err error
					for ev, e := range g.Stream(t.Context(), world{}, run) {
						if err = e; e == nil {
							_, _ = ev.MarshalJSON()
						}
					}
					var failed *graph.NodeError
					if !errors.As(err, &failed) || failed.Node != "a" || failed.Cancelled || !strings.Contains(err.Error(), `node "a"`) {
						t.Fatalf("got %v, want the failure of node a", err)
					}
					_, _, _ = failed.Kind(), failed.Code(), failed.ErrorName()
					if cfg.Store == nil {
						return
					}
					p, err := graph.Inspect(t.Context(), cfg.Store, checkpoint.Key{Thread: "t1"})
					if err != nil || p.Status != graph.Failed || p.Failures[0].Node != "a" || p.Failures[0].Message == "" {
						t.Errorf("the thread is reported as %q with %+v, %v", p.Status, p.Failures, err)
					}
				})
			}
		}
	}
}

// errPanic wraps an error that the node panics with.
type errPanic struct{ error }

func TestError_WhoseErrorMethodPanics(t *testing.T) {
	cfg := stored()
	n := graph.Func(func(context.Context, *world) error { return (*nilError)(nil) })
	_, err := single(t, n, graph.Policy{}, cfg).Invoke(t.Context(), world{}, t1)
	const want = "an error of type *graph_test.nilError, whose Error method panics: runtime error: invalid memory address or nil pointer dereference"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	p, err := graph.Inspect(t.Context(), cfg.Store, checkpoint.Key{Thread: "t1"})
	if err != nil || len(p.Failures) != 1 || p.Failures[0].Message != want {
		t.Errorf("got %+v, %v; want %q", p.Failures, err, want)
	}
}

// A result whose MarshalJSON panics fails its own task and no other.
func TestResult_WhoseJSONPanicsNamesItsNode(t *testing.T) {
	type furious struct {
		A state.Value[angry] `json:"a"`
	}
	synctest.Test(t, func(t *testing.T) {
		b := graph.New[furious]("furious")
		b.Node("a", graph.Func(func(_ context.Context, s *furious) error { s.A.Set(angry{}); return nil }))
		b.Node("b", graph.Func(func(context.Context, *furious) error { time.Sleep(time.Second); return errBusy }))
		for _, n := range []string{"a", "b"} {
			b.Edge(graph.Start, n)
			b.Edge(n, graph.End)
		}
		_, err := build(t, b, stored()).Invoke(t.Context(), furious{}, t1)
		var failed *graph.NodeError
		var panicked *graph.PanicError
		if is(t, err, errBoom); !errors.As(err, &panicked) || !errors.As(err, &failed) || failed.Node != "a" {
			t.Errorf("got %v, want the failure of node a", err)
		}
	})
}
