package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

var errBusy = errors.New("busy")

// isErr is an If of just this error.
func isErr(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }

// failsWith fails its attempts with these errors in turn, and then succeeds. It notes
// the attempt and the time, in milliseconds, of each.
func failsWith(starts *[]string, errs ...error) graph.Node[world] {
	var began time.Time
	return graph.Func(func(ctx context.Context, s *world) error {
		if len(*starts) == 0 {
			began = time.Now()
		}
		*starts = append(*starts, fmt.Sprintf("%d@%d", graph.Attempt(ctx), time.Since(began).Milliseconds()))
		if n := len(*starts); n <= len(errs) {
			return errs[n-1]
		}
		s.Log.Append("a")
		return nil
	})
}

// Requirement: policy: retry
func TestRetry_FirstThatAcceptsAnErrorDecides(t *testing.T) {
	slow := &graph.Retry{Attempts: 3, Initial: 10 * time.Second, If: isErr(errBusy)}
	mixed := graph.Retry{Attempts: 4, Initial: time.Second, Multiplier: 1, If: isErr(errBoom), Else: slow}
	last := graph.Retry{Attempts: 2, Initial: time.Second, If: isErr(errBusy), Else: &graph.Retry{Attempts: 3, Initial: 2 * time.Second}}
	for name, c := range map[string]struct {
		retry graph.Retry
		errs  []error
		want  string
		ok    bool
	}{
		"each waits its own way":           {mixed, []error{errBoom, errBusy, errBoom}, "1@0 2@1000 3@21000 4@22000", true},
		"attempts count together":          {mixed, []error{errBoom, errBoom, errBusy}, "1@0 2@1000 3@2000", false},
		"what none accepts is not retried": {mixed, []error{errors.New("other")}, "1@0", false},
		"the default takes the rest":       {last, []error{errBoom, errBoom}, "1@0 2@2000 3@6000", true},
		"at once":                          {graph.Retry{Attempts: 3, Initial: graph.NoWait, Jitter: 1}, []error{errBoom, errBoom}, "1@0 2@0 3@0", true},
		"at once, unless asked to wait":    {graph.Retry{Attempts: 2, Initial: graph.NoWait}, []error{patient(time.Second)}, "1@0 2@1000", true},
		"a permanent error is not retried": {last, []error{graph.Permanent(errBoom)}, "1@0", false},
		"unless If accepts it":             {graph.Retry{Attempts: 2, Initial: time.Second, If: isErr(errBoom)}, []error{graph.Permanent(errBoom)}, "1@0 2@1000", true},
		"a cancellation that is none":      {graph.Retry{Attempts: 2, Initial: time.Second}, []error{context.Canceled}, "1@0 2@1000", true},
		"within the budget":                {graph.Retry{Attempts: 9, Initial: time.Second, Multiplier: 1, Budget: 3 * time.Second}, slices.Repeat([]error{errBoom}, 9), "1@0 2@1000 3@2000 4@3000", false},
		"a wait beyond the budget":         {graph.Retry{Attempts: 9, Initial: 2 * time.Second, Budget: 5 * time.Second}, slices.Repeat([]error{errBoom}, 9), "1@0 2@2000", false},
		"the budget of an Else":            {graph.Retry{If: isErr(errBusy), Else: &graph.Retry{Attempts: 9, Initial: time.Second, Multiplier: 1, Budget: time.Second}}, slices.Repeat([]error{errBoom}, 9), "1@0 2@1000", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var starts []string
				_, err := single(t, failsWith(&starts, c.errs...), graph.Policy{Retry: c.retry}, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
				if got := strings.Join(starts, " "); got != c.want || (err == nil) != c.ok {
					t.Errorf("attempts %q and %v, want %q and success %v", got, err, c.want, c.ok)
				}
			})
		})
	}
}

// patient is a failure with the time to wait before a retry.
type patient time.Duration

func (p patient) Error() string             { return "not now" }
func (p patient) RetryAfter() time.Duration { return time.Duration(p) }

