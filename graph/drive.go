package graph

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"github.com/weftrun/weft/internal/journal"
)

// set makes r, which is zero, a run that has not begun.
func (r *run) set(p *program, ctx context.Context, s *session, q *request) {
	r.program, r.session, r.req, r.opts = p, s, q, &s.opts
	r.life.parent, r.ctx = ctx, &r.life
	r.superstep.run, r.committer.run = r, r
	r.tasks, r.outs = r.inlineStorage.tasks[:0], r.inlineStorage.outs[:0]
	fields := len(p.schema.Fields())
	r.changed = slices.Grow(r.few[:0], fields)[:fields]
}

// bounded reports whether something may have to give the run up: then it has a goroutine of its
// own. All other runs are waited for, as any Go function is.
func (r *run) bounded() bool { return r.cfg.Timeout > 0 || r.grace() > 0 }

// grace returns how long a node may go on after its context was cancelled; 0 means as long as it
// takes.
func (r *run) grace() time.Duration { return cmp.Or(r.opts.Grace, r.cfg.Grace) }

// lateGrace returns how long a function may go on whose own time is over, or that of its run.
func (r *run) lateGrace() time.Duration { return cmp.Or(r.grace(), time.Second) }

// exited returns the failure of a run of which a node has ended the goroutine: that of its step.
func (r *run) exited() error {
	if len(r.tasks) == 1 {
		return r.tasks[0].fail(errGoexit)
	}
	if err := r.failure(); err != nil {
		return err
	}
	return r.fail(errGoexit)
}

// extension returns how much longer a run is waited for whose nodes have had their time. A run that
// stores something, or whose nodes have all returned, gets more time: no node keeps it, it is only
// slow, as on a busy machine.
func (r *run) extension() time.Duration {
	if r.session.writing.Load() > 0 || !r.running.hasRunning(r) {
		return journal.WriteTime
	}
	return 0
}

// runToEnd runs r from its request to its end.
func (r *run) runToEnd() (outcome, error) {
	if o := r.session.observer(); o != nil {
		return r.observedToEnd(o)
	}
	return r.toEnd()
}

// toEnd is runToEnd for a run without an observer.
func (r *run) toEnd() (outcome, error) {
	defer func() { r.pool.Close() }()
	return r.conclude(r.serveRequest())
}

// serveRequest begins what the request asks, and runs the steps. A panic outside of a node, as in
// the MarshalJSON of a payload, is an error too. What the run has come to is stored and the thread
// released when it returns.
func (r *run) serveRequest() (status Status, err error) {
	defer func() { // it comes last: the lease is released in any case
		if r.journal != nil {
			r.journal.Close()
		}
		if r.inside == nil {
			if e := r.session.releaseLease(); e != nil && err == nil {
				status, err = Failed, e
			}
		}
	}()
	defer func() {
		if v := recover(); v != nil {
			status, err = Failed, r.fail(&PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	defer func() {
		if e := r.flush(status); e != nil && (err == nil || !guard(false, func() bool { return errors.Is(err, errors.Unwrap(e)) })) {
			status, err = Failed, errors.Join(err, e)
		}
	}()
	if err := r.begin(); err != nil {
		return Failed, err
	}
	for r.goal.runs() {
		perform := r.runSteps
		if r.driven != nil {
			perform = r.driven.call.perform
		}
		status, err := perform()
		if status != Done || err != nil || r.goal != runTurns {
			return status, err
		}
		if began, err := r.nextInput(); !began || err != nil {
			return status, err
		}
	}
	return r.resting()
}

// begin does what the request asks, up to the point from which the run goes on step by step.
func (r *run) begin() error {
	switch q := r.req; q.op {
	case opInvoke:
		input, err := q.view(r.schema)
		if err != nil {
			return r.fail(err)
		}
		if err := r.opts.checkRoot(r.name); err != nil {
			return err
		}
		if err := r.open(); err != nil {
			return err
		}
		return beginTurn(r, input)
	case opResume:
		return resume(r, q.answers)
	case opEdit:
		r.goal = runNothing
		e := &editor{run: r}
		return e.badEdit(e.editAll(q.edits, q.answers))
	case opUpdateAndResume:
		return (&editor{run: r}).updateAndResume(q.edits, q.answers)
	case opCall:
		return childStart{r}.begin()
	case opPlan, opRunTask, opCommit:
		return r.driven.call.serve()
	}
	return ErrNotCompiled
}

// nextInput begins a turn with the input that has waited longest, if there is one.
func (r *run) nextInput() (began bool, err error) {
	input, number, err := newInputQueue(r).next()
	if err != nil {
		return false, r.fail(withCause(r.ctx, err))
	}
	if number == 0 {
		return false, nil
	}
	r.taken = number
	return true, newTurn(r, input).begin()
}

// resting returns the status of a thread on which nothing is run.
func (r *run) resting() (Status, error) {
	if r.goal == stayQueued {
		return Queued, nil
	}
	if r.front.Empty() {
		return Done, nil
	}
	open, err := sortPending(r.journal.Chain.Pending).open(r.journal.Chain.Record)
	if err != nil {
		return Failed, err
	}
	if len(open) > 0 {
		r.paused.at = open
		return Interrupted, nil
	}
	return Pending, nil
}

// conclude returns how a run ended.
func (r *run) conclude(status Status, err error) (outcome, error) {
	for _, t := range r.tasks {
		t.memo().close()
	}
	if r.inside != nil && r.running != nil { // the tasks of the root end with its list
		for _, t := range r.tasks[:cap(r.tasks)] {
			if t != nil {
				t.running.drop(t)
			}
		}
	}
	out := outcome{steps: r.steps, id: r.session.id}
	out.status, out.interrupts, out.drained = r.paused.end(status, r.tasks, r.session.drain)
	if r.journal != nil {
		out.checkpoint = r.journal.Stored()
	}
	switch {
	case r.state.State == nil:
	case r.session.events == nil: // no reader has it
		out.state = r.state.State
	default:
		out.state = r.schema.Copy(r.state)
	}
	if status == Done {
		for _, j := range r.shape.Starved(&r.front) {
			out.starved = append(out.starved, r.nodes[r.shape.Joins[j].Target].name)
		}
	}
	ends := r.inside == nil
	if r.driven != nil {
		out.answer, ends = r.driven.call.answer(out), r.driven.call.ends(out.status)
	}
	if err == nil && ends {
		r.session.events.end(r, &out)
	}
	if r.req.asJSON && out.state != nil {
		data, e := r.encoded()
		if raw := json.RawMessage(data); e == nil {
			out.state = &raw
		} else {
			out.state, out.status, err = nil, Failed, errors.Join(err, r.fail(e))
		}
	}
	return out, err
}

// encoded returns the state as JSON. A panic, as in the MarshalJSON of a value, is an error.
func (r *run) encoded() (data []byte, err error) {
	defer recovered(&err)
	return r.schema.Encode(r.state)
}

// observedToEnd is toEnd for a run with an observer.
func (r *run) observedToEnd(o Observer) (out outcome, err error) {
	w := &observation{}
	w.ctx, w.end = begin(o, r.ctx, r.activity(RunActivity, string(r.req.op)))
	if r.inside == nil {
		w.carrier = o.Carrier(w.ctx)
	}
	r.observed.Store(w)
	returned := false
	defer func() {
		if !returned {
			err = r.exited()
		}
		r.endObserved(out, err)
	}()
	out, err = r.toEnd()
	returned = true
	return out, err
}
