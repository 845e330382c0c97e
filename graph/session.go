package graph

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/weftrun/weft/internal/schedule"
	"github.com/weftrun/weft/state"
)

// session is one call of the API: what the run of the thread and the runs of its subgraphs share,
// and what its callers wait for.
type session struct {
	id      string // of the call, as in Result.Run
	writer  string // the prefix of the ids of its commits
	request request
	opts    RunOptions
	events  *emitter // nil when there can be no readers
	drain   *Drain   // nil when nothing can ask the runs to stop
	root    run

	permits schedule.Permits // bounds what the session does at once
	permit  schedule.Permit  // of the coordinator of the root
	lease   lease            // of the thread
	writing atomic.Int32     // the writes to the store that are under way
	gaveUp  atomic.Bool      // a function was given up, and may still run
	inUse   inUse            // the namespaces of PerThread subgraphs that calls use now

	begun    atomic.Bool
	finished chan struct{} // closed when out and err are set; nil where the caller is the coordinator
	settled  sync.Once
	out      *outcome
	err      error
	release  func() // releases the caller's context; nil where there is nothing to release
}

// launch makes a call that has not begun.
func (p *program) launch(ctx context.Context, o RunOptions, q request) *session {
	if p == nil {
		p, q = &program{schema: waitingSchema, cfg: Config{}.withDefaults()}, request{}
	}
	taskOf(ctx) // the task from whose node it is begun is found, even if that has ended when the run asks for it
	id := p.cfg.NewID()
	s := &session{id: cmp.Or(o.ID, id), writer: id, request: q, drain: o.Drain}
	if p.cfg.Timeout > 0 {
		ctx, s.release = context.WithTimeoutCause(ctx, p.cfg.Timeout, runOutOfTime(p.cfg.Timeout))
	}
	if p.blobs != nil && o.Thread != "" {
		ctx = state.WithBlobs(ctx, p.blobs.Of(o.Thread))
	}
	o.identify(ctx)
	p = p.withInterrupts(&o)
	s.opts = o
	s.permits.Init(p.cfg.Concurrency, &s.permit)
	s.root.set(p, ctx, s, &s.request)
	s.root.permit = &s.permit
	if s.root.bounded() {
		s.root.running = new(running)
	}
	return s
}

// drive runs one call that has no readers.
func (p *program) drive(ctx context.Context, o RunOptions, q request) (outcome, error) {
	return p.launch(ctx, o, q).runInline()
}

// runInline runs a call that has no readers to its end, on the goroutine of the caller unless the
// run is bounded.
func (s *session) runInline() (outcome, error) {
	if s.root.bounded() {
		s.finished = make(chan struct{})
		return s.wait()
	}
	defer s.root.life.end() // also where a node ends the goroutine
	return s.coordinate()
}

// watched makes a call that may have readers.
func (p *program) watched(ctx context.Context, o RunOptions, q request) *session {
	s := p.launch(ctx, o, q)
	s.finished = make(chan struct{})
	s.events = newEmitter(s.root.cfg.Now)
	return s
}

// start lets the call begin, if it has not, on a goroutine of its own.
func (s *session) start() {
	if s.begun.CompareAndSwap(false, true) {
		go s.runCoordinator()
	}
}

// runCoordinator is the coordinator, on a goroutine of its own.
func (s *session) runCoordinator() {
	schedule.GrowStack()
	returned := false
	var out outcome
	var err error
	defer func() {
		if !returned { // a node ended this goroutine
			out, err = outcome{status: Failed, id: s.id}, s.root.exited()
		}
		s.finish(out, err)
	}()
	if s.events != nil && s.root.bounded() { // its readers learn of its end also without a call of Wait
		defer context.AfterFunc(s.root.ctx, s.giveUpLate)()
	}
	out, err = s.coordinate()
	returned = true
}

// coordinate runs the root run to its end.
func (s *session) coordinate() (outcome, error) {
	out, err := s.root.runToEnd()
	return out, s.whyCancelled(err)
}

// whyCancelled adds to the error of a call why it was cancelled, where a node's own error hides
// it.
func (s *session) whyCancelled(err error) error {
	if err == nil {
		return nil
	}
	cause := context.Cause(s.root.ctx)
	if cause == nil {
		return err
	}
	if guard(false, func() bool { return errors.Is(cause, errStopped) || errors.Is(err, cause) }) {
		return err
	}
	return errors.Join(err, cause)
}

// finish ends the call, once.
func (s *session) finish(out outcome, err error) {
	s.settled.Do(func() {
		s.out, s.err = &out, err
		if s.events != nil {
			s.events.Close(err)
		}
		close(s.finished)
		if s.release != nil {
			s.release()
		}
		s.root.life.end()
	})
}

// wait returns when the coordinator has, or, if a node of a bounded run does not stop after the run
// was cancelled, when the grace is over.
func (s *session) wait() (outcome, error) {
	s.start()
	if s.root.bounded() {
		s.giveUpLate()
	}
	<-s.finished
	return *s.out, s.err
}

// giveUpLate waits for a call. When its context has ended, it waits as long as the nodes may go on,
// and then gives it up.
func (s *session) giveUpLate() {
	r := &s.root
	// The tasks and subgraphs inside have the grace alone, so that they are given up first and say
	// what did not return.
	bound := schedule.Bound{Grace: r.lateGrace() + r.lateGrace()/4, Extend: r.extension}
	if bound.Await(r.ctx, s.finished) != schedule.GivenUp {
		return
	}
	err := r.running.abandoned(r)
	r.givenUp.Store(true)
	_ = s.releaseLease()
	out := outcome{status: Failed, id: s.id}
	r.endObserved(out, err)
	s.finish(out, err)
}

// errLeft is the cause of cancelling a run whose reader stopped reading.
var errLeft = errors.New("graph: the reader of the stream has left")

func (p *program) stream(ctx context.Context, o RunOptions, q request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := p.watched(ctx, o, q)
		defer f.wait()
		defer f.root.life.cancel(errLeft) // the reader has left, or panicked, or all is over
		f.events.readers(o.reader(), f.start)(yield)
	}
}

func (p *program) live(ctx context.Context, o RunOptions, q request) *session {
	f := p.watched(ctx, o, q)
	f.drain = &Drain{above: o.Drain}
	if !o.Hold {
		f.start()
	}
	return f
}
