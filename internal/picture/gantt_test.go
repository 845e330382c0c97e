package picture

import (
	"errors"
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
