package graph

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// errGoexit is the error of a node that ended its goroutine.
var errGoexit = errors.New("the node called runtime.Goexit")

// execute runs the tasks of the step that are not settled yet. One runs inline,
// several on a bounded pool; results stay with their tasks, so the order in which
// they finish does not matter. It returns when all have ended.
func (r *run) execute() {
	if len(r.tasks) == 1 && !r.tasks[0].settled {
		r.perform(0)
		if r.watch != nil || r.tasks[0].err != nil {
			r.ended(0)
		}
		return
	}
	r.todo = r.todo[:0]
	for i, t := range r.tasks {
		if !t.settled {
			r.todo = append(r.todo, i)
		}
	}
	if len(r.todo) > 0 {
		r.executeMany()
	}
}

// executeMany runs r.todo on a pool. What finished while others still run is
// stored at once, so that a crash does not lose it.
func (r *run) executeMany() {
	p := pool{done: make(chan int, len(r.todo))}
	for range min(len(r.todo), r.cfg.Concurrency) {
		p.Go(func() { r.work(&p) })
	}
	defer p.Wait()
	finished := make([]int, 0, len(r.todo))
	for left := len(r.todo); left > 0; {
		finished = append(finished[:0], <-p.done)
		for more := true; more; {
			select {
			case i := <-p.done:
				finished = append(finished, i)
			default:
				more = false
			}
		}
		left -= len(finished)
		for _, i := range finished {
			r.ended(i)
		}
		if left > 0 {
			r.keep(finished)
		}
	}
}

// pool is the workers of one step.
type pool struct {
	sync.WaitGroup
	next atomic.Int64 // the place in r.todo that is taken next
	done chan int     // the tasks that have ended; it has room for all
}

// work performs tasks until none is left. It reports each one, come what may.
func (r *run) work(p *pool) {
	for at := int(p.next.Add(1)) - 1; at < len(r.todo); at = int(p.next.Add(1)) - 1 {
		r.report(p, r.todo[at])
	}
}

func (r *run) report(p *pool, i int) {
	returned := false
	defer func() {
		if v := recover(); v != nil { // not of the node, but of what its Policy calls
			r.tasks[i].err = r.tasks[i].fail(&PanicError{Value: v, Stack: debug.Stack()})
		} else if !returned { // the node is ending this goroutine; another takes over its work
			r.tasks[i].err = r.tasks[i].fail(errGoexit)
			p.Go(func() { r.work(p) })
		}
		p.done <- i
	}()
	if r.ctx.Err() != nil {
		r.tasks[i].err = r.tasks[i].fail(r.cancelled())
	} else {
		r.perform(i)
	}
	returned = true
}

// ended tells the watchers how task i ended, and stops the others if it failed.
func (r *run) ended(i int) {
	t := r.tasks[i]
	if t.err != nil {
		r.stop(t.err)
	}
	if r.watch != nil {
		r.emitEnd(t)
	}
}

// errStopped is the cause of cancelling a step in which another task failed.
var errStopped = errors.New("graph: stopped because another task failed")

// stop cancels the other tasks of the step, because of err.
func (r *run) stop(err error) { r.cancel(fmt.Errorf("%w: %w", errStopped, err)) }

// perform runs task i to its end: a result, a question, or an error after the last
// attempt.
func (r *run) perform(i int) {
	t := r.tasks[i]
	for {
		t.attempt++
		if r.watch != nil {
			r.emitStart(t)
		}
		var err error
		if t.node.limit == 0 {
			err = t.call(t)
		} else {
			err = r.attempt(i)
			t = r.tasks[i] // a task that was given up has a successor
		}
		if err == nil || len(t.open) > 0 && errors.Is(err, ErrInterrupted) {
			return
		}
		t.open = nil
		t.err = t.fail(r.because(err))
		if r.ctx.Err() != nil || !t.node.retry.again(t.attempt, err) || !r.pause(t) {
			return
		}
		t.err = nil
		t.reset()
	}
}

// pause waits before the next attempt of t; false means that the run has ended.
func (r *run) pause(t *task) bool {
	if r.watch != nil {
		r.emitRetry(t)
	}
	timer := time.NewTimer(t.node.retry.wait(t.attempt))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// attempt runs the node of task i once, on a goroutine of its own and within its timeout.
func (r *run) attempt(i int) error {
	t := r.tasks[i]
	limit := t.node.limit
	ctx, cancel := context.WithTimeoutCause(t, limit, ErrTimeout)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		err := errGoexit
		defer func() { done <- err }()
		err = t.call(ctx)
	}()
	select {
	case err := <-done:
		if err == nil || ctx.Err() == nil || r.ctx.Err() != nil {
			return err
		}
		return outOfTime(limit, err)
	case <-ctx.Done():
	}
	// The node may still return in good order. If it was its own time that ended, and
	// not the run, what it did does not count.
	late := r.ctx.Err() == nil
	t.fenced.Store(late)
	timer := time.NewTimer(r.cfg.Grace)
	defer timer.Stop()
	select {
	case err := <-done:
		t.fenced.Store(false)
		if late {
			t.open = nil
			return outOfTime(limit, err)
		}
		return err
	case <-timer.C:
		r.replace(i)
		if late {
			return outOfTime(limit, ErrAbandoned)
		}
		return ErrAbandoned
	}
}

// outOfTime returns the error of an attempt that ran into its limit; err is what
// the node itself returned.
func outOfTime(limit time.Duration, err error) error {
	if err == nil || errors.Is(err, ErrTimeout) {
		return fmt.Errorf("%w: the limit is %v", ErrTimeout, limit)
	}
	return fmt.Errorf("%w: the limit is %v (%w)", ErrTimeout, limit, err)
}

// because adds why the run's context ended to an error that only says that it did.
func (r *run) because(err error) error {
	cause := context.Cause(r.ctx)
	switch {
	case cause == nil || errors.Is(err, cause):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrAbandoned):
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// replace gives up task i, whose node still runs, and puts a new one in its place.
func (r *run) replace(i int) {
	old := r.tasks[i]
	old.fenced.Store(true)
	t := r.newTask()
	t.begin(old.node, old.out.Node, old.index, old.payload)
	t.attempt = old.attempt
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
