package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/step"
)

// run is one call of Invoke, Resume or Stream. One goroutine, the coordinator, owns it. Tasks reach
// it only through their results.
type run struct {
	*program
	session   *session
	ctx       context.Context // the life: ends with the caller's, a limit, or the first failure
	life      life
	req       *request
	opts      *RunOptions // of the session; a subgraph has those of its root
	questions questions

	values
	progress
	superstep
	goal    goal
	paused  pause
	givenUp atomic.Bool // it must not write any more
	running *running    // the tasks whose nodes run, also in subgraphs; nil if none can be given up
	nested
	lastChild atomic.Pointer[childProgram] // what childProgram returned last
	observed  atomic.Pointer[observation]  // nil without an observer
	driven    *drivenRun                   // nil unless the run is at the root and driven from outside

	committer
}

// progress is how far a run has come in its thread.
type progress struct {
	origin       string // the id of the call that began the thread
	branch       uint64 // the commit that began the branch
	turn, step   int    // step is the current step, or the last one between two steps
	done         int    // the last step that ended
	invalid      int    // how often the results of the restored step could not be folded
	failedBefore *rerun // how often runs of the restored step have failed
	steps        int    // supersteps of this call
	front        step.Frontier
	inputHash    string            // of the turn's input
	taken        uint64            // the newest queued input that has begun a turn
	labels       map[string]string // the metadata of the commit with which the run went on
	pin          string            // the program to which the thread is pinned
}

// goal is what a run does after its request was served.
type goal uint8

const (
	runTurn    goal = iota // run the turn to its end
	runTurns               // run the turn, and then the turns of the queued inputs
	runNothing             // the thread was only edited
	stayQueued             // run nothing: the input is queued
)

// runs reports whether there are steps to run.
func (g goal) runs() bool { return g == runTurn || g == runTurns }

// runSteps runs supersteps until no task is due, a question is open, or the run fails. What Resume
// needs is stored when it returns, or by the flush that follows in serveRequest.
func (r *run) runSteps() (Status, error) {
	for {
		if status, err := r.plan(); status != planned {
			return status, err
		}
		if status, err := r.runStep(); status != planned {
			return status, err
		}
		if r.req.replays() && r.step >= r.req.replay.until {
			return Pending, nil
		}
	}
}

// runStep runs the tasks of the step, and commits it.
func (r *run) runStep() (Status, error) {
	if o := r.session.observer(); o != nil {
		return r.observedStep(o)
	}
	r.execute()
	return r.commitStep()
}

// planned is the status of a run that has a step to run.
const planned Status = ""

// plan prepares the tasks of the due step and returns planned. If there is no step to run, it
// returns the status with which the run ends.
func (r *run) plan() (Status, error) {
	if r.front.Empty() {
		return Done, nil
	}
	restored := min(len(r.tasks), 1) // the restored step is counted already
	if r.breaks && r.paused.after(r.ns(), r.nodes, r.outs) {
		r.steps -= restored
		return r.pauseHere()
	}
	if (r.session.drain != nil || r.opts.StopAtTaskQueue) && r.drains() {
		r.steps -= restored
		r.paused.drained = true
		return Pending, nil
	}
	if err := r.mayStep(); err != nil {
		return Failed, err
	}
	r.prepare()
	if r.breaks && r.paused.before(r.ns(), r.tasks) {
		r.steps-- // it does not run
		return r.pauseHere()
	}
	return planned, nil
}

// drains reports whether the run must stop before the next step. A cancelled run does not drain: it
// ends with its error.
func (r *run) drains() bool {
	_, ok := r.session.drain.Requested()
	ok = ok || r.opts.StopAtTaskQueue && r.inside == nil && r.hasTaskQueue()
	return ok && r.ctx.Err() == nil
}

// hasTaskQueue reports whether a task is due whose Policy names a queue, or makes it a child.
func (r *run) hasTaskQueue() bool {
	for _, n := range r.front.Due {
		if r.nodes[n].isElsewhere() {
			return true
		}
	}
	for _, s := range r.front.Sends {
		if r.nodes[s.Node].isElsewhere() {
			return true
		}
	}
	return false
}

// isElsewhere reports whether an engine runs the tasks of the node in a place of their own.
func (n *node) isElsewhere() bool { return n.queue != "" || n.apart }

// commitStep folds the results of the step's tasks and commits them. If a task has not finished, it
// returns the status with which the run ends.
func (r *run) commitStep() (Status, error) {
	switch waits, err := r.assess(); {
	case err != nil:
		return Failed, err
	case waits:
		return Interrupted, nil
	}
	r.endWrites()
	if r.leaving != nil {
		return r.leaveFor(r.leaving)
	}
	if err := r.fold(); err != nil {
		return Failed, r.invalidate(err)
	}
	r.advance()
	if err := r.commit(checkpoint.Step); err != nil {
		return Failed, err
	}
	r.publish()
	return planned, nil
}

// endWrites closes the memo journals of the step's tasks if functions in them were given up. So no
// function that still runs stores anything, or reads the state while it changes.
func (r *run) endWrites() {
	if !r.session.gaveUp.Load() {
		return
	}
	for _, t := range r.tasks {
		t.memo().close()
	}
	if r.journal != nil {
		r.journal.Wait()
	}
}

