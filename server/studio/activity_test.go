package studio_test

import (
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
)

// A batch without events, as at the start of a run, does not make its run count twice.
func TestTimeline_HasEachSpanOnce(t *testing.T) {
	h, m := newStudio(t, "/studio")
	info, err := graph.Inspect(t.Context(), m.threads[0].Store, checkpoint.Key{Thread: "t 1"})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	task := func(p graph.Phase) graph.Event {
		return graph.Event{Mode: graph.Tasks, Node: "check", Task: "a", Phase: p, Attempt: 1, Time: at}
	}
	for _, events := range [][]graph.Event{nil, {task(graph.Started)}, {task(graph.Finished)}} {
		if err := m.log.Publish(t.Context(), "t 1", eventlog.Batch{Run: info.Run, Events: events}); err != nil {
			t.Fatal(err)
		}
	}
	if got := gjson.Get(get(t, h, "/studio/api/threads/t%201/timeline").Body.String(), "spans.#").Int(); got != 1 {
		t.Errorf("the timeline has %d spans, want 1", got)
	}
}
