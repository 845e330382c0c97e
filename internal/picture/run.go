package picture

import (
	"fmt"
	"strings"
	"time"

	"github.com/weftrun/weft/graph"
)

// State is what a run has done with a node. It is a class of the node in the picture.
type State string

// The states of a node.
const (
	Idle     State = "idle"
	Queued   State = "queued"  // it is due, or runs in another process
	Waiting  State = "waiting" // it waits for a limit
	Running  State = "running"
	Done     State = "done"
	Asking   State = "asking"   // it waits for a person
	Retrying State = "retrying" // it waits for its next attempt
	Failed   State = "failed"
	Cached   State = "cached"  // its result came from a cache
	Skipped  State = "skipped" // the turn has ended without it
)

// states are all states in the order of a legend.
var states = []State{Idle, Queued, Waiting, Running, Done, Asking, Retrying, Failed, Cached, Skipped}

// words are what people read for a state.
var words = map[State]string{
	Idle: "not run", Queued: "due", Waiting: "waits for a limit", Running: "running", Done: "finished", Asking: "waits for a person",
	Retrying: "waits for its next attempt", Failed: "failed", Cached: "from the cache", Skipped: "skipped",
}

// Word returns what people read for a state.
func Word(s State) string { return words[s] }

// Mark is what a run has done with one node.
type Mark struct {
	State State
	Ran   int // how often it ran
	// Tasks is how many tasks the node has in the step under way, and Finished how many of them
	// have ended.
	Tasks, Finished int
	Attempt         int           // of the last task, from 1; 0 if it is not known
	Took            time.Duration // the steps in which it ran, together
	Note            string        // a question or a failure
}

// Run is what a run has done in a graph. The zero Run has done nothing.
type Run struct {
	Marks map[string]Mark // by the id of the node in the drawing
	Whys  map[Way]string  // the last reason for a choice
	Taken map[Edge]int    // how often a choice was taken
	Over  bool            // the turn has ended
	text  string          // the drawing as text
}

// Way names two nodes by their ids in the drawing, of which the first leads to the second.
type Way struct{ From, To string }

// Edge names an edge by the ids of its nodes and its kind, as a graph.DrawnEdge has them.
type Edge struct{ From, To, Kind string }

// NewRun returns what a thread has done, from the drawing that graph.StoredThread.Draw returns and
// the commits of the same turn, the newest first. Without commits it has no questions, failures,
// durations and reasons.
func NewRun(d graph.Drawing, turn []graph.CommitInfo) *Run {
	r := &Run{Marks: map[string]Mark{}, Whys: map[Way]string{}, Taken: map[Edge]int{}, text: d.Text()}
	r.Over = len(turn) > 0 && turn[0].Status == graph.Done
	r.count(&d)
	ids := map[string]string{}
	for _, n := range d.Nodes {
		ids[n.Name] = n.ID
	}
	for i, c := range turn {
		r.ran(c, ids)
		if i+1 < len(turn) && turn[i+1].Run == c.Run {
			r.time(c, ids, c.Time.Sub(turn[i+1].Time))
		}
	}
	if len(turn) > 0 {
		r.head(&d, turn[0], ids)
	}
	return r
}

// count takes over what the drawing itself has of a run.
func (r *Run) count(d *graph.Drawing) {
	for _, e := range d.Edges {
		if e.Taken > 0 {
			r.Taken[Edge{e.From, e.To, e.Kind}] = e.Taken
		}
	}
	for _, n := range d.Nodes {
		m := Mark{Ran: n.Ran, State: Idle}
		switch {
		case n.Due:
			m.State = Queued
		case n.Ran > 0 || n.Kind == "start" || n.Kind == "end" && r.Over:
			m.State = Done
		case r.Over:
			m.State = Skipped
		}
		r.Marks[n.ID] = m
		if n.Inside != nil && (n.Ran > 0 || n.Due) {
			r.count(n.Inside)
		}
	}
}

// ran notes the reasons for the choices of a commit.
func (r *Run) ran(c graph.CommitInfo, ids map[string]string) {
	for _, t := range c.Ran {
		for _, w := range t.Ways {
			way := Way{ids[t.Node], ids[w.To]}
			if _, newer := r.Whys[way]; !newer && w.Why != "" {
				r.Whys[way] = w.Why
			}
		}
	}
}

