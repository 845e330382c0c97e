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
	chart := Gantt(Spans(events), begun.Add(time.Hour), Window{})
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
	chart := Gantt(spans, spans[0].Start, Window{})
	for _, want := range []string{`<g class="state-waiting"><title>call, waits for a limit, 2.0 s: limit api</title>`, `<g class="state-done"><title>call, finished, 1.0 s</title>`} {
		if !strings.Contains(chart, want) {
			t.Errorf("want %q in the chart:\n%s", want, chart)
		}
	}
	chart = Gantt(Spans(waitingTasks(20)), spans[0].Start, Window{})
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

func TestGantt_ShowsAWindow(t *testing.T) {
	begun := time.UnixMilli(1_000_000)
	at := func(ms int) time.Time { return begun.Add(time.Duration(ms) * time.Millisecond) }
	spans := []Span{
		{Node: "a", Task: "1", Start: at(0), End: at(100), State: Done}, {Node: "b", Task: "2", Start: at(100), End: at(300), State: Done},
		{Node: "c", Task: "3", Start: at(5300), State: Running}, {Node: "c", Task: "4", Start: at(150), End: at(160), State: Failed},
	}
	for _, c := range []struct {
		shown Window
		rows  string // the nodes with bars
		times string
	}{
		{Window{}, "a b c", "60:1000000.000 407:1000300.000 435:1005300.000 820:1005632.000"},
		{Window{at(50), at(120)}, "a b", "60:1000050.000 820:1000120.000"},
		{Window{at(120), at(200)}, "b c", "60:1000120.000 820:1000200.000"},
		{Window{at(5400), at(6000)}, "c", "60:1005400.000 820:1005632.000"},
		{Window{at(1000), at(2000)}, "", ""},
	} {
		chart := Gantt(spans, at(5632), c.shown)
		var rows []string
		for _, name := range []string{"a", "b", "c"} {
			if strings.Contains(chart, ">"+name+"</text>") {
				rows = append(rows, name)
			}
		}
		_, times, _ := strings.Cut(chart, `data-times="`)
		times, _, _ = strings.Cut(times, `"`)
		if strings.Join(rows, " ") != c.rows || times != c.times {
			t.Errorf("%v: got the rows %v and the times %s, want %s and %s", c.shown, rows, times, c.rows, c.times)
		}
	}
	if chart := Gantt(spans, at(5632), Window{at(50), at(120)}); !strings.Contains(chart, "a, finished, 100 ms") {
		t.Error("a bar that is cut does not have the time of its whole")
	}
}
