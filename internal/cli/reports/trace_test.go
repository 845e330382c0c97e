package reports_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/state"
)

type traced struct {
	N state.Sum[int] `json:"n"`
}

// traceOf runs a graph in simulated time and returns its trace.
func traceOf(t *testing.T, b *graph.Builder[traced]) (text string) {
	t.Helper()
	g, err := b.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	trace := reports.NewTrace(&out, g.Name(), "t1")
	for ev, err := range g.Start(t.Context(), traced{}, graph.RunOptions{Hold: true}).Join(graph.Reader{Modes: reports.TraceModes}) {
		if err != nil {
			break
		}
		trace.Event(ev)
	}
	if err := trace.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTrace_HasABarForEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := graph.New[traced]("traced")
		tries := 0
		b.Node("first", graph.Func(func(ctx context.Context, s *traced) error {
			time.Sleep(3 * time.Millisecond)
			if tries++; tries == 1 {
				return errors.New("busy")
			}
			return graph.Emit(ctx, "half")
		}).With(graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: graph.NoWait}}))
		for _, name := range []string{"left", "right"} {
			b.Node(name, graph.Func(func(context.Context, *traced) error { time.Sleep(5 * time.Millisecond); return nil }))
			b.Edge("first", name)
			b.Edge(name, graph.End)
		}
		b.Edge(graph.Start, "first")
		text := traceOf(t, b)
		var events []struct {
			Name, Ph string
			Ts, Dur  int64
			Tid      int
			Args     map[string]any
		}
		if err := json.Unmarshal([]byte(text), &events); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var got []string
		rows := map[string]int{}
		for _, e := range events {
			if e.Ph == "M" {
				continue
			}
			row := fmt.Sprint(e.Tid)
			if e.Name == "left" || e.Name == "right" { // either of them begins first
				rows[e.Name], row = e.Tid, "?"
			}
			got = append(got, fmt.Sprintf("%s %s at %d for %d in %s: %v", e.Ph, e.Name, e.Ts, e.Dur, row, e.Args["result"]))
		}
		slices.Sort(got)
		if rows["left"]+rows["right"] != 3 || rows["left"] == rows["right"] {
			t.Errorf("the bars of one step are in rows %v, want 1 and 2", rows)
		}
		want := []string{
			"X first at 0 for 3000 in 1: retrying",
			"X first at 3000 for 3000 in 1: finished",
			"X left at 6000 for 5000 in ?: finished",
			"X right at 6000 for 5000 in ?: finished",
			"X step 1 at 0 for 6000 in 0: <nil>",
			"X step 2 at 6000 for 5000 in 0: <nil>",
			"i first emits at 6000 for 0 in 1: <nil>",
			"i the run is done at 11000 for 0 in 0: <nil>",
		}
		if !slices.Equal(got, want) {
			t.Errorf("the trace has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestTrace_EndsWhatWasStopped(t *testing.T) {
	var out strings.Builder
	trace := reports.NewTrace(&out, "g", "t1")
	at := time.Unix(1, 0)
	trace.Event(graph.Event{Mode: graph.Tasks, Phase: graph.Started, Node: "a", Task: "1", Time: at})
	trace.Event(graph.Event{Mode: graph.Custom, Node: "a", Task: "1", Payload: make(chan int), Time: at.Add(time.Millisecond)})
	if err := trace.Close(); err != nil {
		t.Fatal(err)
	}
	var events []map[string]any
	if err := json.Unmarshal([]byte(out.String()), &events); err != nil || len(events) != 5 {
		t.Fatalf("the trace is %s, %v", out.String(), err)
	}
	if !strings.Contains(out.String(), `"dur":1000`) || !strings.Contains(out.String(), `"result":"not ended"`) || !strings.Contains(out.String(), "unsupported type") {
		t.Errorf("the trace is %s", out.String())
	}
}
