package graph

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Status is how a run ended, or how a thread stands. A run that stopped for a Drain is
// [Pending].
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
	drained    string // the reason, if it stopped for a Drain
	starved    []string
	steps      int
	checkpoint uint64
	id         string
}

// set makes r, which is zero, a run that has not begun.
func (r *run) set(p *program, ctx context.Context, q *request, o RunOptions, id string) {
	r.program, r.req, r.opts, r.id = p, q, o, id
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.slots.limit, r.own.slots, r.seat = p.cfg.Concurrency, &r.slots, &r.own
	r.tasks, r.outs, r.changed = r.room.tasks[:0], r.room.outs[:0], r.room.changed[:0]
	fields := len(p.schema.Fields())
	r.changed = slices.Grow(r.changed, fields)[:fields]
}

// session is one call: the coordinator, mostly on a goroutine of its own, and what those
// who wait for it share.
type session struct {
	*run
	call     run // what run points to
	request  request
	begun    atomic.Bool
	finished chan struct{} // closed when out and err are set; nil where the caller is the coordinator
	settled  sync.Once
	out      *outcome
	err      error
	release  func() // lets go of the caller's context; nil where nothing holds it
}

// launch makes a call that has not begun.
func (p *program) launch(ctx context.Context, o RunOptions, q request) *session {
	if p == nil {
		p, q = &program{schema: waitingSchema, cfg: Config{}.withDefaults()}, request{}
	}
	taskOf(ctx) // the task from whose node it is begun is found, even if that has ended when the run asks for it
	f := &session{request: q}
	if p.cfg.Timeout > 0 {
		ctx, f.release = context.WithTimeoutCause(ctx, p.cfg.Timeout, runOutOfTime(p.cfg.Timeout))
	}
	o.identify(ctx)
	f.run = &f.call
	f.set(p, ctx, &f.request, o, p.cfg.NewID())
	if f.bounded() {
		f.running = &f.list
	}
	f.drain = o.Drain
	return f
}

// drive runs one call that has no readers.
func (p *program) drive(ctx context.Context, o RunOptions, q request) (outcome, error) {
	return p.launch(ctx, o, q).perform()
}

// bounded reports whether something may have to give the run up: then it has a goroutine of its own.
// All other runs are waited for, as any Go function is.
func (r *run) bounded() bool { return r.cfg.Timeout > 0 || r.grace() > 0 }

// grace returns how long a node may go on after its context was cancelled; 0 means as long as it takes.
func (r *run) grace() time.Duration { return cmp.Or(r.opts.Grace, r.cfg.Grace) }

// lateGrace returns how long a function may go on whose own time is over, or that of its run.
func (r *run) lateGrace() time.Duration { return cmp.Or(r.grace(), time.Second) }

// perform runs a call that has no readers to its end.
func (f *session) perform() (outcome, error) {
	if f.bounded() {
		f.finished = make(chan struct{})
		return f.wait()
	}
	defer f.cancel(nil) // also where a node ends the goroutine
	return f.conduct()
}

// watched makes a call that may have readers.
func (p *program) watched(ctx context.Context, o RunOptions, q request) *session {
	f := p.launch(ctx, o, q)
	f.finished = make(chan struct{})
	f.watch = newFeed(f.cfg.Now)
	return f
}

// start lets the call begin, if it has not, on a goroutine of its own.
func (f *session) start() {
	if f.begun.CompareAndSwap(false, true) {
		go f.background()
	}
}

func (f *session) background() {
	deepen(0)
	returned := false
	var out outcome
	var err error
	defer func() {
		if !returned { // a node ended this goroutine
			out, err = outcome{status: Failed, id: f.id}, f.exited()
		}
		f.settle(out, err)
	}()
	if f.watch != nil && f.bounded() { // its readers learn of its end also without a call of Wait
		defer context.AfterFunc(f.ctx, f.overdue)()
	}
	out, err = f.conduct()
	returned = true
}

