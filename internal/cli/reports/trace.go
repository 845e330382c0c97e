package reports

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/weftrun/weft/graph"
)

// TraceModes are the events that a [Trace] takes.
const TraceModes = graph.Tasks | graph.Custom | graph.Ended

// Trace writes the events of a run as Chrome trace events, a JSON array that chrome://tracing and
// ui.perfetto.dev show. Each attempt of a task is a bar. Tasks that run at the same time are on
// tracks of their own, and the steps of the graph on the first one. The format is described in
// "Trace Event Format" by the Chromium authors.
type Trace struct {
	w      *bufio.Writer
	err    error // of the first write that failed
	count  int
	began  time.Time // of the first event
	last   time.Time
	step   bar            // the step of the graph that runs; its name is "" before the first
	until  time.Time      // the end of the last task of the step
	open   map[taskAt]bar // the attempts that run
	tracks map[int]bool   // those in use, from 1
}

// taskAt is a task of a graph or of a subgraph.
type taskAt struct{ namespace, task string }

// bar is something that has begun.
type bar struct {
	name  string
	start time.Time
	track int
	args  map[string]any
}

// traceEvent is an event in the file. Times are in microseconds from the first event.
type traceEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"` // X is a bar, i a moment, M a name
	Time     int64          `json:"ts"`
	Duration int64          `json:"dur,omitempty"`
	Scope    string         `json:"s,omitempty"` // of a moment: t is one track, p all
	Process  int            `json:"pid"`
	Track    int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

// NewTrace begins a trace of a run of a graph on a thread.
func NewTrace(w io.Writer, graphName, thread string) *Trace {
	t := &Trace{w: bufio.NewWriter(w), open: map[taskAt]bar{}, tracks: map[int]bool{}}
	t.write(traceEvent{Name: "process_name", Phase: "M", Args: map[string]any{"name": graphName + ", thread " + thread}})
	t.write(traceEvent{Name: "thread_name", Phase: "M", Args: map[string]any{"name": "steps"}})
	return t
}

// Event writes what an event has ended.
func (t *Trace) Event(ev graph.Event) {
	if t.began.IsZero() {
		t.began = ev.Time
	}
	t.last = ev.Time
	at := taskAt{ev.Namespace, ev.Task}
	switch ev.Mode {
	case graph.Tasks:
		t.task(ev, at)
	case graph.Custom:
		t.write(traceEvent{Name: ev.Node + " emits", Category: "custom", Phase: "i", Time: t.micros(ev.Time), Scope: "t", Track: t.open[at].track, Args: map[string]any{"value": ev.Payload}})
	case graph.Ended:
		t.endStep()
		t.write(traceEvent{Name: "the run is " + string(ev.Status), Category: "run", Phase: "i", Time: t.micros(ev.Time), Scope: "p"})
	}
}

func (t *Trace) task(ev graph.Event, at taskAt) {
	switch ev.Phase {
	case graph.Started:
		if name := fmt.Sprint("step ", ev.Step); ev.Namespace == "" && ev.ParentTask == "" && name != t.step.name {
			t.endStep()
			t.step = bar{name: name, start: ev.Time}
		}
		args := map[string]any{"step": ev.Step, "task": ev.Task, "attempt": ev.Attempt}
		for name, text := range map[string]string{"label": ev.Label, "namespace": ev.Namespace, "parent_task": ev.ParentTask} {
			if text != "" {
				args[name] = text
			}
		}
		t.open[at] = bar{ev.Node, ev.Time, t.track(), args}
	case graph.Uncached, graph.Waiting:
	default:
		b, ok := t.open[at]
		if !ok { // it did not run: its result was stored or cached
			b = bar{name: ev.Node, start: ev.Time, args: map[string]any{"step": ev.Step, "task": ev.Task}}
		}
		delete(t.open, at)
		delete(t.tracks, b.track)
		more := map[string]any{"result": ev.Phase}
		if ev.Cached {
			more["cached"] = true
		}
		if ev.Err != nil {
			more["error"] = ev.Err.Error()
		}
		t.bar("task", b, ev.Time, more)
		if ev.Namespace == "" {
			t.until = ev.Time
		}
	}
}

// endStep writes the bar of the step, which ends with its last task.
func (t *Trace) endStep() {
	if t.step.name != "" {
		t.bar("step", t.step, t.until, map[string]any{})
		t.step = bar{}
	}
}

// track takes the first free track.
func (t *Trace) track() int {
	n := 1
	for t.tracks[n] {
		n++
	}
	t.tracks[n] = true
	return n
}

func (t *Trace) bar(category string, b bar, end time.Time, more map[string]any) {
	for key, value := range b.args {
		more[key] = value
	}
	t.write(traceEvent{
		Name: b.name, Category: category, Phase: "X", Time: t.micros(b.start), Duration: max(end.Sub(b.start).Microseconds(), 1), Track: b.track, Args: more,
	})
}

func (t *Trace) micros(at time.Time) int64 { return at.Sub(t.began).Microseconds() }

// write writes an event on a line.
func (t *Trace) write(e traceEvent) {
	e.Process = 1
	data, err := json.Marshal(e)
	if err != nil { // of a value that a node has emitted
		e.Args = map[string]any{"error": err.Error()}
		data, err = json.Marshal(e)
	}
	separator := ",\n"
	if t.count++; t.count == 1 {
		separator = "[\n"
	}
	if err == nil && t.err == nil {
		_, err = fmt.Fprintf(t.w, "%s%s", separator, data)
	}
	if t.err == nil {
		t.err = err
	}
}

// Close ends the trace. Attempts that have not ended, since the run was stopped, end with the last
// event. It returns the first error of a write.
func (t *Trace) Close() error {
	left := slices.SortedFunc(maps.Values(t.open), func(a, b bar) int { return a.track - b.track })
	for _, b := range left {
		t.bar("task", b, t.last, map[string]any{"result": "not ended"})
		t.until = t.last
	}
	t.endStep()
	if t.err == nil {
		_, t.err = t.w.WriteString("\n]\n")
	}
	if err := t.w.Flush(); t.err == nil {
		t.err = err
	}
	return t.err
}
