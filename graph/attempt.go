package graph

import (
	"context"
	"errors"
	"time"
)

// attempt runs the job of task i once. leave gives back the task's places, in its lane and under a
// Limit, when the function has returned; it may be nil.
func (r *run) attempt(i int) error {
	t := r.tasks[i]
	leave, err := r.takePlaces(t)
	if err != nil {
		t.after = true // only the end of the run's context keeps it from its places
		return err
	}
	if r.session.watch != nil {
		r.emitStart(t)
	}
	if t.limit() > 0 || t.job.idle > 0 {
		return r.timed(i, leave)
	}
	if leave != nil {
		defer leave()
	}
	return t.call(t)
}

// limit returns how long an attempt of t may take; 0 means as long as it likes.
func (t *task) limit() time.Duration {
	if t.within > 0 && t.failure == nil {
		return t.within
	}
	return t.job.limit
}

// timed runs the job of task i on a goroutine of its own and within its limits.
func (r *run) timed(i int, leave func()) error {
	t := r.tasks[i]
	defer r.lendSeat(i)()
	w := t.startWatchdog()
	defer w.cancel(nil)
	go func() {
		if leave != nil {
			defer leave()
		}
		err := errGoexit
		defer func() { w.done <- err }()
		err = t.call(w.ctx)
	}()
	if err, ended := w.wait(t); ended {
		if err == nil || w.ctx.Err() == nil || r.ctx.Err() != nil {
			return err
		}
		t.dropQuestions()
		return w.outOfTime(err)
	}
	// The node may still return in good order. If it was its own time that ended, and
	// not the run, what it did does not count.
	late := r.ctx.Err() == nil
	t.fenced.Store(late)
	timer := time.NewTimer(r.lateGrace())
	defer timer.Stop()
	select {
	case err := <-w.done:
		t.fenced.Store(false)
		if late {
			t.after = false // its own time ended before the run
			t.dropQuestions()
			return w.outOfTime(err)
		}
		return err
	case <-timer.C:
		r.replace(i)
		r.tasks[i].after = !late
		if late {
			return w.outOfTime(ErrAbandoned)
		}
		return ErrAbandoned
	}
}

// watchdog bounds the time of one attempt.
type watchdog struct {
	ctx     context.Context // what the node gets; it ends with a *TimeoutError as its cause
	cancel  context.CancelCauseFunc
	began   time.Time
	idle    time.Duration
	done    chan error // what the function returned; it has room
	timeout TimeoutError
}

func (t *task) startWatchdog() *watchdog {
	t.alive()
	limit := t.limit()
	w := &watchdog{began: time.Now(), idle: t.job.idle, done: make(chan error, 1)}
	w.timeout = TimeoutError{Node: t.node.name, Kind: NodeTimeout, Limit: limit, Elapsed: limit}
	w.ctx, w.cancel = context.WithCancelCause(t)
	if limit > 0 {
		ctx, stop := context.WithTimeoutCause(w.ctx, limit, &w.timeout)
		cancel := w.cancel
		w.ctx, w.cancel = ctx, func(cause error) { cancel(cause); stop() }
	}
	return w
}

// wait returns what the function of t returned, or false when its time is over, or
// the run, before it has.
func (w *watchdog) wait(t *task) (err error, ended bool) {
	var idle <-chan time.Time
	if w.idle > 0 {
		timer := time.NewTimer(w.idle)
		defer timer.Stop()
		idle = timer.C
	}
	for {
		select {
		case err := <-w.done:
			return err, true
		case <-w.ctx.Done():
			return nil, false
		case <-idle:
			left := t.idleLeft(w.idle)
			if left > 0 {
				idle = time.After(left)
				continue
			}
			w.cancel(&TimeoutError{Node: t.node.name, Kind: IdleTimeout, Limit: w.idle, Elapsed: time.Since(w.began)})
		}
	}
}

// outOfTime returns the error of an attempt whose time is over; err is what the node
// itself returned.
func (w *watchdog) outOfTime(err error) error {
	late := w.timeout
	if cause := (*TimeoutError)(nil); errors.As(context.Cause(w.ctx), &cause) {
		late = *cause
	}
	late.Elapsed = time.Since(w.began)
	if !errors.Is(err, ErrTimeout) {
		late.Err = err
	}
	return &late
}
