package graph_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// timers records what is set.
type timers struct {
	mu   sync.Mutex
	set  []graph.Timer
	fail error
}

func (s *timers) Set(_ context.Context, t graph.Timer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	s.set = append(s.set, t)
	return nil
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// asksOnce is a node that asks a question and logs the answer.
func asksOnce(q graph.Question) graph.Node[world] {
	return graph.Func(func(ctx context.Context, s *world) error {
		v, err := graph.Ask[string](ctx, q)
		if err != nil {
			return err
		}
		s.Log.Append(v)
		return nil
	})
}

// timedConfig is a Config with a store, timers and a clock.
func timedConfig() (graph.Config, *timers, *clock) {
	cfg, all, c := stored(), new(timers), &clock{noon}
	cfg.Now, cfg.Timers = c.read, all
	return cfg, all, c
}

func TestTimers_SetBeforeThePauseIsStored(t *testing.T) {
	cfg, all, c := timedConfig()
	q := graph.Question{Prompt: "x", Timeout: time.Hour, Remind: 20 * time.Minute, Escalate: []graph.Escalation{{After: 30 * time.Minute, To: "ben"}}}
	g := single(t, asksOnce(q), graph.Policy{}, cfg)
	all.fail = errBoom
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, errBoom, "the time at which the thread goes on is not stored")
	if p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); err != nil || len(p.Interrupts) > 0 || p.Status != graph.Pending {
		t.Errorf("without its timer the question must not be stored (got %+v, %v)", p, err)
	}
	all.fail = nil
	resume(t, g, graph.Answers{}, graph.Interrupted)
	c.now = noon.Add(40 * time.Minute)
	want := []graph.Timer{{Thread: "t1", Graph: "single", At: noon.Add(20 * time.Minute)}}
	if !slices.Equal(all.set, want) {
		t.Errorf("got %v, want %v", all.set, want)
	}
}

