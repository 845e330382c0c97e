package graph_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/graph"
)

// beats calls sign every second, n times, and then falls silent.
func beats(n int, sign func(ctx context.Context)) graph.Node[world] {
	return graph.Func(func(ctx context.Context, s *world) error {
		s.Log.Append("a")
		for range n {
			select {
			case <-time.After(time.Second):
				sign(ctx)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		<-ctx.Done()
		return ctx.Err()
	})
}

// timedOut fails the test unless err is a timeout of node a.
func timedOut(t *testing.T, err error, kind graph.TimeoutKind, limit, elapsed time.Duration) {
	t.Helper()
	var late *graph.TimeoutError
	if is(t, err, graph.ErrTimeout); !errors.As(err, &late) || late.Node != "a" || late.Kind != kind || late.Limit != limit || late.Elapsed != elapsed {
		t.Errorf("got %+v, want a timeout of node a, kind %s, limit %v, after %v", late, kind, limit, elapsed)
	}
}

// Requirement: policy: timeout
func TestIdle_NodeWithoutAHeartbeat(t *testing.T) {
	signs := map[string]func(ctx context.Context){
		"a heartbeat":              graph.Heartbeat,
		"an event":                 func(ctx context.Context) { _ = graph.Emit(ctx, 1) },
		"a heartbeat of its child": func(ctx context.Context) { c, cancel := context.WithCancel(ctx); defer cancel(); graph.Heartbeat(c) },
	}
	for name, sign := range signs {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := single(t, beats(5, sign), graph.Policy{Idle: 1500 * time.Millisecond}, graph.Config{})
				start := time.Now()
				_, err := g.Invoke(ctx, world{}, graph.RunOptions{})
				timedOut(t, err, graph.IdleTimeout, 1500*time.Millisecond, 6500*time.Millisecond)
				if took := time.Since(start); took != 6500*time.Millisecond {
					t.Errorf("it took %v, want 1.5 s after the fifth sign", took)
				}
			})
		})
	}
}

// Requirement: policy: timeout
func TestHeartbeat_DoesNotExtendTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := graph.Policy{Idle: 1500 * time.Millisecond, Timeout: 3500 * time.Millisecond}
		_, err := single(t, beats(60, graph.Heartbeat), p, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
		timedOut(t, err, graph.NodeTimeout, 3500*time.Millisecond, 3500*time.Millisecond)
	})
}

func TestHeartbeat_AnsweredAskCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := graph.Func(func(ctx context.Context, s *world) error {
			var open []error
			for _, prompt := range []string{"x", "y"} {
				answer, err := graph.Ask[string](ctx, graph.Question{Prompt: prompt})
				if open = append(open, err); err == nil {
					s.Log.Append(answer)
					time.Sleep(time.Second)
				}
			}
			return errors.Join(open...)
		})
		g := single(t, n, graph.Policy{Idle: 1500 * time.Millisecond}, stored())
		res := invoke(t, g, "t1", graph.Interrupted)
		both := graph.Answer(idOf(t, res, "x"), "1").Answer(idOf(t, res, "y"), "2")
		logged(t, resume(t, g, both, graph.Done), "1 2") // it takes 2 s
	})
}

func TestHeartbeat_TasksOfASubgraphCountForTheNodeAround(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := graph.New[inner]("child")
		from := graph.Start
		for _, n := range []string{"c1", "c2", "c3"} {
			b.Node(n, graph.Func(func(context.Context, *inner) error { time.Sleep(time.Second); return nil }))
			b.Edge(from, n)
			from = n
		}
		b.Edge(from, graph.End)
		g := single(t, hosts(build(t, b, graph.Config{}), "", nil), graph.Policy{Idle: 1500 * time.Millisecond}, graph.Config{})
		invoke(t, g, "", graph.Done)
	})
}

// Requirement: policy: timeout
func TestIdle_SlowReaderDoesNotMakeANodeIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := graph.Func(func(ctx context.Context, _ *world) error {
			for i := range 200 {
				if err := graph.Emit(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
		seen := 0
		for _, err := range single(t, n, graph.Policy{Idle: time.Second}, graph.Config{}).Stream(ctx, world{}, graph.RunOptions{Modes: graph.Custom}) {
			if err != nil {
				t.Fatal(err)
			}
			seen++
			time.Sleep(10 * time.Second)
		}
		if seen != 201 {
			t.Errorf("got %d events, want 200 and the end", seen)
		}
	})
}

// Requirement: policy: attempts run on fresh views
func TestHeartbeat_OutsideARunDoesNothing(t *testing.T) {
	graph.Heartbeat(t.Context())
	if n := graph.Attempt(t.Context()); n != 0 {
		t.Errorf("outside a node the attempt is %d, want 0", n)
	}
}

func TestHeartbeat_OfAnEarlierAttemptDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		var left sync.WaitGroup
		defer left.Wait()
		n := graph.Func(func(ctx context.Context, _ *world) error {
			if ran.add("a") == 1 {
				left.Go(func() { // goes on after its attempt has ended
					for range 60 {
						time.Sleep(time.Second / 2)
						graph.Heartbeat(ctx)
					}
				})
				return errBoom
			}
			<-ctx.Done()
			return ctx.Err()
		})
		p := graph.Policy{Idle: time.Second, Retry: graph.Retry{Attempts: 2, Initial: 1}}
		start := time.Now()
		_, err := single(t, n, p, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
		timedOut(t, err, graph.IdleTimeout, time.Second, time.Second)
		if took := time.Since(start); took != time.Second+1 {
			t.Errorf("it took %v, want 1 s", took)
		}
	})
}
