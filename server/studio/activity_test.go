package studio_test

import (
	"fmt"
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
	at := info.Time.Add(time.Second)
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

// The log of a long thread is read from the turn on that is shown, and up to its checkpoint.
func TestTimeline_IsReadFromItsTurn(t *testing.T) {
	h, m := newStudio(t, "/studio")
	var turn []graph.CommitInfo // the newest first
	for c, err := range graph.History(t.Context(), m.threads[0].Store, checkpoint.Key{Thread: "t 1"}, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		turn = append(turn, c)
	}
	first, newest := turn[len(turn)-1], turn[0]
	publish := func(task string, at time.Time) {
		t.Helper()
		ev := graph.Event{Mode: graph.Tasks, Node: "check", Task: task, Attempt: 1, Phase: graph.Started, Time: at}
		end := ev
		end.Phase = graph.Finished
		for _, events := range [][]graph.Event{{ev, end}, nil} { // batches without events have no time
			if err := m.log.Publish(t.Context(), "t 1", eventlog.Batch{Run: newest.Run, Events: events}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 100 {
		publish("earlier", first.Time.Add(time.Duration(i-100)*time.Second))
	}
	publish("first", first.Time.Add(time.Nanosecond))
	publish("last", newest.Time.Add(time.Second))
	tasks := func(query string) string {
		return gjson.Get(get(t, h, "/studio/api/threads/t%201/timeline"+query).Body.String(), "spans.#.Task").Raw
	}
	m.read.Store(0)
	if got, want := tasks(""), `["first","last"]`; got != want {
		t.Errorf("the turn has the tasks %s, want %s", got, want)
	}
	if read := m.read.Load(); read > 40 {
		t.Errorf("%d batches of 204 were read", read)
	}
	if got, want := tasks(fmt.Sprint("?at=", newest.Checkpoint)), `["first"]`; got != want {
		t.Errorf("up to the newest checkpoint the turn has the tasks %s, want %s", got, want)
	}
}
