package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"go.temporal.io/sdk/testsuite"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
)

// endsInLog returns how often the log of activityThread has the end of a run.
func endsInLog(t *testing.T, bus topic.Bus, run string) (ends int) {
	t.Helper()
	log := eventlog.Log{Bus: bus}
	last, err := log.Last(t.Context(), activityThread)
	if err != nil || last == 0 {
		t.Fatalf("the log ends at %d (%v), want some events", last, err)
	}
	for b, err := range log.Follow(t.Context(), activityThread, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b.End && b.Run == run {
			ends++
		}
		if b.Position == last {
			break
		}
	}
	return ends
}

// A segment after which another run has begun a turn ends its run: as done if this run has ended
// its own turn before, else as superseded. Either way readers in other processes see the end.
func TestSegment_AfterAnotherRunHasBegunATurn(t *testing.T) {
	for name, c := range map[string]struct {
		own  int // the steps of the run before
		want graph.Status
	}{"its turn was left": {1, graph.Failed}, "its turn has ended": {3, graph.Done}} {
		t.Run(name, func(t *testing.T) {
			store, bus := new(checkpoint.Memory), new(topic.Local)
			g := counting(t, store, 3, 0)
			begun(t, g.Untyped())
			if _, err := g.Resume(t.Context(), graph.Answers{}, graph.RunOptions{ID: "r", Thread: activityThread, MaxSteps: c.own}); (err == nil) != (c.want == graph.Done) {
				t.Fatal(err)
			}
			if _, err := g.Invoke(t.Context(), tally{}, graph.RunOptions{ID: "other", Thread: activityThread}); err != nil {
				t.Fatal(err)
			}
			res := runJob(t, WorkerConfig{Graphs: []graph.Untyped{g.Untyped()}, Store: store, Bus: bus}, job{Step: stepRef{Run: "r"}, Turn: 1, Attempt: 2},
				func(*activities, *testsuite.TestActivityEnvironment) {})
			if res.End == nil || res.End.Status != c.want {
				t.Fatalf("the segment ended with %+v, want that the run has ended as %q", res.End, c.want)
			}
			if f := res.End.Failure; f != nil && !errors.Is(f.error("count", activityThread, nil), ErrSuperseded) {
				t.Errorf("the failure is %+v, want an ErrSuperseded", f)
			}
			if n := endsInLog(t, bus, "r"); n != 1 {
				t.Errorf("the log has the end of the run %d times, want once", n)
			}
		})
	}
}

// A worker may die between the last commit of a run and the end in the log. The next one writes it.
func TestSegment_EndsTheLogAtTheLimitOfSteps(t *testing.T) {
	store, bus := new(checkpoint.Memory), new(topic.Local)
	g := counting(t, store, 3, 0)
	begun(t, g.Untyped())
	if _, err := g.Resume(t.Context(), graph.Answers{}, graph.RunOptions{ID: "r", Thread: activityThread, MaxSteps: 2}); !errors.Is(err, graph.ErrSteps) {
		t.Fatalf("the run ended with %v, want ErrSteps", err)
	}
	res := runJob(t, WorkerConfig{Graphs: []graph.Untyped{g.Untyped()}, Store: store, Bus: bus}, job{Step: stepRef{Run: "r", MaxSteps: 2}, Turn: 1, Attempt: 2},
		func(*activities, *testsuite.TestActivityEnvironment) {})
	if res.End == nil || !slices.Contains(res.End.Failure.Codes, "steps") || res.Steps != 2 {
		t.Fatalf("the segment ended with %+v after %d steps, want that of the limit after 2", res.End, res.Steps)
	}
	if n := endsInLog(t, bus, "r"); n != 1 {
		t.Errorf("the log has the end of the run %d times, want once", n)
	}
}

// A run that is driven does not go on in a turn that another run has begun meanwhile.
func TestStretch_EndsOnceAnotherRunHasBegunATurn(t *testing.T) {
	for _, mode := range []Mode{Segments, Nodes} {
		for _, name := range []string{taskActivity, commitActivity} {
			t.Run(string(mode)+" "+name, func(t *testing.T) {
				store := new(checkpoint.Memory)
				g := queued(t, store)
				runs, e := onEnvironment(t, g.Untyped(), WorkerConfig{Store: store}, ClientConfig{Mode: mode})
				var once sync.Once
				other := func(ctx context.Context) error {
					once.Do(func() {
						o := graph.RunOptions{ID: "other", Thread: "t1", Lease: checkpoint.HoldOptions{Policy: checkpoint.TakeOver}}
						if _, err := g.Invoke(ctx, wrote{}, o); err != nil {
							t.Error(err)
						}
					})
					return nil
				}
				e.before(name, other)
				res, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t1"})
				if !errors.Is(err, ErrSuperseded) {
					t.Errorf("the run ended %q with %v, want ErrSuperseded", res.Status, err)
				}
			})
		}
	}
}
