package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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
	finished chan struct{} // closed when res and err are set
	res      graph.Result[json.RawMessage]
	err      error
}

var _ graph.Remote[json.RawMessage] = (*run)(nil)

// stopTime is how long a run that was cancelled may take to end, before its caller stops waiting.
const stopTime = 30 * time.Second

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
	r.res.Run = r.id
	if r.err != nil {
		r.res.Status = graph.Failed
	}
}

// carry stores what the run begins with, and has workers carry it out.
func (r *run) carry() (graph.Result[json.RawMessage], error) {
	c := r.client
	if c.rejoin {
		e, err := r.await(func(ctx context.Context) (*end, error) { return c.await(ctx, workflowID(c.Name(), r.o.Thread), r.id) })
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
	over := err != nil || p.Status != graph.Pending
	if w != nil {
		if over {
			w.End()
		}
		_ = w.Close(r.ctx) // a bus that fails is no failure of the run
	}
	if over {
		res := r.result(&end{Status: p.Status, Checkpoint: p.ID.Checkpoint, Steps: p.Steps, Starved: p.Starved}, p.Interrupts)
		if e := r.release(p.ID); err == nil {
			err = e
		}
		return res, err
	}
	j := job{Step: refOf(p.ID), Turn: p.Turn, Durability: r.o.Durability}
	j.Step.Options = options != nil
	return r.ended(r.await(func(ctx context.Context) (*end, error) { return c.run(ctx, c.input(r.o.Thread, r.o.By), j) }))
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
	at, _ := graph.Inspect(context.WithoutCancel(r.ctx), c.cfg.Store, checkpoint.Key{Thread: r.o.Thread}) // without it, the cut text stays
	err = e.Failure.error(c.Name(), r.o.Thread, at.Failures)
	if cause := context.Cause(r.ctx); cause != nil {
		err = errors.Join(err, cause)
	}
	return res, err
}

// release releases the lease of a run that has ended before a workflow had it.
func (r *run) release(id graph.StepID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), stopTime)
	defer cancel()
	return r.client.Release(ctx, id)
}

// await waits for the end of the run, and asks it to stop when the caller wants that. begin waits
// for it first.
func (r *run) await(begin func(ctx context.Context) (*end, error)) (*end, error) {
	c := r.client
	waits, cancel := context.WithCancelCause(context.WithoutCancel(r.ctx))
	defer cancel(nil)
	defer r.passStops(cancel)()
	e, err := begin(waits)
	for err == nil && e.Moved {
		e, err = c.await(waits, workflowID(c.Name(), r.o.Thread), r.id)
	}
	if err != nil && r.ctx.Err() != nil {
		err = errors.Join(err, context.Cause(r.ctx))
	}
	return e, err
}

// passStops passes on the end of the caller's context, and a Drain, until the function that it
// returns is called. If the run does not end in time, or the caller leaves it, giveUp ends the wait.
func (r *run) passStops(giveUp context.CancelCauseFunc) (stop func()) {
	left, done := make(chan struct{}), make(chan struct{})
	var ticks <-chan time.Time
	if r.o.Drain != nil { // it has no channel
		ticker := time.NewTicker(100 * time.Millisecond)
		ticks = ticker.C
		stop = ticker.Stop
	}
	go func() {
		defer close(done)
		ended := r.ctx.Done()
		var late <-chan time.Time
		for {
			select {
			case <-left:
				return
			case <-ended:
				if ended = nil; errors.Is(context.Cause(r.ctx), graph.ErrDetached) {
					giveUp(context.Cause(r.ctx))
					continue
				}
				_ = r.signal(CancelSignal, context.Cause(r.ctx).Error()) // if it fails, the wait ends
				late = time.After(stopTime)
			case <-late:
				giveUp(fmt.Errorf("%w: the run did not stop within %v", context.Cause(r.ctx), stopTime))
			case <-ticks:
				if reason, ok := r.o.Drain.Requested(); ok {
					ticks = nil
					_ = r.signal(DrainSignal, reason) // the caller waits for the end of the run then
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

// signal asks the run to stop.
func (r *run) signal(name, reason string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), stopTime)
	defer cancel()
	return r.client.signal(ctx, workflowID(r.client.Name(), r.o.Thread), name, StopRequest{Run: r.id, Reason: reason})
}

// result reads from the store what an end refers to.
func (r *run) result(e *end, open []graph.Interrupt) graph.Result[json.RawMessage] {
	res := graph.Result[json.RawMessage]{Status: e.Status, Interrupts: open, Drained: e.Drained, Starved: e.Starved,
		Steps: e.Steps, Checkpoint: e.Checkpoint}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), stopTime)
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
	_ = r.signal(DrainSignal, reason) // a run that has ended has nothing to drain
}

// Cancel implements graph.Remote.
func (r *run) Cancel(cause error) {
	_ = r.signal(CancelSignal, cause.Error()) // a run that has ended has nothing to cancel
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
