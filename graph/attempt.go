package graph

import (
	"context"
	"errors"
	"time"

	"github.com/weftrun/weft/internal/schedule"
)

// limit returns how long an attempt of t may take; 0 means as long as it likes.
func (t *task) limit() time.Duration {
	if t.within > 0 && t.failure == nil {
		return t.within
	}
	return t.job.limit
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

// attempt runs the job of task i once. leave is called when the function has returned, so that another
// attempt may begin under a Policy.Parallel or a Limit; it may be nil.
func (s *superstep) attempt(i int) error {
	t := s.tasks[i]
	leave, err := s.passGates(t)
	if err != nil {
		t.after = true // only the end of the run's context keeps it from beginning
		return err
	}
	if s.run.session.watch != nil {
		s.run.emitStart(t)
	}
	if t.limit() > 0 || t.job.idle > 0 {
		return s.timed(i, leave)
	}
	if leave != nil {
		defer leave()
	}
	return t.call(t)
}

// timed runs the job of task i within its limits. What it did after its own time had ended, and not
// the run's, does not count.
func (s *superstep) timed(i int, leave func()) error {
	t := s.tasks[i]
	defer s.transferPermit(i)()
	t.alive()
	bound := schedule.Bound{Limit: t.limit(), Idle: t.job.idle, Activity: &t.activity, Grace: s.run.lateGrace(),
		Cause: t.outOfTime, Ended: t.fenced.Store}
	var err error
	res := bound.Run(t, func(ctx context.Context) {
		if leave != nil {
			defer leave()
		}
		err = t.call(ctx)
	})
	if res.Ending == schedule.GivenUp {
		s.replace(i)
		s.tasks[i].after = !res.Expired
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

// transferPermit lets the node of task i have its permit, until what it returns is called.
func (s *superstep) transferPermit(i int) func() {
	t := s.tasks[i]
	own := t.permit
	t.permit = own.Transfer()
	given := t.permit
	return func() {
		own.Reclaim(s.run.ctx, given)
		s.tasks[i].permit = own
	}
}

// passGates lets t wait until it may begin an attempt: first for its Policy.Parallel and then for its
// Limit. leave is nil where there is nothing to leave; else it must be called once.
func (s *superstep) passGates(t *task) (leave func(), err error) {
	own, shared := s.ownGate(t), t.job.gate
	if shared != nil && t.around().holds(shared) {
		shared = nil
	}
	if own == nil && shared == nil {
		return nil, nil
	}
	if own != nil {
		if err := t.pass(own); err != nil {
			return nil, err
		}
	}
	if shared == nil {
		return own.Leave, nil
	}
	if err := t.pass(shared); err != nil {
		if own != nil {
			own.Leave()
		}
		return nil, err
	}
	if own == nil {
		return shared.Leave, nil
	}
	return func() { shared.Leave(); own.Leave() }, nil
}

// ownGate returns the gate of the Policy.Parallel of t in the run, or nil.
func (s *superstep) ownGate(t *task) *schedule.Gate {
	if t.job.parallel == 0 {
		return nil
	}
	key := runner{t.node, t.job}
	g, ok := s.gates.Load(key)
	if !ok {
		g, _ = s.gates.LoadOrStore(key, schedule.NewGate(t.job.parallel, 0, 0))
	}
	return g.(*schedule.Gate)
}
