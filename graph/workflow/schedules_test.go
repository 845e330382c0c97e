package workflow_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/wake"
)

const scheduled = `version: 1
name: report
state:
  topics: {type: list<string>, required: true}
  text: string
input: [topics]
config: {tone: {type: string, default: kind}, size: {type: int, default: 1}}
schedules:
  morning: {cron: "30 9 * * *", zone: Europe/Berlin, until: "2026-05-03T00:00:00Z", input: {topics: [tea, "<rum>"]}, config: {size: 2}}
  once: {at: "2026-05-01T14:00:00+02:00", input: {topics: []}}
nodes:
  write:
    set: {text: "${{ config.size }} ${{ config.tone }} words on ${{ join(state.topics, ', ') }} at ${{ run.time }}"}
    next: END
`

func TestSchedules_BeginRuns(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	o := workflow.Options{Now: func() time.Time { return now }}
	w, err := workflow.Parse("report.yaml", []byte(scheduled), o)
	if err != nil {
		t.Fatal(err)
	}
	all, err := w.Schedules()
	if err != nil || len(all) != 2 || all[0].Name != "report/morning" || all[1].Name != "report/once" || all[1].Graph != "report" {
		t.Fatalf("the schedules are %+v, %v", all, err)
	}
	store, timers := new(checkpoint.Memory), wake.Over(new(document.Map))
	g, err := w.Compile(graph.Config{Store: store, Timers: timers})
	if err != nil {
		t.Fatal(err)
	}
	c := wake.Config{
		Store: store, Timers: timers, Resume: wake.Graphs(g.Untyped()), Start: wake.Starts(g.Untyped()), Now: o.Now, Log: slog.New(slog.DiscardHandler),
	}
	for range 4 * 24 { // the program begins anew each hour
		if err := timers.Declare(t.Context(), "report/", all, now); err != nil {
			t.Fatal(err)
		}
		if _, err := wake.Once(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour)
	}
	got := map[string]string{}
	for s, err := range store.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		state, _, err := g.Thread(s.Thread).State(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := state.Get("text")
		got[s.Thread], _ = text.(string)
	}
	for thread, text := range map[string]string{
		"report/morning/2026-05-01T07:30:00Z": "2 kind words on tea, <rum> at 2026-05-01T08:00:00Z",
		"report/morning/2026-05-02T07:30:00Z": "2 kind words on tea, <rum> at 2026-05-02T08:00:00Z",
		"report/once/2026-05-01T12:00:00Z":    "1 kind words on  at 2026-05-01T12:00:00Z",
	} {
		if got[thread] != text {
			t.Errorf("thread %s has %q, want %q", thread, got[thread], text)
		}
		delete(got, thread)
	}
	if len(got) > 0 {
		t.Errorf("there are other runs: %q", got)
	}
}
