package temporal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
)

// run is a run that workers carry out. It implements graph.Remote.
type run struct {
	client  *Client
	id      string
	ctx     context.Context // of the caller, bounds the run
	o       graph.RunOptions
	request graph.PlanRequest
	edit    *graph.UntypedEdit // with which the run begins; nil for none

	once     sync.Once
	from     uint64        // the position in the log before the run
	accept   sync.Once     // closes accepted
	accepted chan struct{} // closed when the workflow has the run
	asked    chan struct{} // has an element when asks is not empty
	finished chan struct{} // closed when res and err are set
	res      graph.Result[json.RawMessage]
	err      error
	left     bool // the caller has left the run before its end; read it after finished

	mu   sync.Mutex
	asks []ask // not yet passed on
}

// ask is a request to stop.
type ask struct{ signal, reason string }

var _ graph.Remote[json.RawMessage] = (*run)(nil)

// stopTime is the default of ClientConfig.CancelTimeout, and bounds what follows the end of a run.
const stopTime = 30 * time.Second

// cancelTimeout returns how long the run may take to end once its caller has cancelled it, or
// stopTime while the caller waits.
func (r *run) cancelTimeout() time.Duration {
	if r.ctx.Err() == nil {
		return stopTime
	}
	return cmp.Or(r.client.cfg.CancelTimeout, stopTime)
}

// perform carries the run to its end.
func (r *run) perform() (graph.Result[json.RawMessage], error) {
	r.once.Do(r.begin)
	return r.Wait()
}

// start begins the run unless it is to be held.
func (r *run) start() *graph.Handle[json.RawMessage] {
	if c := r.client; c.cfg.Bus != nil {
		r.from, _ = c.log().Last(r.ctx, r.o.Thread) // 0, if the bus fails: a reader looks for its run
	}
	if !r.o.Hold {
		r.once.Do(func() { go r.begin() })
	}
	return graph.RemoteHandle[json.RawMessage](r)
}

// begin carries the run to its end, and notes it.
func (r *run) begin() {
	defer close(r.finished)
	r.res, r.err = r.carry()
	if cause := context.Cause(r.ctx); r.err != nil && cause != nil && !errors.Is(r.err, cause) {
		r.err = errors.Join(r.err, cause)
	}
	r.res.Run = r.id
	if r.err != nil {
		r.res.Status = graph.Failed
	}
}

// carry stores what the run begins with, and has workers carry it out.
func (r *run) carry() (graph.Result[json.RawMessage], error) {
	c := r.client
	if c.rejoin {
		e, err := r.await(r.rejoin)
		if !errors.Is(err, ErrEnded) {
			return r.ended(e, err)
		}
	}
	options, err := r.options()
	if err == nil && strings.Contains(r.id, ".") {
		err = fmt.Errorf("%w: RunOptions.ID must have no dots here (got %q)", graph.ErrRun, r.id)
	}
	if err != nil {
		return r.result(&end{Status: graph.Failed}, nil), err
	}
	if r.edit != nil {
		if err := r.makeEdit(); err != nil {
			return r.result(&end{Status: graph.Failed}, nil), err
		}
	}
	var w *eventlog.Writer
	if c.cfg.Bus != nil {
		w = c.log().Writer(r.o.Thread, r.id, 0)
		r.request.Events, r.request.Reader = w.Write, eventlog.Reader()
	}
	p, err := c.Plan(r.ctx, r.request)
	if err == nil && p.Status == graph.Pending && options != nil {
		err = options.store(r.ctx, c.cfg.Documents, r.o.Thread)
	}
	if err == nil {
		err = context.Cause(r.ctx)
	}
	over := err != nil || p.Status != graph.Pending
	left := err != nil && errors.Is(context.Cause(r.ctx), graph.ErrDetached)
	if w != nil {
		if over && !left {
			w.End()
		}
		ctx, cancel := context.WithTimeout(r.ctx, closeTime)
		_ = w.Close(ctx) // a bus that fails is no failure of the run
		cancel()
	}
	if over {
		res := r.result(&end{Status: p.Status, Checkpoint: p.ID.Checkpoint, Steps: p.Steps, Starved: p.Starved}, p.Interrupts)
		if left {
			return res, err // the next caller needs the lease, which cannot be acquired again once it is released
		}
		if e := r.release(p.ID); err == nil {
			err = e
		}
		return res, err
	}
	j := job{Step: refOf(p.ID), Turn: p.Turn, Durability: r.o.Durability}
	j.Step.Options = options != nil
	e, err := r.await(func(ctx context.Context) (*end, error) {
		return c.run(ctx, c.input(r.o.Thread, r.o.By), j, r.accepts)
	})
	if err != nil && !errors.Is(err, graph.ErrDetached) && !r.isAccepted() {
		err = errors.Join(err, r.release(p.ID)) // no worker had it, so no worker releases the thread
	}
	res, err := r.ended(e, err)
	if e != nil && e.Steps == 0 && (e.Status == graph.Pending || e.Status == graph.Failed) {
		if failed := r.release(p.ID); failed != nil { // the workflow may have dropped the run before it began
			err = errors.Join(err, failed)
		}
	}
	return res, err
}

