package graph

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/journal"
	"github.com/weftrun/weft/internal/schedule"
	"github.com/weftrun/weft/internal/step"
	"github.com/weftrun/weft/state"
)

// task is one run of a node in one superstep. It is also the context that the node
// gets, so that a step costs no allocation; [taskOf] finds it again. A task that was
// looked for in a context is not used again: somebody may have kept it, and would
// speak for another.
//
// Only the goroutine that runs the node touches a task while it runs, except for
// what mu guards. A task whose node did not return is fenced and given up: a new
// one takes its place, so late writes land nowhere.
type task struct {
	context.Context // the run's

	run     *run
	node    *node
	step    int
	index   int // among the step's Sends; -1 for an edge-triggered task
	payload any
	within  time.Duration // the time of an attempt that the Send gave; 0 is that of the node
	view    state.View
	job     *job // what runs: the node, or its handler

	attempt  int
	out      step.Outcome
	went     []decision // the decisions behind out
	why      []string   // the reasons that were given for them
	err      error
	after    bool        // it failed after the run's context had ended: its err is a consequence
	cacheKey string      // what the result has in the cache; "" if it is not to be kept
	cached   bool        // the result comes from the cache
	settled  bool        // there is nothing to run: the result is stored, or the question open
	open     []Interrupt // the questions that have no answer
	timed    []Interrupt // what was asked before this call and expires
	fenced   atomic.Bool
	storedID string         // the id, once it was asked for
	up       *parentCommand // the Command for the parent with which the run is to end

	tried []Failure // the alternatives of a Fallback that have failed

	found     atomic.Bool        // somebody looked for it in a context, and may have kept it
	scope                        // of the node; its mu guards the rest
	ledger    *ledger            // what the node's code keeps; nil until it does
	part      string             // the part of the node that runs; "" is the first, or only, one
	failure   *NodeError         // what the handler is to mend; nil while the node itself runs
	consulted bool               // what it does may depend on an answer
	relabel   string             // what its events show in place of its payload; "" is the payload
	unsaved   []*journal.Journal // of its subgraphs that are done and not stored
	left      []Interrupt        // the open questions of its subgraphs that failed
	back      *rewound           // it takes up a subgraph at an older commit
	tries     int                // how often it was begun anew after it was found
	activity  schedule.Activity  // its signs of life, for Policy.Idle

	running *running // where it is listed; nil where nothing gives it up
	listing
}

// Value makes the task findable in every context derived from it.
func (t *task) Value(key any) any {
	if !t.found.Load() {
		t.found.Store(true)
	}
	if key == (scopeKey{}) {
		return &t.scope
	}
	return t.Context.Value(key)
}

// taskOf returns the task that ctx belongs to, or nil.
func taskOf(ctx context.Context) *task {
	s := scopeOf(ctx)
	if s == nil {
		return nil
	}
	return s.task
}

// id returns the task's id: a hash of thread, namespace, turn, step, node and place
// among Sends. The turn counts because a turn that was given up leaves its step behind.
func (t *task) id() string {
	if t.storedID == "" {
		t.storedID = t.run.taskID(t.step, t.node.name, t.index)
	}
	return t.storedID
}

// hash returns 16 hex digits that depend on all parts and on where they end: enough
// to tell things of one thread apart.
func hash(parts ...string) string { return longHash(parts...)[:16] }

// longHash returns 32 hex digits, enough to tell things apart anywhere.
func longHash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// begin makes t a fresh task.
func (t *task) begin(n *node, number, index int, payload any) {
	t.node, t.job, t.step, t.out.Node, t.index = n, &n.job, t.run.step, number, index
	t.attempt, t.settled, t.within, t.cached = 0, false, 0, false
	if t.permit != t.run.permit {
		t.permit = t.run.permit
	}
	if t.running != t.run.running {
		t.list(t.run.running)
	}
	if t.payload != nil || payload != nil {
		t.payload = payload
	}
	if t.dirty() {
		t.err, t.open, t.storedID, t.failure, t.timed = nil, nil, "", nil, nil
	}
	t.reset()
}