func TestTimers_QuestionWithoutATimeSetsNone(t *testing.T) {
	cfg, all, _ := timedConfig()
	g := single(t, asksOnce(graph.Question{Prompt: "x"}), graph.Policy{}, cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	if len(all.set) > 0 || !res.Interrupts[0].Asked.IsZero() {
		t.Errorf("got %v and %+v", all.set, res.Interrupts[0])
	}
}

func TestInterrupt_NextAndAskedOf(t *testing.T) {
	in := graph.Interrupt{Asked: noon, Expires: noon.Add(10 * time.Hour), To: "ana", Remind: 2 * time.Hour,
		Escalate: []graph.Escalation{{After: 5 * time.Hour, To: "cem"}, {After: 3 * time.Hour, To: "ben"}}}
	for hours, want := range map[int]struct {
		next int
		of   string
	}{0: {2, "ana"}, 2: {3, "ana"}, 3: {4, "ben"}, 4: {5, "ben"}, 5: {6, "cem"}, 8: {10, "cem"}, 10: {10, "cem"}, 20: {10, "cem"}, -1: {2, "ana"}} {
		at := noon.Add(time.Duration(hours) * time.Hour)
		if got := in.Next(at); !got.Equal(noon.Add(time.Duration(want.next) * time.Hour)) {
			t.Errorf("after %d hours: next is %v, want %d hours", hours, got, want.next)
		}
		if got := in.AskedOf(at); got != want.of {
			t.Errorf("after %d hours %q is asked, want %q", hours, got, want.of)
		}
	}
	if got := (&graph.Interrupt{}).Next(noon); !got.IsZero() {
		t.Errorf("without times: got %v", got)
	}
}

func TestQuestion_TimesAreChecked(t *testing.T) {
	for want, q := range map[string]graph.Question{
		"Timeout must not be negative (got -5s)": {Timeout: -5 * time.Second},
		"Remind must be at least 1s (got 1ms)":   {Remind: time.Millisecond},
		`got 0s and "ben"`:                       {Escalate: []graph.Escalation{{To: "ben"}}},
		`got 1s and ""`:                          {Escalate: []graph.Escalation{{After: time.Second}}},
		"UTF-8":                                  {To: "\xff"},
	} {
		_, err := single(t, asksOnce(q), graph.Policy{}, stored()).Invoke(ctx, world{}, t1)
		is(t, err, graph.ErrQuestion, want)
	}
}

func TestQuestion_Default(t *testing.T) {
	cfg, _, c := timedConfig()
	g := single(t, asksOnce(graph.Question{Prompt: "x", Timeout: time.Hour, Default: "no"}), graph.Policy{}, cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	if got := string(res.Interrupts[0].Default); got != `"no"` {
		t.Errorf("the question shows the default %s", got)
	}
	c.now = noon.Add(time.Hour)
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "no")

	bad := single(t, asksOnce(graph.Question{Prompt: "x", Timeout: time.Hour, Default: 7}), graph.Policy{}, cfg)
	_, err := bad.Invoke(ctx, world{}, graph.RunOptions{Thread: "t2"})
	is(t, err, graph.ErrQuestion, "Default", `"x"`)
}

// sleeps is a node that sleeps twice.
func sleeps(ran *counter, first, second time.Duration) graph.Node[world] {
	return graph.Func(func(ctx context.Context, s *world) error {
		ran.add("a")
		if err := graph.Sleep(ctx, "first", first); err != nil {
			return err
		}
		if err := graph.Sleep(ctx, "second", second); err != nil {
			return err
		}
		s.Log.Append("woke")
		return nil
	})
}

func TestSleep_PausesTheRun(t *testing.T) {
	var ran counter
	cfg, all, c := timedConfig()
	g := single(t, sleeps(&ran, 48*time.Hour, time.Hour), graph.Policy{}, cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	if in := res.Interrupts[0]; !in.Timer || !in.Expires.Equal(noon.Add(48*time.Hour)) {
		t.Errorf("got %+v", in)
	}
	c.now = noon.Add(47 * time.Hour)
	resume(t, g, graph.Answers{}, graph.Interrupted)
	ran.want(t, "a", 1)
	c.now = noon.Add(50 * time.Hour) // the second sleep begins when the first has ended
	res = resume(t, g, graph.Answers{}, graph.Interrupted)
	if in := res.Interrupts[0]; !in.Expires.Equal(noon.Add(51 * time.Hour)) {
		t.Errorf("the second sleep ends at %v", in.Expires)
	}
	c.now = noon.Add(51 * time.Hour)
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "woke")
	if len(all.set) != 2 {
		t.Errorf("%d timers were set, want 2: %v", len(all.set), all.set)
	}
}

func TestSleep_EndsWithAnAnswer(t *testing.T) {
	var ran counter
	cfg, _, _ := timedConfig()
	g := single(t, sleeps(&ran, 48*time.Hour, 0), graph.Policy{}, cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	logged(t, resume(t, g, graph.Answer(res.Interrupts[0].ID, nil), graph.Done), "woke")
}

func TestSleep_KeepsTheProcessWithoutTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		began := time.Now()
		logged(t, invoke(t, single(t, sleeps(&ran, 48*time.Hour, time.Hour), graph.Policy{}, stored()), "t1", graph.Done), "woke")
		if took := time.Since(began); took != 49*time.Hour {
			t.Errorf("it took %v", took)
		}
		if err := graph.Sleep(t.Context(), "alone", time.Hour); err != nil || time.Since(began) != 50*time.Hour {
			t.Errorf("outside a run: %v after %v", err, time.Since(began))
		}
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(errBoom)
		if err := graph.Sleep(ended, "cut", time.Hour); !errors.Is(err, errBoom) {
			t.Errorf("got %v, want why the context ended", err)
		}
	})
}

func TestSleep_InASubgraphSetsTheTimerOfTheThread(t *testing.T) {
	var ran counter
	cfg, all, c := timedConfig()
	child := single(t, sleeps(&ran, 2*time.Hour, 0), graph.Policy{}, graph.Config{Now: c.read})
	g := build(t, parallel(map[string]graph.Node[world]{"child": graph.Inline(child)}), cfg)
	invoke(t, g, "t1", graph.Interrupted)
	c.now = noon.Add(2 * time.Hour)
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "woke")
	if len(all.set) != 1 || all.set[0].Thread != "t1" || !all.set[0].At.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("got %v", all.set)
	}
}
