package graph

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/weftrun/weft/checkpoint"
)

func (g untyped) Plan(ctx context.Context, q PlanRequest) (Plan, error) {
	id := StepID{Thread: q.Thread, Run: q.Run, MaxSteps: q.MaxSteps, TTL: q.Lease.TTL}
	req := request{op: opPlan, answers: q.Answers}
	if q.Input != nil && string(bytes.TrimSpace(q.Input)) != "null" {
		req.json = bytes.Clone(q.Input)
	}
	q.Lease.ID, q.Lease.Fence = "", ""
	if q.Lease.Policy != checkpoint.NoLease {
		q.Lease.ID = LeaseID(q.Thread, q.Run)
	}
	o := RunOptions{Thread: q.Thread, Namespace: q.Namespace, At: q.At, If: q.If, OnOpenQuestions: q.OnOpenQuestions,
		MaxSteps: q.MaxSteps, By: q.By, Via: q.Via, Lease: q.Lease}
	d := &drivenRun{id: id}
	d.call = planCall{d}
	return planIn(driveStep(ctx, g.p, q.Options.in(o), req, d, q.Events, q.Reader))
}

func (g untyped) RunTask(ctx context.Context, q TaskRequest) (TaskResult, error) {
	d := &drivenRun{id: q.Step, try: q.Try}
	d.call = taskCall{d, q.Task}
	out, _, err := driveStep(ctx, g.p, q.Options.in(q.Step.options()), request{op: opRunTask}, d, q.Events, q.Reader)
	res, _ := out.answer.(TaskResult)
	return res, err
}

func (g untyped) Commit(ctx context.Context, q CommitRequest) (Plan, error) {
	d := &drivenRun{id: q.Step}
	d.call = &commitCall{drivenRun: d}
	return planIn(driveStep(ctx, g.p, q.Options.in(q.Step.options()), request{op: opCommit}, d, q.Events, q.Reader))
}

func (g untyped) Release(ctx context.Context, id StepID) error {
	store, err := g.p.requireStore()
	if err != nil {
		return err
	}
	leaser, ok := store.(checkpoint.Leaser)
	if !ok {
		return nil
	}
	if err := leaser.Release(ctx, id.Thread, cmp.Or(id.Fence, LeaseID(id.Thread, id.Run))); err != nil {
		return fmt.Errorf("graph %q: thread %q: releasing the lease: %w", g.p.name, id.Thread, err)
	}
	return nil
}

// planIn returns the Plan of a call, which has at least its id.
func planIn(out outcome, id StepID, err error) (Plan, error) {
	p, ok := out.answer.(Plan)
	if !ok {
		p = Plan{ID: id, Status: Failed}
	}
	return p, err
}

// options returns the options of a call for the step.
func (id StepID) options() RunOptions {
	o := RunOptions{Thread: id.Thread, MaxSteps: id.MaxSteps}
	o.Lease = checkpoint.HoldOptions{Fence: id.Fence, TTL: id.TTL}
	if id.Fence == "" {
		o.Lease.Policy = checkpoint.NoLease
	}
	return o
}

// LeaseID returns the id of the lease that a driven run has of its thread: the Fence of its steps,
// unless it has no lease. Drivers may choose one id for the runs of several threads: their leases
// differ.
func LeaseID(thread, run string) string { return longHash("lease", thread, run) }

// driveStep makes one call of a run that is driven from outside. It also returns the step, with the
// fence of the lease that the run asked for.
func driveStep(ctx context.Context, p *program, o RunOptions, q request, d *drivenRun, events func(Event), rd Reader) (outcome, StepID, error) {
	id := d.id
	if q.op == opPlan {
		id.Fence = o.Lease.ID
		d.id.Fence = id.Fence // acquireLease replaces it by what the store has given
	}
	if _, err := p.requireStore(); err != nil {
		return outcome{}, id, err
	}
	if err := checkRun(id.Run); err != nil {
		return outcome{}, id, fmt.Errorf("graph %q: thread %q: %w", p.name, o.Thread, err)
	}
	if err := rd.check(); err != nil {
		return outcome{}, id, err
	}
	s := p.launch(ctx, o, q)
	s.id = id.Run
	if q.op != opRunTask { // others may run the same task
		s.writer = s.id
	}
	d.run, s.root.driven = &s.root, d
	if events == nil {
		out, err := s.runInline()
		return out, id, err
	}
	s.finished, s.events = make(chan struct{}), newEmitter(p.cfg.Now)
	defer s.wait()
	defer s.root.life.cancel(errLeft) // events has panicked, or all is over
	for ev, err := range s.events.readers(rd, s.start) {
		if err == nil {
			events(ev)
		}
	}
	out, err := s.wait()
	return out, id, err
}

// longestRun bounds the id of a run, so that the ids of its commits are not too long.
const longestRun = 40

// checkRun returns an ErrRun unless a run may have this id.
func checkRun(id string) error {
	for _, c := range []byte(id) {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte("-_.:", c) >= 0) {
			return fmt.Errorf("%w: it must be letters, digits and any of -_.: (got %.100q)", ErrRun, id)
		}
	}
	if id == "" || len(id) > longestRun {
		return fmt.Errorf("%w: it must have 1 to %d bytes (got %d)", ErrRun, longestRun, len(id))
	}
	return nil
}
