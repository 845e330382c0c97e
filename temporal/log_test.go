package temporal

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
)

// logOf runs a graph that asks at its third step, answers, and returns the events of both runs in
// the log, a line each, without ids and times.
func logOf(t *testing.T, open func(g graph.Untyped, store checkpoint.Store, bus topic.Bus) graph.Untyped) string {
	t.Helper()
	store, bus := new(checkpoint.Memory), new(topic.Local)
	g := open(counting(t, store, 4, 3).Untyped(), store, bus)
	log := eventlog.Log{Bus: bus}
	follow := func(h *graph.Handle[json.RawMessage]) graph.Result[json.RawMessage] {
		if l, ok := g.(eventlog.Logged); !ok || !l.Logged() {
			w := log.Writer("t1", h.ID(), 1)
			for ev, err := range h.Join(eventlog.Reader()) {
				if err == nil {
					w.Write(ev)
				}
			}
			w.End()
			if err := w.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		res, err := h.Wait()
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	o := graph.RunOptions{Thread: "t1", Hold: true}
	res := follow(g.Start(t.Context(), json.RawMessage(`{}`), o))
	if res.Status != graph.Interrupted {
		t.Fatalf("the run has ended as %q, want interrupted", res.Status)
	}
	follow(g.StartResume(t.Context(), graph.Answer(res.Interrupts[0].ID, true), o))
	var lines []string
	ends := 0
	for b, err := range log.Follow(t.Context(), "t1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range b.Events {
			state, _ := ev.State.(json.RawMessage)
			lines = append(lines, fmt.Sprintln(ev.Mode, ev.Step, ev.Node, ev.Phase, ev.Attempt, ev.Checkpoint, string(ev.Writes), string(state), len(ev.Interrupts)))
		}
		if b.End {
			if ends++; ends == 2 {
				break
			}
		}
	}
	return strings.Join(lines, "")
}

// A reader of the log sees the same events, whatever engine has run the steps.
func TestLog_IsTheSameOnEachEngine(t *testing.T) {
	want := logOf(t, func(g graph.Untyped, _ checkpoint.Store, _ topic.Bus) graph.Untyped { return g })
	for _, mode := range []Mode{Segments, Nodes} {
		got := logOf(t, func(g graph.Untyped, store checkpoint.Store, bus topic.Bus) graph.Untyped {
			runs, _ := onEnvironment(t, g, WorkerConfig{Store: store, Bus: bus}, ClientConfig{Mode: mode, Bus: bus})
			return runs
		})
		if got != want {
			t.Errorf("in mode %s the log has\n%s\nwant that of a local run\n%s", mode, got, want)
		}
	}
}