// conduct is the coordinator.
func (f *session) conduct() (outcome, error) {
	out, err := f.main()
	return out, f.whyCancelled(err)
}

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

// settle ends the call, once.
func (f *session) settle(out outcome, err error) {
	f.settled.Do(func() {
		f.out, f.err = &out, err
		if f.watch != nil {
			f.watch.Close(err)
		}
		close(f.finished)
		if f.release != nil {
			f.release()
		}
		f.cancel(nil)
	})
}

// wait returns when the coordinator has, or, if a node of a bounded run does not stop after the run was
// cancelled, when the grace is over.
func (f *session) wait() (outcome, error) {
	f.start()
	if f.bounded() {
		select {
		case <-f.finished:
		case <-f.ctx.Done():
			f.overdue()
		}
	}
	<-f.finished
	return *f.out, f.err
}

// overdue waits for a call whose context has ended as long as its nodes may go on, and
// gives it up then.
func (f *session) overdue() {
	if f.ends(f.finished, f.lateGrace()+f.lateGrace()/4) {
		return
	}
	err := f.abandoned()
	f.fenced.Store(true)
	_ = f.disown()
	f.settle(outcome{status: Failed, id: f.id}, err)
}

// ends waits for the end of a run whose context has ended, as long as its nodes may go on, and
// reports whether it came. A run that stores something, or whose nodes have all returned, gets more
// time: no node keeps it, it is only slow, as on a busy machine.
func (r *run) ends(done <-chan struct{}, grace time.Duration) bool {
	return endsWithin(done, grace) || (r.root().writing.Load() > 0 || !r.running.any(r)) && endsWithin(done, flush)
}

// endsWithin waits so long for done to be closed and reports whether it was.
func endsWithin(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// errLeft is the cause of cancelling a run whose reader stopped reading.
var errLeft = errors.New("graph: the reader of the stream has left")

// main is the coordinator's part of a call.
func (r *run) main() (outcome, error) {
	defer r.workers.Wait()
	return r.conclude(r.whole())
}

// conclude says how a run ended.
func (r *run) conclude(status Status, err error) (outcome, error) {
	for _, t := range r.tasks {
		t.ledger.close()
	}
	r.unlist()
	out := outcome{steps: r.steps, id: r.id}
	out.status, out.interrupts, out.drained = r.waits(status)
	if r.chain != nil {
		out.checkpoint = r.stored
	}
	switch {
	case r.state.State == nil:
	case r.watch == nil && r.inside == nil: // nobody else has it
		out.state = r.state.State
	default:
		out.state = r.copyState()
	}
	if status == Done {
		for _, j := range r.shape.Starved(&r.front) {
			out.starved = append(out.starved, r.nodes[r.shape.Joins[j].Target].name)
		}
	}
	if err == nil && r.watch != nil && r.inside == nil {
		r.watch.SendLast(r.ctx, Event{Mode: Ended, Namespace: r.ns, Step: r.step, Status: out.status, State: out.state, Interrupts: out.interrupts, Drained: out.drained,
			Starved: out.starved, Steps: out.steps, Checkpoint: out.checkpoint, schema: r.schema})
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

// whole runs from the beginning to the end. A panic outside of a node, as in the
// MarshalJSON of a payload, is an error too.
func (r *run) whole() (status Status, err error) {
	defer func() { // the last: the thread is given back whatever comes before
		r.settlePruning()
		if e := r.disown(); e != nil && err == nil {
			status, err = Failed, e
		}
	}()
	defer func() {
		if v := recover(); v != nil {
			status, err = Failed, r.fail(&PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	defer func() {
		if e := r.settleStore(status); e != nil && !guard(false, func() bool { return errors.Is(err, errors.Unwrap(e)) }) {
			status, err = Failed, errors.Join(err, e)
		}
	}()
	if err := r.serve(); err != nil {
		return Failed, err
	}
	for !r.editOnly {
		status, err := r.loop()
		if status != Done || err != nil || !r.drainsQueue {
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
		all = append(all, t.waiting()...)
	}
	return all
}
