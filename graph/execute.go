package graph

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// errGoexit is the error of a node that ended its goroutine.
var errGoexit = errors.New("the node called runtime.Goexit")

// execute runs the tasks of the step that are not settled yet. One runs inline,
// several on a bounded pool; results stay with their tasks, so the order in which
// they finish does not matter. It returns when all have ended.
func (r *run) execute() {
	if len(r.tasks) == 1 && !r.tasks[0].settled {
		r.performInline()
		if r.session.watch != nil || r.tasks[0].err != nil {
			r.ended(0)
		}
		return
	}
	r.todo = slices.Grow(r.todo[:0], len(r.tasks))
	for i, t := range r.tasks {
		if !t.settled {
			r.todo = append(r.todo, i)
		}
	}
	if len(r.todo) > 0 {
		r.executeMany()
	}
}

// performInline runs the only task of the step. A panic that is not the node's, but of what its
// Policy calls or of a method of its error, is a failure of the task too.
func (r *run) performInline() {
	t := r.tasks[0] // a first attempt that succeeds runs nothing that may panic but its node, whose panic call takes
	if !r.isQuick(t) {
		r.performSafely(func() { r.perform(0) })
		return
	}
	t.attempt = 1
	if err := t.call(t); err != nil || len(t.open) > 0 || t.unsaved != nil {
		r.performSafely(func() { r.endQuick(0, err) })
	}
}

// performSafely calls f, which performs the only task of the step.
func (r *run) performSafely(f func()) {
	defer func() {
		if v := recover(); v != nil {
			r.tasks[0].endedBy(&PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	f()
}

// isQuick reports whether t needs no timer, watcher, cache or retry state for its first attempt.
func (r *run) isQuick(t *task) bool {
	return t.node.quick && r.session.watch == nil && r.inside == nil && t.attempt == 0 && t.within == 0
}

// endQuick goes on with task i, which is quick, after its first attempt.
func (r *run) endQuick(i int, err error) {
	t := r.tasks[i]
	if r.more(t, err, time.Time{}) {
		r.performFully(i)
	} else if t.err != nil {
		r.rescue(i)
	}
}

// ended tells the watchers how task i ended, and stops the others if it failed.
func (r *run) ended(i int) {
	t := r.tasks[i]
	if t.err != nil {
		r.stop(t.err)
	}
	if r.session.watch != nil {
		r.emitEnd(t)
	}
}

// errStopped is the cause of cancelling a step in which another task failed.
var errStopped = errors.New("graph: stopped because another task failed")

// stopped is the cause of cancelling a step of a run in which a task failed with err. It is an
// errStopped.
type stopped struct {
	by  *run
	err error
}

func (e *stopped) Error() string   { return errStopped.Error() + ": " + textOf(e.err) }
func (e *stopped) Unwrap() []error { return []error{errStopped, e.err} }

// stop cancels the other tasks of the step, because of err.
func (r *run) stop(err error) { r.cancel(&stopped{r, err}) }

// perform runs task i to its end: a result, a question, or an error that neither a
// retry nor a handler could mend.
func (r *run) perform(i int) {
	t := r.tasks[i]
	if !r.isQuick(t) {
		r.performFully(i)
		return
	}
	t.attempt = 1
	r.endQuick(i, t.call(t))
}

// performFully is perform for a task that is not quick, or whose first attempt has failed.
func (r *run) performFully(i int) {
	t := r.tasks[i]
	if r.inside != nil {
		r.inside.alive()
	}
	if t.node.cache != nil && t.back == nil && t.recall() {
		return
	}
	r.try(i)
	if t = r.tasks[i]; t.err != nil {
		r.rescue(i)
	} else if t.node.cache != nil && t.back == nil {
		t.memoize()
	}
}

// rescue lets the handler of task i, if it has one, mend its failure.
func (r *run) rescue(i int) {
	t := r.tasks[i]
	if t.node.rescue == nil || t.after || !t.rescuable() {
		return
	}
	if r.ctx.Err() != nil {
		t.cutOff()
		return
	}
	if t.err = t.toHandler(t.err); t.err == nil {
		r.try(i)
	}
}

// try runs the job of task i until an attempt succeeds or asks, or none is left.
func (r *run) try(i int) {
	t := r.tasks[i]
	var began time.Time
	if t.job.budgeted {
		began = time.Now()
	}
	if t.attempt == 0 {
		t.attempt = 1
	}
	for again := true; again; {
		err := r.attempt(i)
		t = r.tasks[i] // a task that was given up has a successor
		again = r.more(t, err, began)
	}
}

// more looks at how an attempt of t ended, and reports whether another follows.
func (r *run) more(t *task, err error, began time.Time) bool {
	finished := err == nil && len(t.open) == 0
	if finished && t.unsaved == nil {
		return false
	}
	if t.unsaved != nil && !finished {
		err = errors.Join(err, t.saveChildren())
	}
	if finished || len(t.open) > 0 && (err == nil || errors.Is(err, ErrInterrupted)) {
		return false
	}
	t.open = nil
	t.err = t.failed(err)
	if t.after || !r.pause(t, err, began) {
		return false
	}
	t.again()
	return true
}

// pause waits before the next attempt of t, which failed with err; false means that
// there is none.
func (r *run) pause(t *task, err error, began time.Time) bool {
	var elapsed time.Duration
	if t.job.budgeted {
		elapsed = time.Since(began)
	}
	wait, again := t.job.retry.again(t.attempt, err, elapsed, r.cfg.Rand)
	if !again {
		return false
	}
	if r.ctx.Err() != nil {
		t.cutOff()
		return false
	}
	if r.session.watch != nil {
		r.emitRetry(t)
	}
	t.hold(1)
	defer t.hold(-1)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.ctx.Done():
		t.cutOff()
		return false
	}
}

// because adds why the run's context ended to the error of what failed after that: the cause
// comes first.
func (r *run) because(err error) error {
	cause := context.Cause(r.ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// replace gives up task i, whose node still runs, and puts a new one in its place.
func (r *run) replace(i int) {
	old := r.tasks[i]
	old.fenced.Store(true)
	t := r.furnish(new(task), r.schema.Blank()) // this is a worker
	t.begin(old.node, old.out.Node, old.index, old.payload)
	t.attempt, t.within, t.job, t.failure = old.attempt, old.within, old.job, old.failure
	t.timed = old.timed
	t.ledger = old.book()
	if old.back != nil {
		back := *old.back
		back.reached = false
		t.back = &back
		t.found.Store(true)
	}
	old.drop()
	r.tasks[i] = t
}

// cancelled returns why the run's context ended.
func (r *run) cancelled() error {
	err, cause := r.ctx.Err(), context.Cause(r.ctx)
	if errors.Is(cause, err) || err == nil {
		return cause
	}
	return fmt.Errorf("%w: %w", cause, err)
}
