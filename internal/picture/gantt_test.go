package picture

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/graph"
)

// Times that fall on the same pixels are one bar, but for failures that differ.
func TestGantt_JoinsTimesOnTheSamePixels(t *testing.T) {
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var events []graph.Event
	for i := range 2000 {
		ev := graph.Event{Mode: graph.Tasks, Node: "step", Task: "a", Attempt: 1, Phase: graph.Started, Time: begun.Add(time.Duration(2*i) * time.Millisecond)}
		end := ev
		end.Time = end.Time.Add(time.Millisecond)
		if end.Phase = graph.Finished; i == 1000 {
			end.Phase, end.Err = graph.Failing, errors.New("it broke")
		}
		events = append(events, ev, end)
	}
	chart := Gantt(Spans(events), begun.Add(time.Hour))
	if bars := strings.Count(chart, "<rect class=\"shape\""); bars > 760/3+3 {
		t.Errorf("the chart has %d bars", bars)
	}
	for _, want := range []string{"step, failed, 1 ms: it broke", "step, finished 7 times, 7 ms"} {
		if !strings.Contains(chart, want) {
			t.Errorf("want %q in the chart", want)
		}
	}
}

// waitingTasks returns the events of tasks that run for a second one after the other, since a limit
// lets one run at once.
func waitingTasks(n int) (events []graph.Event) {
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(i int, phase graph.Phase, after time.Duration) {
		ev := graph.Event{Mode: graph.Tasks, Node: "call", Task: fmt.Sprint(i), Phase: phase, Attempt: 1, Time: begun.Add(after)}
		if phase == graph.Waiting {
			ev.Limit = "api"
		}
		events = append(events, ev)
	}
	for i := 1; i < n; i++ {
		at(i, graph.Waiting, 0)
	}
	for i := range n {
		at(i, graph.Started, time.Duration(i)*time.Second)
		at(i, graph.Finished, time.Duration(i+1)*time.Second)
	}
	return events
}

func TestGantt_WaitsForALimit(t *testing.T) {
	spans := Spans(waitingTasks(3))
	got := ""
	for _, s := range spans {
		got += fmt.Sprintln(s.Task, s.State, s.End.Sub(s.Start), s.Note)
	}
	if want := "1 waiting 1s limit api\n2 waiting 2s limit api\n0 done 1s \n1 done 1s \n2 done 1s \n"; got != want {
		t.Errorf("got the spans\n%swant\n%s", got, want)
	}
	chart := Gantt(spans, spans[0].Start)
	for _, want := range []string{`<g class="state-waiting"><title>call, waits for a limit, 2.0 s: limit api</title>`, `<g class="state-done"><title>call, finished, 1.0 s</title>`} {
		if !strings.Contains(chart, want) {
			t.Errorf("want %q in the chart:\n%s", want, chart)
		}
	}
	chart = Gantt(Spans(waitingTasks(20)), spans[0].Start)
	if want := "<title>20 tasks, at most 2 at once; 19 waited for a limit</title>"; !strings.Contains(chart, want) || strings.Count(chart, `class="heat-waiting"`) < 150 {
		t.Errorf("want %q and the waits in the strip:\n%s", want, chart)
	}
}

func TestSpans_TasksThatOnlyWait(t *testing.T) {
	for phase, want := range map[graph.Phase]string{graph.Failing: "waiting ", graph.Finished: "waiting cached "} {
		begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		got := ""
		for _, s := range Spans([]graph.Event{
			{Mode: graph.Tasks, Node: "call", Task: "1", Phase: graph.Waiting, Time: begun},
			{Mode: graph.Tasks, Node: "call", Task: "1", Phase: phase, Time: begun.Add(time.Second), Cached: phase == graph.Finished, Err: errors.New("the run ends")},
		}) {
			got += string(s.State) + " "
		}
		if got != want {
			t.Errorf("%s after a wait: got %q, want %q", phase, got, want)
		}
	}
	run, d := Run{Marks: map[string]Mark{"node:call": {}}}, graph.Drawing{Nodes: []graph.DrawnNode{{ID: "node:call", Name: "call"}}}
	run.Watch(&d, Spans(waitingTasks(3)[:2]))
	if got := run.Marks["node:call"].State; got != Waiting {
		t.Errorf("a node whose tasks wait is %q, want %q", got, Waiting)
	}
	run.Watch(&d, Spans(waitingTasks(3)[:3]))
	if got := run.Marks["node:call"].State; got != Running {
		t.Errorf("a node with a task that runs is %q, want %q", got, Running)
	}
}