// makeEdit commits the edit with which the run begins.
func (r *run) makeEdit() error {
	o := r.o
	o.Hold, o.Drain = false, nil
	_, err := r.client.Edit(r.ctx, [][]graph.UntypedEdit{{*r.edit}}, o)
	r.request.At, r.request.If = 0, nil
	return err
}

// ended returns the result of a run that workers have carried out.
func (r *run) ended(e *end, err error) (graph.Result[json.RawMessage], error) {
	c := r.client
	if err != nil {
		return r.result(&end{Status: graph.Failed}, nil), err
	}
	res := r.result(e, nil)
	if e.Failure == nil {
		return res, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), r.cancelTimeout())
	defer cancel()
	at, known := graph.Inspect(ctx, c.cfg.Store, checkpoint.Key{Thread: r.o.Thread}) // without it, the cut text stays
	if e.Failure.Node == nil && slices.Equal(e.Failure.Codes, []string{"unknown_thread"}) && known == nil {
		return res, fmt.Errorf("%w (graph %q, thread %q)", ErrStores, c.Name(), r.o.Thread)
	}
	return res, e.Failure.error(c.Name(), r.o.Thread, at.Failures)
}

// release releases the lease of a run that has ended before a workflow had it.
func (r *run) release(id graph.StepID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), r.cancelTimeout())
	defer cancel()
	return r.client.Release(ctx, id)
}

// rejoin waits for the end of a run that the workflow has.
func (r *run) rejoin(ctx context.Context) (*end, error) {
	return r.client.await(ctx, workflowID(r.client.Name(), r.o.Thread), r.id, r.accepts)
}

// accepts notes that the workflow has the run.
func (r *run) accepts() { r.accept.Do(func() { close(r.accepted) }) }

func (r *run) isAccepted() bool {
	select {
	case <-r.accepted:
		return true
	default:
		return false
	}
}

// await waits for the end of the run, and asks it to stop when the caller wants that. begin waits
// for it first.
func (r *run) await(begin func(ctx context.Context) (*end, error)) (*end, error) {
	waits, cancel := context.WithCancelCause(context.WithoutCancel(r.ctx))
	defer cancel(nil)
	defer r.passStops(cancel)()
	defer r.lookForWorkers(waits)()
	e, err := begin(waits)
	for err == nil && e.Moved {
		e, err = r.rejoin(waits)
	}
	r.left = err != nil && waits.Err() != nil
	return e, err
}

