package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/journal"
	"github.com/weftrun/weft/internal/schedule"
	"github.com/weftrun/weft/internal/step"
	"github.com/weftrun/weft/state"
)

// run is one call of Invoke, Resume or Stream. One goroutine, the coordinator,
// owns it; tasks reach it only through what they return.
type run struct {
	*program
	session   *session
	ctx       context.Context // ends with the caller's, a limit, or the first failure
	cancel    context.CancelCauseFunc
	req       *request
	opts      RunOptions
	ns        string // the namespace; "" is the root
	depth     int    // how many runs this one is inside of
	questions questions

	values
	progress
	goal    goal
	paused  pause
	leaving *ascent          // the Command to the parent that ends the run after this step: the first of several
	inside  *task            // the task that runs this subgraph; nil at the root
	fenced  atomic.Bool      // the run was given up: it must not write any more
	keepErr error            // a failure to store what finished tasks did
	gates   sync.Map         // runner → *schedule.Gate, for those with a Policy.Parallel
	running *running         // the tasks whose nodes run, those of subgraphs too; nil where nothing gives them up
	nested                   // what is only there in a subgraph
	permit  *schedule.Permit // of the coordinator and the task that it runs inline
	pool    *schedule.Pool   // runs the tasks of wide steps; nil until there is one

	journal *journal.Journal // nil without a store
	next    nextCommit

	tasks  []*task      // of this step, in canonical order
	unused []task       // that nobody has seen yet: tasks of a wide step are made a few at a time,
	views  []state.View // and so are their views
	todo   []int
	outs   []*step.Outcome
	room   room
}

// progress is how far a run has come in its thread.
type progress struct {
	origin     string // the id of the call that began the thread
	branch     uint64 // the commit that began the branch
	turn, step int    // step is the one that runs, or ran last
	done       int    // the last step that ended
	tries      int    // how often the results of the step that was restored could not be folded
	steps      int    // supersteps of this call
	front      step.Frontier
	input      string // the hash of the turn's input
	taken      uint64 // the newest input of the queue that was begun
}

// nextCommit is what the next commit says beside the state and what is due.
type nextCommit struct {
	source  checkpoint.Source
	ran     []checkpoint.Ran // in its step
	closed  []Decision       // on questions that it closes
	closing []Decision       // on those that the commit on its way closes
}

// pause is why a run does not go on although tasks are due.
type pause struct {
	at      []Interrupt // static interrupts, or the questions of a thread on which nothing is run
	drained bool
	resumed bool // from a static interrupt, which the first step passes
}

// goal is what a run has to do once its request has been served.
type goal uint8

const (
	runTurn    goal = iota // run the turn to its end
	runTurns               // and then the turns of the inputs that wait
	runNothing             // the thread was only edited
	stayQueued             // run nothing: the input waits for its turn
)

// runs reports whether there are steps to run.
func (g goal) runs() bool { return g == runTurn || g == runTurns }

// room is where tasks, outs and changed begin, and the first task: a chain with a small state needs no more.
type room struct {
	tasks   [1]*task
	task    task
	outs    [1]*step.Outcome
	changed [16]bool
}

// loop runs supersteps until nothing is due, somebody must be asked, or the run
// fails. When it returns, everything that can be resumed is stored.
func (r *run) loop() (Status, error) {
	for {
		if status, err := r.plan(); status != planned {
			return status, err
		}
		r.execute()
		if status, err := r.commitStep(); status != planned {
			return status, err
		}
		if r.req.replays() && r.step >= r.req.replay.until {
			return Pending, nil
		}
	}
}

// planned is the status of a run whose loop goes on.
const planned Status = ""

// plan prepares the tasks of the step that is due. Where there is none to run, it returns how the
// run ends.
func (r *run) plan() (Status, error) {
	if r.front.Empty() {
		return Done, nil
	}
	if r.breaks && r.pausesAfter() {
		if len(r.tasks) > 0 {
			r.steps-- // a step was taken up, and does not run
		}
		return r.pauseHere()
	}
	if r.session.drain != nil && r.drains() {
		return r.stopHere()
	}
	if err := r.mayStep(); err != nil {
		return Failed, err
	}
	r.prepare()
	if r.breaks && r.pausesBefore() {
		r.steps-- // it does not run
		return r.pauseHere()
	}
	return planned, nil
}

// commitStep folds what the tasks of the step have done, and commits it. Where they have not all
// finished, it returns how the run ends.
func (r *run) commitStep() (Status, error) {
	switch waits, err := r.settle(); {
	case err != nil:
		return Failed, err
	case waits:
		return Interrupted, nil
	}
	if r.leaving != nil {
		return r.leaveFor(r.leaving)
	}
	if err := r.fold(); err != nil {
		return Failed, r.void(err)
	}
	r.advance()
	if err := r.commit(checkpoint.Step); err != nil {
		return Failed, err
	}
	r.publish()
	return planned, nil
}

// mayStep checks the limits of the run. It comes after "is anything due?", so a run
// that is just done never fails.
func (r *run) mayStep() error {
	taken, limit := r.steps, r.cfg.MaxSteps
	if r.opts.MaxSteps > 0 && r.inside == nil {
		limit = r.opts.MaxSteps
	}
	if len(r.tasks) > 0 {
		taken-- // the step that was taken up is already counted
	}
	switch {
	case r.ctx.Err() != nil:
		return r.fail(r.cancelled())
	case taken >= limit:
		return r.fail(fmt.Errorf("%w: %d steps did not finish the run", ErrSteps, limit))
	case r.front.Len() > r.cfg.MaxTasks:
		return r.fail(fmt.Errorf("%w: %d tasks are due, the limit is %d", ErrFanOut, r.front.Len(), r.cfg.MaxTasks))
	}
	return nil
}