// Requirement: policy: retry
func TestRetry_FailureMayAskForALongerWait(t *testing.T) {
	twice := graph.Retry{Attempts: 2, Initial: 2 * time.Second, Jitter: 1}
	with := func(change func(r *graph.Retry)) graph.Retry {
		r := twice
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		retry graph.Retry
		err   error
		want  string
		ok    bool
	}{
		"longer, and no jitter shortens it":     {twice, patient(5 * time.Second), "1@0 2@5000", true},
		"anywhere in the chain":                 {twice, fmt.Errorf("model: %w", errors.Join(errBoom, patient(5*time.Second))), "1@0 2@5000", true},
		"shorter than the policy's own":         {with(func(r *graph.Retry) { r.Jitter = 0 }), patient(time.Second), "1@0 2@2000", true},
		"nothing":                               {with(func(r *graph.Retry) { r.Jitter = 0 }), patient(0), "1@0 2@2000", true},
		"beyond the policy's Max":               {with(func(r *graph.Retry) { r.Max = 3 * time.Second }), patient(50 * time.Second), "1@0 2@50000", true},
		"beyond a minute":                       {twice, patient(61 * time.Second), "1@0", false},
		"as long as MaxAfter":                   {with(func(r *graph.Retry) { r.MaxAfter = time.Hour }), patient(time.Hour), "1@0 2@3600000", true},
		"beyond MaxAfter":                       {with(func(r *graph.Retry) { r.MaxAfter = time.Second }), patient(2 * time.Second), "1@0", false},
		"beyond the budget":                     {with(func(r *graph.Retry) { r.Budget = 4 * time.Second }), patient(5 * time.Second), "1@0", false},
		"of the Retry that accepts the failure": {graph.Retry{If: isErr(errBusy), MaxAfter: 1, Else: &twice}, patient(5 * time.Second), "1@0 2@5000", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var starts []string
				cfg := graph.Config{Rand: func() float64 { return 0.999999 }}
				_, err := single(t, failsWith(&starts, c.err), graph.Policy{Retry: c.retry}, cfg).Invoke(ctx, world{}, graph.RunOptions{})
				if got := strings.Join(starts, " "); got != c.want || (err == nil) != c.ok {
					t.Errorf("attempts %q and %v, want %q and success %v", got, err, c.want, c.ok)
				}
			})
		})
	}
}

func TestRetry_CallWaitsAsLongAsItsFailureAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, n := time.Now(), 0
		_, err := single(t, graph.Func(func(ctx context.Context, s *world) error {
			_, err := graph.CallWith(ctx, "model", graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: time.Second}}, func(context.Context) (int, error) {
				if n++; n == 1 {
					return 0, patient(20 * time.Second)
				}
				return n, nil
			})
			return err
		}), graph.Policy{}, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
		if took := time.Since(began); err != nil || n != 2 || took != 20*time.Second {
			t.Errorf("got %d attempts in %s and %v, want 2 in 20s", n, took, err)
		}
	})
}

func TestRetry_JitterUsesTheNumbersOfTheConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts []string
		numbers := []float64{0, 0.5, 0.99}
		cfg := graph.Config{Rand: func() float64 { n := numbers[0]; numbers = numbers[1:]; return n }}
		p := graph.Policy{Retry: graph.Retry{Attempts: 4, Initial: time.Second, Multiplier: 1, Jitter: 0.2}}
		_, err := single(t, failsWith(&starts, errBoom, errBoom, errBoom), p, cfg).Invoke(ctx, world{}, graph.RunOptions{})
		if got, want := strings.Join(starts, " "), "1@0 2@1000 3@1900 4@2702"; got != want || err != nil {
			t.Errorf("attempts %q, %v, want %q", got, err, want)
		}
	})
}

// Requirement: policy: retry
func TestPermanent_LeavesTheErrorAsItIs(t *testing.T) {
	err := graph.Permanent(fmt.Errorf("outer: %w", errBoom))
	if is(t, err, errBoom); err.Error() != "outer: boom" || graph.Permanent(nil) != nil {
		t.Errorf("got %q and %v", err, graph.Permanent(nil))
	}
}

// Requirement: policy: timeout
func TestSend_WithATimeout(t *testing.T) {
	for name, c := range map[string]struct {
		policy graph.Policy
		want   time.Duration
	}{
		"where the node has none":     {graph.Policy{}, time.Second},
		"shorter than the node's":     {graph.Policy{Timeout: time.Minute}, time.Second},
		"longer than the node's":      {graph.Policy{Timeout: time.Millisecond}, time.Second},
		"and it lasts over a restart": {graph.Policy{Timeout: time.Minute}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := stored()
				if strings.Contains(name, "restart") {
					cfg.InterruptBefore = []string{"w"}
				}
				b := graph.New[world]("sends")
				b.Node("r", goes("r", graph.Send("w", 1).WithTimeout(time.Second).Send("w", 2), "w"))
				b.Node("w", graph.Worker(func(ctx context.Context, s *world, n int) error {
					if n == 2 {
						return nil
					}
					<-ctx.Done()
					return context.Cause(ctx)
				}).With(c.policy))
				b.Edge(graph.Start, "r")
				b.Edge("w", graph.End)
				g := build(t, b, cfg)
				_, err := g.Invoke(ctx, world{}, t1)
				if err == nil {
					_, err = build(t, b, cfg).Resume(ctx, graph.Answers{}, t1)
				}
				var late *graph.TimeoutError
				if is(t, err, graph.ErrTimeout); !errors.As(err, &late) || late.Limit != c.want || late.Kind != graph.NodeTimeout || late.Err != nil {
					t.Errorf("got %+v, want the limit of the Send, %v", late, c.want)
				}
			})
		})
	}
}