// fold merges the writes of the step's tasks into the state.
func (r *run) fold() error {
	err := r.shared.addStep(r.program, &r.values, r.tasks)
	if err == nil {
		err = r.values.fold(r.program, r.tasks)
	}
	if err != nil {
		return r.fail(err)
	}
	return nil
}

// leaveFor ends the run with a Command to the parent. The step's writes are dropped, and
// the Command is stored in the last commit.
func (r *run) leaveFor(up *parentCommand) (Status, error) {
	r.concluded()
	r.front, r.up = step.Frontier{}, up
	r.shared.committed()
	if err := r.commit(checkpoint.Step); err != nil {
		return Failed, err
	}
	for _, t := range r.tasks {
		t.memo().close()
	}
	r.tasks = slices.Delete(r.tasks, 0, len(r.tasks))
	return Done, nil
}

// mayStep checks the limits of the run. It is called only if a task is due, so a finished run never
// fails at a limit.
func (r *run) mayStep() error {
	taken, limit := r.steps, r.cfg.MaxSteps
	if r.opts.MaxSteps > 0 && r.inside == nil {
		limit = r.opts.MaxSteps
	}
	if len(r.tasks) > 0 {
		taken-- // the restored step is counted already
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

// first returns a if it is an error, or else b.
func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// advance computes the next due tasks.
func (r *run) advance() {
	r.concluded()
	r.shape.Advance(&r.front, r.outs)
	r.done = r.step
}

// publish sends the events of the step to the readers, and drops its finished tasks.
func (r *run) publish() {
	r.session.events.step(r)
	for i, t := range r.tasks {
		if t.isFound() {
			t.memo().close()
			t.running.drop(t)
			r.tasks[i] = nil
		}
	}
	r.tasks = r.tasks[:0]
	r.paused.resumed = false
}

// pauseHere pauses at a static interrupt. It stores the pause, so that Resume passes the interrupt.
func (r *run) pauseHere() (Status, error) {
	if r.journal != nil {
		if err := r.journal.Put(append(r.carrierEntries(), checkpoint.Entry{Slot: slotPaused, Data: r.pauseNote()})); err != nil {
			return Failed, err
		}
	}
	return Interrupted, nil
}

// isGivenUp reports whether the run, or a run that contains it, was given up.
func (r *run) isGivenUp() bool {
	return r.givenUp.Load() || r.inside != nil && r.inside.isGivenUp()
}

// cancelled returns why the run's context ended.
func (r *run) cancelled() error {
	err, cause := r.ctx.Err(), context.Cause(r.ctx)
	if errors.Is(cause, err) || err == nil {
		return cause
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// wasCancelled reports whether the run's context was cancelled rather than timed out.
func (r *run) wasCancelled() bool { return errors.Is(r.ctx.Err(), context.Canceled) }

// metadata returns the metadata of the commits that the run makes.
func (r *run) metadata() map[string]string {
	if r.opts.Metadata != nil {
		return r.opts.Metadata
	}
	if r.inside != nil {
		if m := r.inside.run.metadata(); m != nil {
			return m
		}
	}
	return r.labels
}

// thread reads the commits of the run's thread.
func (r *run) thread() threadReader { return threadReader{r.context(), r.cfg.Store, r.opts.Thread} }

// key names the run's chain of commits.
func (r *run) key() checkpoint.Key {
	return checkpoint.Key{Thread: r.opts.Thread, Namespace: r.ns()}
}

func (r *run) taskID(turn, step int, node string, index int) string {
	var room [256]byte
	text := appendPart(room[:0], "task")
	text = appendPart(appendPart(text, r.origin), r.ns())
	text = appendNumber(appendNumber(text, turn), step)
	return hexHash(appendNumber(appendPart(text, node), index))
}

// nested has the fields of a run that is a subgraph. A run that edits the state of a subgraph has a
// location, and no task.
type nested struct {
	inside *task          // the task that calls it; nil at the root
	call   *childCall     // what it serves; nil at the root
	depth  int            // how many runs it is inside of
	up     *parentCommand // the Command for the parent, if it ended with one
	shared *sharedState   // nil if it does not share the state of its parent
	at     atomic.Pointer[location]
}

// location is where a run is in its thread.
type location struct {
	namespace string             // "" is the root
	place     *checkpoint.Within // where the run is called; nil at the root
}

// root is the location of all runs that are no subgraphs.
var root location

// location returns where the run is. That of a subgraph has hashes in it, and is made when it is
// first asked for: without a store it often is not.
func (n *nested) location() *location {
	switch l := n.at.Load(); {
	case l != nil:
		return l
	case n.call == nil:
		return &root
	}
	n.at.CompareAndSwap(nil, n.call.location())
	return n.at.Load()
}

// ns returns the namespace of the run; "" is the root.
func (n *nested) ns() string { return n.location().namespace }

// place returns where the run is called; nil at the root.
func (n *nested) place() *checkpoint.Within { return n.location().place }

// within returns the parent's part of the next commit's record.
func (n *nested) within() *checkpoint.Within {
	if n.place() == nil {
		return nil
	}
	w := *n.place()
	if n.shared != nil && n.shared.wrote != nil {
		w.Wrote, _ = json.Marshal(n.shared.wrote) // cannot fail: names and JSON
	}
	if n.up != nil {
		w.Command, _ = json.Marshal(n.up) // cannot fail
	}
	return &w
}