// again makes t ready for its next attempt.
func (t *task) again() {
	t.mu.Lock()
	t.attempt++
	t.mu.Unlock()
	t.err = nil
	t.reset()
}

// dirty reports whether an earlier step left what most steps do not leave: looking is
// cheaper than writing. What only a task has that was found is not there: it is not used
// again.
func (t *task) dirty() bool {
	return t.err != nil || t.open != nil || t.storedID != "" || t.failure != nil || t.timed != nil
}

// reset drops what an attempt left.
func (t *task) reset() {
	t.run.schema.Assign(t.view, t.run.state)
	if len(t.went) > 0 || t.up != nil || t.tried != nil {
		t.up, t.tried = nil, nil
		t.out.Goto, t.out.Sends, t.went, t.why = t.out.Goto[:0], t.out.Sends[:0], t.went[:0], t.why[:0]
	}
	t.out.Diverted = false
	if t.found.Load() {
		t.reopen()
	}
}

// end waits for what the node of a task that was found has left running. err is how the
// node ended; end returns how the attempt does.
func (t *task) end(err error) error {
	t.name() // from now on it is only read
	err = t.ending(t.close(err))
	t.open = t.unanswered()
	if t.back != nil && err == nil && len(t.open) == 0 {
		err = t.missed()
	}
	return err
}

// asks reports whether the node of a task that was found has asked what is not
// answered.
func (t *task) asks() bool { return len(t.unanswered()) > 0 }

// errOver is returned to what a node left running.
var errOver = fmt.Errorf("%w: its node has returned", ErrNoTask)

// call runs the node and its branches once. A panic becomes an error.
func (t *task) call(ctx context.Context) (err error) {
	listed := t.running != nil
	if listed {
		t.starts()
	}
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		t.noteEnd(err)
		if t.found.Load() {
			failed := err != nil
			if err = t.end(err); !failed {
				t.noteEnd(err)
			}
		}
		if listed {
			t.ends()
		}
	}()
	payload := t.payload
	if t.failure != nil {
		payload = t.failure
	}
	cmd, err := t.job.call(ctx, t.view.State, payload)
	if err == nil && t.node.straight && cmd.zero() && t.failure == nil && !t.found.Load() {
		return t.run.schema.CheckWrites(t.view) // it only goes along its edges
	}
	goes := !cmd.empty()
	if up := parentCommandIn(err); up != nil {
		goes = len(up.Goto)+len(up.Sends) > 0
		err = t.obey(up)
	} else if err == nil {
		if t.found.Load() && t.asks() {
			return nil
		}
		err = t.route(cmd, t.job.targets, 0)
	}
	if err == nil {
		err = t.run.schema.CheckWrites(t.view)
	}
	if err != nil || t.up != nil {
		return err
	}
	if t.out.Diverted = t.failure != nil && goes; t.out.Diverted {
		return nil
	}
	for i, b := range t.node.branches {
		cmd, err := b.call(ctx, t.view.State, nil)
		if err != nil {
			return inBranch(err)
		}
		if err := t.route(cmd, b.targets, i+1); err != nil || t.up != nil {
			return inBranch(err)
		}
		if err := t.run.schema.CheckWrites(t.view); err != nil { // a branch may write too
			return inBranch(err)
		}
	}
	if t.node.mustGo && !goes && len(t.node.branches) == 0 {
		return t.nowhere()
	}
	return nil
}

// nowhere is the error of a node that must say where to go and did not.
func (t *task) nowhere() error {
	sends := func(to target) bool { return to.node != end && t.run.nodes[to.node].payload != nil }
	if slices.ContainsFunc(t.job.targets, sends) {
		return &nowhereError{fmt.Sprintf("the Command names none of %v and starts no task, as when the list of a fan-out is empty, and no edge leads on; "+
			"return a Goto for the empty list, or add an edge from the node", t.job.targets)}
	}
	return &nowhereError{fmt.Sprintf("the Command names none of %v, and no edge leads on; return a Goto, or add an edge from the node", t.job.targets)}
}

// nowhereError is an ErrTarget without its words: no target was named, declared or not.
type nowhereError struct{ what string }

func (e *nowhereError) Error() string { return "graph: " + e.what }