// The result of the node that sent is taken from the store, because another failed.
func TestSend_TimeoutIsPartOfTheResultOfItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := stored()
		broken := true
		b := graph.New[world]("sends")
		b.Node("r", goes("r", graph.Send("w", 1).WithTimeout(time.Second), "w"))
		b.Node("x", graph.Func(func(context.Context, *world) error {
			if broken {
				time.Sleep(time.Second)
				return errBoom
			}
			return nil
		}))
		b.Node("w", graph.Worker(func(ctx context.Context, s *world, n int) error { <-ctx.Done(); return ctx.Err() }))
		b.Edge(graph.Start, "r")
		b.Edge(graph.Start, "x")
		b.Edge("x", graph.End)
		b.Edge("w", graph.End)
		_, err := build(t, b, cfg).Invoke(ctx, world{}, t1)
		is(t, err, errBoom)
		broken = false
		_, err = build(t, b, cfg).Resume(ctx, graph.Answers{}, t1)
		is(t, err, graph.ErrTimeout, `node "w"`, "1s")
	})
}

func TestWithTimeout_WithoutASendIsAnError(t *testing.T) {
	for want, c := range map[string]graph.Command{
		"does not follow a Send": graph.Goto("w").WithTimeout(time.Second),
		"must not be negative":   graph.Send("w", 1).WithTimeout(-time.Second),
	} {
		b := graph.New[world]("within")
		b.Node("r", goes("r", c, "w", graph.End))
		b.Node("w", graph.Worker(takesInt))
		if strings.Contains(want, "follow") {
			c = graph.Goto(graph.End).WithTimeout(time.Second)
			b = graph.New[world]("within")
			b.Node("r", goes("r", c, graph.End))
			b.Node("w", graph.Worker(takesInt))
			b.Branch("r", toEnd, "w", graph.End)
		}
		b.Edge(graph.Start, "r")
		b.Edge("w", graph.End)
		_, err := build(t, b, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", c, err, want)
		}
	}
	if got, want := graph.Send("w", 1).WithTimeout(time.Second).String(), `Send("w", 1).WithTimeout(1s)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	first := graph.Send("w", 1)
	if first.WithTimeout(time.Second); first.String() != `Send("w", 1)` {
		t.Errorf("Within changed the Command it was called on: %v", first)
	}
}

func TestCompile_InvalidPoliciesAreMistakes(t *testing.T) {
	loop := &graph.Retry{Attempts: 2}
	loop.Else = loop
	for want, p := range map[string]graph.Policy{
		"an idle timeout of -1ns": {Idle: -1},
		"a wait between attempts": {Retry: graph.Retry{MaxAfter: -1}},
		"a budget of -1ns":        {Retry: graph.Retry{Budget: -1}},
		"its own Else":            {Retry: graph.Retry{Else: loop}},
		"-1 attempts":             {Retry: graph.Retry{Else: &graph.Retry{Attempts: -1}}},
	} {
		for _, byDefault := range []bool{false, true} {
			b := graph.New[world]("policies")
			if byDefault {
				b.Node("a", logs("a"))
				b.Defaults(p)
			} else {
				b.Node("a", logs("a").With(p))
			}
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			_, err := b.Compile(graph.Config{})
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "policy_test.go:") {
				t.Errorf("got %v, want %q with its line", err, want)
			}
		}
	}
	b := sound()
	b.Defaults(graph.Policy{})
	b.Defaults(graph.Policy{})
	if _, err := b.Compile(graph.Config{}); err == nil || !strings.Contains(err.Error(), "Defaults was already called, at ") {
		t.Errorf("got %v, want that Defaults is there twice", err)
	}
}

// A failure is stored with its kind and its causes. A node that returns a cancellation of its own
// has failed.
func TestFailures_AreStoredAsRecords(t *testing.T) {
	cfg := stored()
	wrapped := fmt.Errorf("calling out: %w", fmt.Errorf("reading: %w", context.Canceled))
	n := graph.Func(func(context.Context, *world) error { return wrapped })
	_, err := single(t, n, graph.Policy{}, cfg).Invoke(ctx, world{}, t1)
	is(t, err, context.Canceled, `node "a"`)
	p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"})
	if err != nil || p.Status != graph.Failed || len(p.Failures) != 1 {
		t.Fatalf("got %+v, %v; want a failed thread", p, err)
	}
	f := p.Failures[0]
	if f.Cancelled || f.Kind != graph.KindCancelled || f.Node != "a" || f.Attempt != 1 || f.Message != wrapped.Error() ||
		!slices.Equal(f.Causes, []string{"reading: context canceled", "context canceled"}) {
		t.Errorf("the failure is reported as %+v", f)
	}
}
