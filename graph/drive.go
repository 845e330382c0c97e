package graph

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Status is how a run ended.
type Status string

const (
	Done        Status = "done"
	Interrupted Status = "interrupted" // it waits: see Interrupts
	Failed      Status = "failed"      // the error says why
)

// outcome is a Result with the type of the state erased.
type outcome struct {
	status     Status
	state      any // *S; nil if a node did not stop
	interrupts []Interrupt
	starved    []string
	steps      int
	checkpoint uint64
	id         string
}

func newRun(p *program, ctx context.Context, o Run, id string) *run {
	r := &run{program: p, opts: o, id: id, changed: make([]bool, len(p.schema.Fields())), before: p.schema.Blank()}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.slots.limit, r.own.slots, r.seat = p.cfg.Concurrency, &r.slots, &r.own
	return r
}

// drive runs one call: the coordinator on a goroutine of its own, the events to
// yield on the caller's. It returns when the coordinator has, or, if a node does not
// stop after the run was cancelled, when the grace is over.
func (p *program) drive(ctx context.Context, o Run, w *watch, begin func(*run) error, yield func(Event) bool) (outcome, error) {
	if p.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, p.cfg.Timeout, runOutOfTime(p.cfg.Timeout))
		defer cancel()
	}
	r := newRun(p, ctx, o, p.cfg.NewID())
	r.watch = w
	c := conductor{run: r, finished: make(chan struct{})}
	go c.conduct(begin)
	defer c.stop()
	return c.attend(yield)
}

// conductor joins the two sides of a call.
type conductor struct {
	*run
	finished chan struct{} // closed when out and err are set
	out      outcome
	err      error
	left     bool // the reader has left
}

func (c *conductor) conduct(begin func(*run) error) {
	returned := false
	defer func() {
		if !returned { // the only task of a step ended this goroutine
			c.out, c.err = outcome{status: Failed, id: c.id}, c.fail(errGoexit)
			for _, t := range c.tasks {
				c.err = t.fail(errGoexit)
			}
		}
		close(c.finished)
	}()
	c.out, c.err = c.main(begin)
	returned = true
}

// attend hands events to the reader until the run has ended.
func (c *conductor) attend(yield func(Event) bool) (outcome, error) {
	var events chan Event
	if c.watch != nil {
		events = c.watch.events
	}
	var seq uint64
	pass := func(ev Event) {
		seq++
		ev.Seq = seq
		if !c.left && !yield(ev) {
			c.leave()
		}
	}
	ended, grace, patient := c.ctx.Done(), (<-chan time.Time)(nil), false
	for {
		select {
		case ev := <-events:
			pass(ev)
		case <-c.finished:
			for len(events) > 0 {
				pass(<-events)
			}
			return c.out, c.err
		case <-ended:
			ended = nil
			timer := time.NewTimer(c.cfg.Grace + c.cfg.Grace/4)
			defer timer.Stop()
			grace = timer.C
		case <-grace:
			if c.writing.Load() > 0 && !patient {
				patient = true
				grace = time.After(flush)
				continue
			}
			c.fenced.Store(true)
			_ = c.disown()
			return outcome{status: Failed, id: c.id}, fmt.Errorf("graph %q: %w: %w", c.name, ErrAbandoned, c.cancelled())
		}
	}
}

// leave tells the run that nobody reads any more.
func (c *conductor) leave() {
	c.left = true
	if c.watch != nil {
		close(c.watch.gone)
	}
	c.cancel(errLeft)
}

// errLeft is the cause of cancelling a run whose reader stopped reading.
var errLeft = errors.New("graph: the reader of the stream has left")

// stop lets go of the run. If the reader panicked or ended its goroutine, it ends the
// coordinator first.
func (c *conductor) stop() {
	if !c.left {
		c.leave()
	}
	if !c.fenced.Load() {
		_, _ = c.attend(nil)
	}
}

// main is the coordinator's part of a call.
func (r *run) main(begin func(*run) error) (outcome, error) {
	status, err := r.whole(begin)
	for _, t := range r.tasks {
		t.ledger.close()
	}
	out := outcome{status: status, steps: r.steps, id: r.id, interrupts: r.interrupts(status)}
	if r.chain != nil {
		out.checkpoint = r.stored
	}
	if r.state.State != nil {
		out.state = r.copyState()
	}
	if status == Done {
		for _, j := range r.shape.Starved(&r.front) {
			out.starved = append(out.starved, r.nodes[r.shape.Joins[j].Target].name)
		}
	}
	if err == nil && r.watch != nil && r.ns == "" {
		r.emit(Event{Mode: Ended, Status: status, State: out.state, Interrupts: out.interrupts,
			Starved: out.starved, Steps: out.steps, Checkpoint: out.checkpoint})
	}
	return out, err
}

// whole runs from the beginning to the end. A panic outside of a node, as in the
// MarshalJSON of a payload, is an error too.
func (r *run) whole(begin func(*run) error) (status Status, err error) {
	defer func() {
		if v := recover(); v != nil {
			status, err = Failed, r.fail(&PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	defer func() {
		if e := r.settleStore(); e != nil && !errors.Is(err, errors.Unwrap(e)) {
			status, err = Failed, errors.Join(err, e)
		}
		if e := r.disown(); e != nil && err == nil {
			status, err = Failed, e
		}
	}()
	if err := begin(r); err != nil {
		return Failed, err
	}
	for !r.rests {
		status, err := r.loop()
		if status != Done || err != nil || !r.draws {
			return status, err
		}
		if began, err := r.nextInput(); !began || err != nil {
			return status, err
		}
	}
	return r.resting()
}

// resting says how a thread stands on which nothing is run.
func (r *run) resting() (Status, error) {
	if r.queued {
		return Queued, nil
	}
	if r.front.Empty() {
		return Done, nil
	}
	open, err := sortPending(r.chain.Pending).open(r.chain.Record)
	if err != nil {
		return Failed, err
	}
	if len(open) > 0 {
		r.paused = open
		return Interrupted, nil
	}
	return Pending, nil
}

// interrupts lists why the run pauses, in canonical order.
func (r *run) interrupts(s Status) []Interrupt {
	if s == Done || len(r.paused) > 0 {
		return r.paused
	}
	var all []Interrupt
	for _, t := range r.tasks {
		all = append(all, t.open...)
	}
	return all
}