// passStops passes on the end of the caller's context, and each request to stop, once the workflow
// has the run. It does so until the function that it returns is called. If the run does not end in
// time, or the caller leaves it, giveUp ends the wait. A run that no worker has by then gets the
// signals before that: the workflow keeps them for a worker that comes later.
func (r *run) passStops(giveUp context.CancelCauseFunc) (stop func()) {
	left, done := make(chan struct{}), make(chan struct{})
	var ticks <-chan time.Time
	if r.o.Drain != nil { // it has no channel
		ticker := time.NewTicker(100 * time.Millisecond)
		ticks = ticker.C
		stop = ticker.Stop
	}
	sending, endSending := context.WithCancel(context.WithoutCancel(r.ctx))
	go func() {
		defer close(done)
		ended, accepted := r.ctx.Done(), r.accepted
		var asked, sent <-chan struct{}
		var early, late <-chan time.Time
		for {
			select {
			case <-left:
				endSending()
				if sent != nil {
					<-sent
				}
				return
			case <-accepted:
				if accepted = nil; sent == nil {
					asked = r.asked
				}
			case <-asked: // the server may not answer
				asked, sent = nil, r.passOn(sending, false)
			case <-sent:
				if sent = nil; accepted == nil {
					asked = r.asked
				}
			case <-ended:
				if ended = nil; errors.Is(context.Cause(r.ctx), graph.ErrDetached) {
					giveUp(context.Cause(r.ctx))
					continue
				}
				r.ask(CancelSignal, context.Cause(r.ctx).Error())
				late = time.After(r.cancelTimeout())
				early = time.After(r.cancelTimeout() / 2)
			case <-early:
				if accepted != nil && sent == nil {
					sent = r.passOn(sending, true)
				}
			case <-late:
				text := "the run did not stop within %v"
				if accepted != nil {
					text = "no worker took the run within %v; a worker that comes ends it if the engine has the signal"
				}
				giveUp(fmt.Errorf("%w: "+text, context.Cause(r.ctx), r.cancelTimeout()))
			case <-ticks:
				if reason, ok := r.o.Drain.Requested(); ok {
					ticks = nil
					r.ask(DrainSignal, reason)
				}
			}
		}
	}()
	stopTicks := stop
	return func() {
		close(left)
		<-done
		if stopTicks != nil {
			stopTicks()
		}
	}
}

// ask asks the run to stop, by a signal of the workflow.
func (r *run) ask(signal, reason string) {
	r.mu.Lock()
	r.asks = append(r.asks, ask{signal, reason})
	r.mu.Unlock()
	select {
	case r.asked <- struct{}{}:
	default:
	}
}

// passOn sends the signals that ask the run to stop, and closes sent when that is done. One that
// fails has no run to stop, or leaves the caller waiting until stopTime is over. If early is true
// it sends them again when the workflow has the run: it may not have begun.
func (r *run) passOn(ctx context.Context, early bool) (sent <-chan struct{}) {
	bound := stopTime
	r.mu.Lock()
	asks := slices.Clone(r.asks)
	if early {
		bound = r.cancelTimeout() / 2
	} else {
		r.asks = nil
	}
	r.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(ctx, bound)
		defer cancel()
		for _, a := range asks {
			_ = r.client.signal(ctx, workflowID(r.client.Name(), r.o.Thread), a.signal, StopRequest{Run: r.id, Reason: a.reason})
		}
	}()
	return done
}

// result reads from the store what an end refers to.
func (r *run) result(e *end, open []graph.Interrupt) graph.Result[json.RawMessage] {
	res := graph.Result[json.RawMessage]{Status: e.Status, Interrupts: open, Drained: e.Drained, Starved: e.Starved,
		Steps: e.Steps, Checkpoint: e.Checkpoint}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), r.cancelTimeout())
	defer cancel()
	state, at, err := r.client.Thread(r.o.Thread).State(ctx, 0)
	if err != nil {
		return res
	}
	res.State, res.Checkpoint = state, at.Checkpoint
	if open == nil {
		res.Interrupts = at.Interrupts
	}
	if len(e.Pauses) > 0 {
		res.Interrupts = nil
		for _, p := range e.Pauses {
			res.Interrupts = append(res.Interrupts, graph.Interrupt{Kind: p.Kind, Namespace: p.Namespace, Node: p.Node, Task: p.Task})
		}
	}
	return res
}

// ID implements graph.Remote.
func (r *run) ID() string { return r.id }

// Wait implements graph.Remote.
func (r *run) Wait() (graph.Result[json.RawMessage], error) {
	r.once.Do(func() { go r.begin() })
	<-r.finished
	return r.res, r.err
}

// Drain implements graph.Remote.
func (r *run) Drain(reason string) {
	if reason == "" {
		reason = "a drain was requested"
	}
	r.ask(DrainSignal, reason)
}

// Cancel implements graph.Remote.
func (r *run) Cancel(cause error) {
	r.ask(CancelSignal, cause.Error())
}

// Join implements graph.Remote. Events before the call are those of the run alone, where it was
// started by this Client.
func (r *run) Join(reader graph.Reader) iter.Seq2[graph.Event, error] {
	return func(yield func(graph.Event, error) bool) {
		r.once.Do(func() { go r.begin() })
		f := &follower{run: r, reader: reader, yield: yield}
		if r.client.cfg.Bus == nil || f.follow() {
			f.end()
		}
	}
}
