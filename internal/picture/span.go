package picture

import (
	"slices"
	"time"

	"github.com/weftrun/weft/graph"
)

// Span is a time in which a task was in one state: an attempt, a wait for the next one, or a wait
// for a person.
type Span struct {
	Namespace, Node, Task string
	Label                 string // of a task of its own: its payload
	Attempt               int
	Start, End            time.Time // End is zero while the state lasts
	State                 State
	Note                  string // why an attempt failed, or what is asked
}

// Spans returns the spans of a log of events, in the order of their starts.
func Spans(events []graph.Event) []Span {
	t := tracker{open: map[string]int{}}
	for _, ev := range events {
		if ev.Mode == graph.Tasks && ev.ParentTask == "" {
			t.task(ev)
		}
	}
	return t.spans
}

// tracker makes spans of events.
type tracker struct {
	spans []Span
	open  map[string]int // the span of a task that lasts, by namespace and task
}

func (t *tracker) task(ev graph.Event) {
	key := ev.Namespace + "\x00" + ev.Task
	end := func(s State, note string) {
		i, ok := t.open[key]
		if !ok {
			return
		}
		delete(t.open, key)
		at := &t.spans[i]
		at.End = ev.Time
		if s != "" && at.State != Waiting { // nothing has run that could have ended so
			at.State, at.Note = s, note
		}
	}
	begin := func(s State, note string) {
		t.open[key] = len(t.spans)
		t.spans = append(t.spans, Span{Namespace: ev.Namespace, Node: ev.Node, Task: ev.Task, Label: ev.Label, Attempt: ev.Attempt, Start: ev.Time, State: s, Note: note})
	}
	reason := ""
	if ev.Err != nil {
		reason = ev.Err.Error()
	}
	switch ev.Phase {
	case graph.Waiting:
		end("", "")
		if ev.Limit != "" {
			begin(Waiting, "limit "+ev.Limit)
		} else {
			begin(Waiting, "so many tasks of "+ev.Node+" run at once")
		}
	case graph.Started:
		end("", "")
		begin(Running, "")
	case graph.Retrying:
		end(Failed, reason)
		begin(Retrying, reason)
	case graph.Finished:
		if i, ok := t.open[key]; ev.Cached && (!ok || t.spans[i].State == Waiting) {
			end("", "")
			begin(Cached, "")
			end(Cached, "")
			return
		}
		end(Done, "")
	case graph.Failing, graph.Handling:
		end(Failed, reason)
	case graph.Asking:
		if note := "waits for an answer"; len(ev.Interrupts) > 0 {
			note = ev.Interrupts[0].Prompt
			end(Asking, note)
		} else {
			end(Asking, note)
		}
	case graph.Draining:
		end(Queued, "stopped")
	}
}

// Watch marks the nodes whose tasks run or wait, for their next attempt or for a limit, in a graph
// whose newest step is under way.
func (r *Run) Watch(d *graph.Drawing, spans []Span) {
	last := map[string]Span{} // by task
	for _, s := range spans {
		last[s.Namespace+"\x00"+s.Task] = s
	}
	running := map[string]bool{}
	for _, s := range last {
		if !s.End.IsZero() || s.State != Running && s.State != Retrying && s.State != Waiting {
			continue
		}
		for _, id := range within(d, s.Namespace, s.Node) {
			m, ok := r.Marks[id]
			if !ok || running[id] && (s.State == Waiting || m.State == Retrying && s.State == Running) {
				continue
			}
			running[id] = s.State != Waiting
			m.State, m.Attempt, m.Note = s.State, s.Attempt, s.Note
			r.Marks[id] = m
		}
	}
}

// nodesOf returns the nodes of spans in the order in which they began.
func nodesOf(spans []Span) (names []string) {
	for _, s := range spans {
		if name := s.Row(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Row names the row of a span in a chart.
func (s Span) Row() string {
	if s.Namespace == "" {
		return s.Node
	}
	name := ""
	for _, n := range pathOf(s.Namespace) {
		name += n + " › "
	}
	return name + s.Node
}
