package graph

import (
	"context"
	"errors"
	"time"

	"github.com/weftrun/weft/internal/schedule"
)

// attempt runs the job of task i once. leave is called when the function has returned, so that another
// attempt may begin under a Policy.Parallel or a Limit; it may be nil.
func (r *run) attempt(i int) error {
	t := r.tasks[i]
	leave, err := r.passGates(t)
	if err != nil {
		t.after = true // only the end of the run's context keeps it from beginning
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

// timed runs the job of task i within its limits. What it did after its own time had ended, and not
// the run's, does not count.
func (r *run) timed(i int, leave func()) error {
	t := r.tasks[i]
	defer r.transferPermit(i)()
	t.alive()
	bound := schedule.Bound{Limit: t.limit(), Idle: t.job.idle, Activity: &t.activity, Grace: r.lateGrace(),
		Cause: t.outOfTime, Ended: t.fenced.Store}
	var err error
	res := bound.Run(t, func(ctx context.Context) {
		if leave != nil {
			defer leave()
		}
		err = t.call(ctx)
	})
	if res.Ending == schedule.GivenUp {
		r.replace(i)
		r.tasks[i].after = !res.Expired
		return endOf(res, ErrAbandoned)
	}
	t.fenced.Store(false)
	end := endOf(res, err)
	if res.Expired && end != nil {
		t.after = false // its own time ended before the run
		t.dropQuestions()
	}
	return end
}

// outOfTime returns the cause with which the context of an attempt of t ends.
func (t *task) outOfTime(e schedule.Expiry) error {
	late := &TimeoutError{Node: t.node.name, Kind: NodeTimeout, Limit: e.Limit, Elapsed: e.Elapsed}
	if e.Idle {
		late.Kind = IdleTimeout
	}
	return late
}

// endOf returns the error of a function that ended as res says. err is what it returned itself, or
// ErrAbandoned if it was given up.
func endOf(res schedule.Result, err error) error {
	switch {
	case res.Panic != nil:
		err = (*PanicError)(res.Panic)
	case res.Exited:
		err = errGoexit
	}
	late := (*TimeoutError)(nil)
	if !res.Expired || !errors.As(res.Cause, &late) {
		return err
	}
	own := *late
	own.Elapsed = res.Elapsed
	if !errors.Is(err, ErrTimeout) {
		own.Err = err
	}
	return &own
}

// transferPermit lets the node of task i have its permit, until what it returns is called.
func (r *run) transferPermit(i int) func() {
	t := r.tasks[i]
	own := t.permit
	t.permit = own.Transfer()
	given := t.permit
	return func() {
		own.Reclaim(r.ctx, given)
		r.tasks[i].permit = own
	}
}
