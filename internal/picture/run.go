package picture

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// State is what a run has done with a node. The class of the node in the picture is "state-" and
// the State, such as "state-failed".
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
	Attempt         int           // of the task that failed, runs or waits, from 1; 0 if there is none
	Took            time.Duration // the sum of the durations of the steps in which it ran
	Note            string        // a question, a failure, or what it waits for
}

// Run is what a run has done in a graph. The zero Run has done nothing.
type Run struct {
	Marks map[string]Mark // by the id of the node in the drawing
	Whys  map[Edge]string // the reason when an edge was chosen last; "" if there was none
	Taken map[Edge]int    // how often a choice or an error handler's edge was taken
	Over  bool            // the turn has ended
	text  string          // the drawing as text
}

// Edge names an edge by the ids of its nodes and its kind, as a graph.DrawnEdge has them.
type Edge struct{ From, To, Kind string }

// NewRun returns what a thread has done in a turn. turn has commits of the turn, the newest first,
// and d is the drawing that graph.StoredThread.DrawTurn returns for them. Without commits the Run
// has no questions, failures, durations and reasons, and Over is false.
func NewRun(d graph.Drawing, turn []graph.CommitInfo) *Run {
	r := &Run{Marks: map[string]Mark{}, Whys: map[Edge]string{}, Taken: map[Edge]int{}, text: d.Text()}
	r.Over = len(turn) > 0 && turn[0].Status == graph.Done
	r.count(&d)
	ids := map[string]string{}
	for _, n := range d.Nodes {
		ids[n.Name] = n.ID
	}
	for i, c := range turn {
		r.addReasons(&d, c, ids)
		if i+1 < len(turn) && turn[i+1].Run == c.Run {
			r.time(c, ids, c.Time.Sub(turn[i+1].Time))
		}
	}
	if len(turn) > 0 {
		r.head(&d, turn[0], ids)
	}
	return r
}

// count copies the counts of the drawing and sets the state of each node, also in the subgraphs of
// nodes that ran or are due.
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

// addReasons adds the reasons for the choices of a commit. Call it with the newest commit first.
func (r *Run) addReasons(d *graph.Drawing, c graph.CommitInfo, ids map[string]string) {
	whys := map[Edge]string{} // of this commit, in which an edge may be chosen several times
	for _, t := range c.Ran {
		for _, w := range t.Ways {
			if e := chosenEdge(d, ids[t.Node], ids[w.To], w.Branch == checkpoint.HandlerBranch); e != (Edge{}) {
				whys[e] = cmp.Or(w.Why, whys[e])
			}
		}
	}
	for e, why := range whys {
		if _, newer := r.Whys[e]; !newer {
			r.Whys[e] = why
		}
	}
}

// chosenEdge returns the edge by which a node, or its error handler if handled is true, chose a
// target. If only the other edge exists, chosenEdge returns that one: records of earlier versions
// do not have HandlerBranch. It returns the zero Edge if there is none.
func chosenEdge(d *graph.Drawing, from, to string, handled bool) (chosen Edge) {
	for _, e := range d.Edges {
		isHandler := classOf(e.Kind) == handler
		if e.From != from || e.To != to || e.Kind != "choice" && !isHandler {
			continue
		}
		if chosen = (Edge{from, to, e.Kind}); isHandler == handled {
			break
		}
	}
	return chosen
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

// head adds what the newest commit has of the step under way: how many tasks have finished, which
// failed, and which ask.
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

// within returns the ids that a node in a namespace, and the nodes around it, have in the drawing.
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

// pathOf returns the names of the nodes that a namespace leads through, the outermost first.
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

// NodeIDs returns the NodeID of a node in a namespace and those of the nodes around it, the
// outermost first. These are ids in the picture, not in the drawing.
func NodeIDs(namespace, node string) (ids []string) {
	path := append(pathOf(namespace), node)
	for i := range path {
		ids = append(ids, NodeID(path[:i+1]...))
	}
	return ids
}

// taken reports whether the run took an edge. For a choice or an error handler's edge it also
// returns how often. For an edge of the kind "edge" or "join" the count is 0, and the states of
// its nodes decide whether it was taken.
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

// Duration returns d in one or two units, such as "12 ms", "3.4 s" or "5 min 6 s", or "" for 0.
func Duration(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < time.Millisecond:
		return "<1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute-50*time.Millisecond: // at this bound %.1f would give "60.0 s"
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return "1 min 0 s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}
