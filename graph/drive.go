package graph

import (
	"context"
	"errors"
	"fmt"
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

func newRun(p *program, ctx context.Context, o Run) *run {
	r := &run{program: p, opts: o, id: p.cfg.NewID(), changed: make([]bool, len(p.schema.Fields())), before: p.schema.Blank()}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r
}

// drive runs one call: the coordinator on a goroutine of its own, the events to
// yield on the caller's. It returns when the coordinator has, or, if a node does not
// stop after the run was cancelled, when the grace is over.
func (p *program) drive(ctx context.Context, o Run, w *watch, begin func(*run) error, yield func(Event) bool) (outcome, error) {
	if p.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, p.cfg.Timeout, fmt.Errorf("%w: the run's limit is %v", ErrTimeout, p.cfg.Timeout))
		defer cancel()
	}
	r := newRun(p, ctx, o)
	r.watch = w
	c := conductor{run: r, finished: make(chan struct{}), err: errGoexit}
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
	defer close(c.finished)
	c.out, c.err = c.main(begin)
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
	ended, grace := c.ctx.Done(), (<-chan time.Time)(nil)
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
			c.fenced.Store(true)
			c.left = true
			return outcome{status: Failed, id: c.id}, fmt.Errorf("graph %q: %w: %w", c.name, ErrAbandoned, c.cancelled())
		}
	}
}

// leave tells the run that nobody reads any more.
func (c *conductor) leave() {
	c.left = true
	close(c.watch.gone)
	c.cancel(errLeft)
}

// errLeft is the cause of cancelling a run whose reader stopped reading.
var errLeft = errors.New("graph: the reader of the stream has left")

// stop ends the coordinator if the reader panicked or ended its goroutine.
func (c *conductor) stop() {
	select {
	case <-c.finished:
	default:
		if c.watch != nil && !c.left {
			c.leave()
		}
		if !c.fenced.Load() {
			<-c.finished
		}
	}
	c.cancel(nil)
}

// main is the coordinator's part of a call.
func (r *run) main(begin func(*run) error) (outcome, error) {
	status := Failed
	err := begin(r)
	if err == nil {
		status, err = r.loop()
	}
	out := outcome{status: status, steps: r.steps, id: r.id, interrupts: r.interrupts(status)}
	if r.chain != nil {
		out.checkpoint = r.chain.Head()
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
		r.emit(Event{Mode: Ended, Status: status, State: out.state, Interrupts: out.interrupts})
	}
	return out, err
}

// interrupts lists why the run pauses, in canonical order.
func (r *run) interrupts(s Status) []Interrupt {
	if s != Interrupted {
		return nil
	}
	var all []Interrupt
	for _, t := range r.tasks {
		all = append(all, t.open...)
	}
	if len(all) > 0 {
		return all
	}
	for _, t := range r.tasks { // tasks that have not run: a static interrupt before them
		if t.node.before {
			all = append(all, Interrupt{Namespace: r.ns, Node: t.node.name, Task: t.id(), Kind: "before"})
		}
	}
	if len(r.tasks) > 0 {
		return all
	}
	for _, o := range r.outs {
		if r.nodes[o.Node].after {
			all = append(all, Interrupt{Namespace: r.ns, Node: r.nodes[o.Node].name, Kind: "after"})
		}
	}
	return all
}