// fail wraps err with the place of the run.
func (r *run) fail(err error) error {
	if r.opts.Thread == "" {
		return fmt.Errorf("graph %q: step %d: %w", r.name, r.step, err)
	}
	return fmt.Errorf("graph %q: thread %q: step %d: %w", r.name, r.opts.Thread, r.step, err)
}

// prepare makes the tasks of the next step: edge-triggered nodes by name, then
// Sends. On the first step of a resumed run they may be there already.
func (r *run) prepare() {
	if len(r.tasks) > 0 {
		return
	}
	r.step++
	r.steps++
	if n := r.front.Len(); n > cap(r.tasks) {
		r.tasks = slices.Grow(r.tasks[:cap(r.tasks)], n-cap(r.tasks))[:0] // keeps the tasks of earlier steps for reuse
	}
	for _, n := range r.front.Due {
		r.add(n, -1, nil)
	}
	for i, s := range r.front.Sends {
		r.add(s.Node, i, s.Payload)
		r.tasks[len(r.tasks)-1].within = time.Duration(s.Within)
	}
}

// add appends a task to the step. The tasks of earlier steps are used again.
func (r *run) add(number, index int, payload any) {
	n := len(r.tasks)
	if n < cap(r.tasks) {
		r.tasks = r.tasks[:n+1]
	} else {
		r.tasks = append(r.tasks, nil)
	}
	if r.tasks[n] == nil {
		r.tasks[n] = r.newTask()
	}
	r.tasks[n].begin(&r.nodes[number], number, index, payload)
}

// newTask makes a task of the step; several come from one block. Only the coordinator calls it.
func (r *run) newTask() *task {
	if len(r.unused) == 0 {
		n := min(max(r.front.Len()-len(r.tasks), 0)+1, 16)
		if n == 1 {
			t := &r.room.task
			if t.run != nil { // somebody may know it
				t = new(task)
			}
			return r.furnish(t, r.schema.Blank())
		}
		r.unused, r.views = make([]task, n), r.schema.Blanks(n)
	}
	t, v := &r.unused[0], r.views[0]
	r.unused, r.views = r.unused[1:], r.views[1:]
	return r.furnish(t, v)
}

// furnish makes t a task of the run, that has not begun.
func (r *run) furnish(t *task, v state.View) *task {
	t.Context, t.run, t.view, t.task = r.ctx, r, v, t
	return t
}

// settle looks at what the tasks returned: whether all have finished, whether one
// waits for an answer, and why the step failed. Unless all have finished, what the others
// have done is stored.
func (r *run) settle() (waits bool, err error) {
	failed := false
	for _, t := range r.tasks {
		switch {
		case len(t.open) > 0:
			waits = true
		case t.err != nil:
			failed = true
		case t.up != nil && r.leaving == nil:
			r.leaving = t.up
		}
	}
	if failed {
		err = r.failure()
	}
	if failed || waits || r.keepErr != nil {
		err = errors.Join(err, r.keepAll())
	}
	return waits, err
}

// failure returns the first failure of the step in canonical order, or nil. What failed after the
// step was cancelled is a consequence, and counts only where nothing of the step tells the cause.
func (r *run) failure() error {
	var consequence error
	for _, t := range r.tasks {
		switch {
		case t.err == nil || len(t.open) > 0:
		case !t.after:
			return t.err
		default:
			consequence = first(consequence, t.err)
		}
	}
	if r.keepErr != nil {
		return nil // settle adds it
	}
	return consequence
}

// first returns the first error that is one.
func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// concluded makes what the step's tasks led to the outcomes of the step.
func (r *run) concluded() {
	r.outs = slices.Grow(r.outs[:0], len(r.tasks))
	for _, t := range r.tasks {
		r.outs = append(r.outs, &t.out)
	}
}

// advance works out what is due next.
func (r *run) advance() {
	r.concluded()
	r.shape.Advance(&r.front, r.outs)
	r.done = r.step
}

// publish tells the watchers what the step did, and lets go of its tasks.
func (r *run) publish() {
	if r.session.watch != nil {
		r.emitStep()
	}
	for i, t := range r.tasks {
		if t.found.Load() {
			t.ledger.close()
			t.list(nil)
			r.tasks[i] = nil
		}
	}
	r.tasks = r.tasks[:0]
	r.paused.resumed = false
}

// pausesBefore reports whether a node of the step has a static interrupt before it
// that was not just resumed from.
func (r *run) pausesBefore() bool {
	if r.paused.resumed {
		return false
	}
	for _, t := range r.tasks {
		if t.node.before {
			r.paused.at = append(r.paused.at, Interrupt{Namespace: r.ns, Node: t.node.name, Task: t.id(), Kind: "before"})
		}
	}
	return len(r.paused.at) > 0
}

// pausesAfter reports whether a node of the last step has a static interrupt after it.
func (r *run) pausesAfter() bool {
	if r.paused.resumed {
		return false
	}
	for _, o := range r.outs {
		if n := &r.nodes[o.Node]; n.after {
			r.paused.at = append(r.paused.at, Interrupt{Namespace: r.ns, Node: n.name, Kind: "after"})
		}
	}
	return len(r.paused.at) > 0
}

// pauseHere pauses at a static interrupt. The store remembers that somebody was told,
// so that Resume passes it, and only then.
func (r *run) pauseHere() (Status, error) {
	if r.journal != nil {
		if err := r.journal.Put([]checkpoint.Entry{{Slot: slotPaused, Data: r.pauseNote()}}); err != nil {
			return Failed, err
		}
	}
	return Interrupted, nil
}