func (e *nowhereError) Is(err error) bool { return err == ErrTarget }

func inBranch(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("branch: %w", err)
}

// route turns the names in a Command into numbers. Branch is the number of the branch
// that gave it, from 1, or 0.
func (t *task) route(c Command, allowed targets, branch int) error {
	if c.empty() {
		return nil
	}
	return t.follow(c, allowed, branch)
}

func (t *task) follow(c Command, allowed targets, branch int) error {
	for _, m := range c.additions() {
		if m.up != nil {
			return t.leave(c, m.up)
		}
	}
	first, why := len(t.went), ""
	if c.to != "" {
		if err := t.goTo(c.to, allowed, branch); err != nil {
			return err
		}
	}
	for _, m := range c.additions() {
		var err error
		switch {
		case m.why != "":
			why = m.why
		case m.send:
			err = t.send(m, allowed, branch)
		case m.within != 0:
			err = fmt.Errorf("graph: WithTimeout(%v) does not follow a Send", m.within)
		default:
			err = t.goTo(m.to, allowed, branch)
		}
		if err != nil {
			return err
		}
	}
	if why != "" {
		if err := state.CheckText(why); err != nil {
			return fmt.Errorf("graph: the reason of a Command: %w", err)
		}
		t.explain(first, why)
	}
	return nil
}

// decision is one target of a Command: a checkpoint.Way without what makes it large.
type decision struct {
	node   int // end for End
	branch int // from 1; 0 for the node's own Command
	why    int // the place in t.why, from 1; 0 if nothing was said
	send   bool
}

// explain gives a reason to the decisions from first on.
func (t *task) explain(first int, why string) {
	t.why = append(t.why, why)
	for i := range t.went[first:] {
		t.went[first+i].why = len(t.why)
	}
}

// ways returns the decisions in the form in which they are stored.
func (t *task) ways() []checkpoint.Way {
	var ways []checkpoint.Way
	for _, d := range t.went {
		w := checkpoint.Way{To: End, Send: d.send, Branch: d.branch}
		if d.node != end {
			w.To = t.run.nodes[d.node].name
		}
		if d.why > 0 {
			w.Why = t.why[d.why-1]
		}
		ways = append(ways, w)
	}
	return ways
}

func (t *task) goTo(name string, allowed targets, branch int) error {
	n, ok := allowed.find(name)
	switch {
	case !ok && name == Parent:
		return fmt.Errorf("%w %q: a Command goes to the parent by InParent or ToParent", ErrTarget, name)
	case !ok:
		return fmt.Errorf("%w %q; it may go to %v", ErrTarget, name, allowed)
	case n == end:
		t.went = append(t.went, decision{node: end, branch: branch})
		return nil
	case t.run.nodes[n].payload != nil:
		return fmt.Errorf("%w %q: a Worker is started by Send, not Goto", ErrTarget, name)
	}
	t.out.Goto = append(t.out.Goto, n)
	t.went = append(t.went, decision{node: n, branch: branch})
	return nil
}

func (t *task) send(s *more, allowed targets, branch int) error {
	n, ok := allowed.find(s.to)
	if !ok || n == end {
		return fmt.Errorf("%w %q of a Send; it may go to %v", ErrTarget, s.to, allowed)
	}
	p := t.run.nodes[n].payload
	switch {
	case p == nil:
		return fmt.Errorf("%w %q of a Send: it is not a Worker and takes no payload", ErrTarget, s.to)
	case !p.accepts(s.payload):
		return fmt.Errorf("graph: the payload of a Send to %q is of type %T, not %s", s.to, s.payload, p.name)
	case s.within < 0:
		return fmt.Errorf("graph: the timeout of a Send to %q, %v, is less than nothing", s.to, s.within)
	}
	if p.text {
		if err := state.CheckText(s.payload); err != nil {
			return fmt.Errorf("graph: the payload of a Send to %q: %w", s.to, err)
		}
	}
	t.out.Sends = append(t.out.Sends, step.Send{Node: n, Payload: s.payload, Within: int64(s.within)})
	t.went = append(t.went, decision{node: n, branch: branch, send: true})
	return nil
}