// time adds the duration of a step to the nodes that ran in it.
func (r *Run) time(c graph.CommitInfo, ids map[string]string, took time.Duration) {
	once := map[string]bool{}
	for _, t := range c.Ran {
		id, ok := ids[t.Node]
		if m, known := r.Marks[id]; ok && known && !once[id] {
			m.Took += max(took, 0)
			r.Marks[id] = m
		}
		once[id] = true
	}
}

// head marks what waits and what has failed after the newest commit.
func (r *Run) head(d *graph.Drawing, c graph.CommitInfo, ids map[string]string) {
	set := func(id string, change func(*Mark)) {
		if m, ok := r.Marks[id]; ok {
			change(&m)
			r.Marks[id] = m
		}
	}
	for _, t := range c.Due {
		set(ids[t.Node], func(m *Mark) { m.Tasks++ })
	}
	for _, t := range c.Finished {
		set(ids[t.Node], func(m *Mark) { m.Finished++ })
	}
	for id, m := range r.Marks {
		if m.Tasks > 0 && m.Finished == m.Tasks {
			m.State = Done
			r.Marks[id] = m
		}
	}
	for _, f := range c.Failures {
		if !f.Cancelled {
			set(ids[f.Node], func(m *Mark) { m.State, m.Attempt, m.Note = Failed, f.Attempt, f.Message })
		}
	}
	for _, q := range c.Interrupts {
		note := q.Prompt
		if !q.IsQuestion() {
			note = "pauses " + q.Kind
		}
		for _, id := range within(d, q.Namespace, q.Node) {
			set(id, func(m *Mark) { m.State, m.Note = Asking, note })
		}
	}
}

// within returns the ids of a node in a namespace and of the nodes around it.
func within(d *graph.Drawing, namespace, node string) (ids []string) {
	for _, name := range append(pathOf(namespace), node) {
		var inside *graph.Drawing
		for _, n := range d.Nodes {
			if n.Name == name {
				ids, inside = append(ids, n.ID), n.Inside
			}
		}
		if inside == nil {
			break
		}
		d = inside
	}
	return ids
}

// pathOf returns the nodes whose subgraphs a namespace is in, from outside in.
func pathOf(namespace string) (names []string) {
	if namespace == "" {
		return nil
	}
	for part := range strings.SplitSeq(namespace, "|") {
		if end := strings.IndexAny(part, ":/"); end >= 0 {
			part = part[:end]
		}
		names = append(names, part)
	}
	return names
}

// NodeIDs returns the ids of the groups of a node in a namespace and of the nodes around it, the
// outermost first.
func NodeIDs(namespace, node string) (ids []string) {
	path := append(pathOf(namespace), node)
	for i := range path {
		ids = append(ids, NodeID(path[:i+1]...))
	}
	return ids
}

// taken reports whether the run took an edge, and of a choice how often.
func (r *Run) taken(e *graph.DrawnEdge) (count int, taken bool) {
	if r == nil {
		return 0, false
	}
	if labelOf(e) > 0 {
		n := r.Taken[Edge{e.From, e.To, e.Kind}]
		return n, n > 0
	}
	from, to := r.Marks[e.From], r.Marks[e.To]
	return 0, (from.State == Done || from.Ran > 0) && to.State != Idle && to.State != Skipped && to.State != ""
}

// mark returns what the run has done with a node.
func (r *Run) mark(id string) Mark {
	if r == nil {
		return Mark{State: Idle}
	}
	m := r.Marks[id]
	if m.State == "" {
		m.State = Idle
		if r.Over {
			m.State = Skipped
		}
	}
	return m
}

// facts lists what is written under the name of a node, the most important first.
func (m Mark) facts() (facts []string) {
	if m.Tasks > 1 {
		facts = append(facts, fmt.Sprintf("%d/%d", m.Finished, m.Tasks))
	}
	if m.Ran > 1 {
		facts = append(facts, fmt.Sprintf("×%d", m.Ran))
	}
	if m.Attempt > 1 {
		facts = append(facts, fmt.Sprintf("attempt %d", m.Attempt))
	}
	if m.Took > 0 {
		facts = append(facts, Duration(m.Took))
	}
	return facts
}

// Duration returns d with two or three digits, or "" for 0.
func Duration(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < time.Millisecond:
		return "<1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}
