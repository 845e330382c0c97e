package work

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
)

// Log reads the event logs of threads as records of package wire. A log has the events of the
// graphs, whatever engine runs them, and what workers note: see package eventlog. The records are
// made when they are read, and are the same for each reader.
type Log struct {
	Bus    topic.Bus
	Viewer Viewer
	Log    *slog.Logger // for events that cannot be shown; nil means slog.Default
}

// Viewer knows how the runs in a log are shown. It is safe for concurrent use.
type Viewer interface {
	// View returns how the graph of a namespace is shown.
	View(ctx context.Context, run wire.RunStart, namespace string) *wire.View
	// Start returns the start of a run whose first events are gone from the log; ok is false for a
	// run that is none of a server. An error means that this is not known now.
	Start(ctx context.Context, thread, run string) (start wire.RunStart, ok bool, err error)
}

func (l Log) logger() *slog.Logger { return cmp.Or(l.Log, slog.Default()) }

// note is what a worker notes in the log.
type note struct {
	At time.Time `json:"at"`
	// Begin is set where an attempt begins. Step and Head are as in wire.RecorderOptions.
	Begin *wire.RunStart `json:"begin,omitempty"`
	Step  int            `json:"step,omitempty"`
	Head  uint64         `json:"head,omitempty"`
	// Engine is set beside Begin if the engine of the graph writes the events of the run. Its
	// batches count the attempts of the engine.
	Engine bool `json:"engine,omitempty"`
	// Ended is the last event of a run that did not fail, and End how the attempt ended.
	Ended *graph.Event `json:"ended,omitempty"`
	End   *wire.RunEnd `json:"end,omitempty"`
}

// End adds the end of a run that no worker has ended, and its begin if it never began. start is how
// the log shows the run.
func (l Log) End(ctx context.Context, r queue.Run, start wire.RunStart, at time.Time) error {
	n := note{At: at.UTC(), Step: -2, End: &wire.RunEnd{Status: wire.RunStatus(r.Status)}}
	if r.Error != nil {
		n.End.Error = &wire.RunError{Error: r.Error.Name, Message: r.Error.Message}
	}
	if r.Attempt == 0 {
		start.Attempt = 1
		n.Begin = &start
	}
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return eventlog.Log{Bus: l.Bus}.Publish(ctx, r.Thread, eventlog.Batch{Run: r.ID, Attempt: max(r.Attempt, 1), Note: data, End: true})
}

// idBits are the bits of a Seq and an N that count the records and the ids of one batch.
const idBits = 16

// Follow yields the records of a thread after a Seq, those in the log and then those that are
// added, until ctx ends. Where events are gone from the log, it yields a *topic.MissedError and
// goes on. Any other error is the last result.
func (l Log) Follow(ctx context.Context, thread string, after uint64) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		p := l.projector(ctx, thread)
		for b, err := range (eventlog.Log{Bus: l.Bus}).Follow(ctx, thread, 0) {
			var missed *topic.MissedError
			var records []wire.Event
			switch {
			case errors.As(err, &missed):
				if !yield(wire.Event{}, missed) {
					return
				}
				continue
			case err == nil:
				records, err = p.project(b)
			}
			if err != nil {
				yield(wire.Event{}, fmt.Errorf("work: the log of thread %.100q: %w", thread, err))
				return
			}
			for _, e := range records {
				if e.Seq > after && !yield(e, nil) {
					return
				}
			}
		}
	}
}

// Read returns the records that are in the log now.
func (l Log) Read(ctx context.Context, thread string) (records []wire.Event, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	err = l.replay(ctx, &replayed{projector: l.projector(ctx, thread)}, func(e wire.Event) error {
		records = append(records, e)
		return nil
	})
	return records, err
}

// replayed is where a reader of the log has come to.
type replayed struct {
	projector *projector
	position  uint64 // of the newest batch that was read
	seq       uint64 // of the newest record
	missed    uint64 // batches that are gone from the front of the log
	seen      eventlog.Repeats
}

// replay reads the batches behind r.position that are in the log now, with a projector that has
// read none, and yields their records. A log that ends before the position has begun anew: it is
// read from its beginning. The error is that of yield, or of the log.
func (l Log) replay(ctx context.Context, r *replayed, yield func(wire.Event) error) error {
	thread := r.projector.thread
	last, err := eventlog.Log{Bus: l.Bus}.Last(ctx, thread)
	if err != nil {
		return err
	}
	if last < r.position {
		r.position = 0
	}
	if r.position > 0 {
		r.seq, r.projector.partial = lastSeq(r.position), true
	}
	if last == r.position {
		return nil
	}
	for b, err := range (eventlog.Log{Bus: l.Bus}).Continue(ctx, thread, r.position, &r.seen) {
		var missed *topic.MissedError
		switch {
		case errors.As(err, &missed):
			r.missed += missed.Count
			if missed.Count == 0 || missed.From+missed.Count > last { // all of it has gone meanwhile
				return nil
			}
			continue
		case errors.Is(err, eventlog.ErrBatch): // the others can be read
			l.unreadable(ctx, thread, err)
			r.missed, r.position = r.missed+1, b.Position
		case err != nil:
			return fmt.Errorf("work: the log of thread %.100q: %w", thread, err)
		default:
			if err := r.add(b, yield); err != nil {
				return err
			}
		}
		if r.position >= last {
			return nil
		}
	}
	return context.Cause(ctx)
}

// add yields the records of the next batch.
func (r *replayed) add(b eventlog.Batch, yield func(wire.Event) error) error {
	records, err := r.projector.project(b)
	if err != nil {
		return fmt.Errorf("work: the log of thread %.100q: %w", r.projector.thread, err)
	}
	r.position = b.Position
	for _, e := range records {
		r.seq = e.Seq
		if err := yield(e); err != nil {
			return err
		}
	}
	if r.projector.only != "" { // what was skipped counts as read: the feed does not have it
		r.seq = lastSeq(b.Position)
	}
	return nil
}

func (l Log) unreadable(ctx context.Context, thread string, err error) {
	l.logger().ErrorContext(ctx, "work: a batch of events cannot be read", "thread", thread, "error", err)
}

// Position returns the position, in the log, of the batch of a record.
func Position(seq uint64) uint64 { return seq >> idBits }

// readTime bounds Read.
const readTime = 10 * time.Second

// Last returns a Seq such that the records after it are those of events which are not in the log
// yet; 0 if the log is empty.
func (l Log) Last(ctx context.Context, thread string) (seq uint64, err error) {
	position, err := eventlog.Log{Bus: l.Bus}.Last(ctx, thread)
	if err != nil || position == 0 {
		return 0, err
	}
	return lastSeq(position), nil
}

// lastSeq is the greatest Seq that a record of a batch may have.
func lastSeq(position uint64) uint64 { return (position+1)<<idBits - 1 }

// projector makes records of the batches of a thread.
type projector struct {
	ctx    context.Context
	log    Log
	thread string
	runs   map[string]*loggedRun
	// partial is true if the log was not read from its beginning: what it has of a run before is
	// read when a later batch of the run comes.
	partial bool
	// only is the run whose records are wanted; "" means all runs. A batch of another run is
	// skipped if more of the log would have to be read for it.
	only string
}

func (l Log) projector(ctx context.Context, thread string) *projector {
	return &projector{ctx: ctx, log: l, thread: thread, runs: map[string]*loggedRun{}}
}

// loggedRun is a run in the log.
type loggedRun struct {
	start    wire.RunStart  // of the newest attempt
	recorder *wire.Recorder // nil for a run that is none of a server, or has ended
	cut      bool           // the log does not have its first batches
	attempt  int            // the newest that has begun; 0 if that is not known, or for an engine
	// ended is how the recorder of a run that has ended goes on: the recorder has the states of the
	// run, and a reader may follow a thread for long.
	ended *wire.RecorderOptions
	// at are the newest commits, by namespace: a state that is not in the log is read from there.
	at map[string]uint64
}

// project returns the records of a batch.
func (p *projector) project(b eventlog.Batch) (out []wire.Event, err error) {
	var n note
	if b.Note != nil {
		if err := json.Unmarshal(b.Note, &n); err != nil {
			return nil, err
		}
	}
	r, over := p.runs[b.Run], n.End != nil
	if r == nil && p.partial && (n.Begin == nil || n.Begin.Attempt > 1) {
		if p.only != "" && p.only != b.Run {
			return nil, nil
		}
		if r, err = p.recall(b); err != nil {
			return nil, err
		}
	}
	if r != nil && b.Attempt < r.attempt { // another process has the run, and has logged its commits
		b.Events, n.Begin, n.Ended = nil, nil, nil
	}
	if r != nil && r.ended != nil { // another attempt begins, or the events are late
		attempt := r.attempt
		r, over = p.run(b.Run, *r.ended), over || n.Begin == nil
		r.attempt = attempt
	}
	switch {
	case n.Begin != nil:
		o := wire.RecorderOptions{Start: *n.Begin, Step: n.Step, Head: n.Head, Cut: n.Begin.Attempt > 1}
		if r != nil && r.recorder != nil {
			o.D, o.Cut, o.Steps = r.recorder.D(), r.cut, r.recorder.Steps()
		}
		r = p.run(b.Run, o)
		if !n.Engine {
			r.attempt = b.Attempt
		}
		out = r.recorder.Begin(n.At)
	case r == nil:
		r = &loggedRun{}
		start, ok, err := p.log.Viewer.Start(p.ctx, p.thread, b.Run)
		if err != nil {
			return nil, err
		}
		if ok {
			r = p.run(b.Run, wire.RecorderOptions{Start: start, Step: -2, Cut: true})
		}
	}
	if p.runs[b.Run] = r; r.recorder == nil {
		return nil, nil
	}
	events := b.Events
	if n.Ended != nil {
		events = append(events, *n.Ended)
	}
	for _, ev := range events {
		records, err := r.recorder.Record(p.whole(r, ev))
		if err != nil {
			p.log.logger().ErrorContext(p.ctx, "work: an event cannot be shown", "run_id", b.Run, "thread", p.thread, "error", err)
		}
		out = append(out, records...)
	}
	if n.End != nil {
		out = append(out, r.recorder.End(n.At, *n.End)...)
	}
	if over {
		p.runs[b.Run] = r.rest()
	}
	id := b.Position << idBits
	for i := range out {
		out[i].Seq, out[i].N = b.Position<<idBits|uint64(i), id
		id = out[i].Next()
	}
	return out, nil
}

// recall returns what the log has of the run of a batch before it; nil if there is nothing.
func (p *projector) recall(of eventlog.Batch) (*loggedRun, error) {
	whole := p.log.projector(p.ctx, p.thread)
	for b, err := range (eventlog.Log{Bus: p.log.Bus}).Follow(p.ctx, p.thread, 0) {
		var missed *topic.MissedError
		switch {
		case errors.As(err, &missed) && (missed.Count == 0 || missed.From+missed.Count > of.Position): // it has gone
			return nil, nil
		case missed != nil, errors.Is(err, eventlog.ErrBatch):
			continue
		case err != nil:
			return nil, err
		case b.Position >= of.Position:
			return whole.runs[of.Run], nil
		case b.Run != of.Run:
			continue
		}
		if _, err := whole.project(b); err != nil {
			return nil, err
		}
	}
	return nil, context.Cause(p.ctx)
}

// rest returns what stays of a run that has ended.
func (r *loggedRun) rest() *loggedRun {
	o := wire.RecorderOptions{Start: r.start, D: r.recorder.D(), Cut: r.cut, Step: -2, Steps: r.recorder.Steps()}
	if step, known := o.Steps[""]; known {
		o.Step = step
	}
	return &loggedRun{start: r.start, cut: r.cut, attempt: r.attempt, ended: &o}
}

// run returns a run that begins.
func (p *projector) run(id string, o wire.RecorderOptions) *loggedRun {
	o.Run, o.View = id, func(ns string) *wire.View { return p.log.Viewer.View(p.ctx, o.Start, ns) }
	return &loggedRun{start: o.Start, at: map[string]uint64{}, cut: o.Cut, recorder: wire.NewRecorder(o)}
}

// whole returns an event with its state, which is not in the log if it is large.
func (p *projector) whole(r *loggedRun, ev graph.Event) graph.Event {
	switch {
	case ev.Mode == graph.Checkpoints:
		r.at[ev.Namespace] = ev.Checkpoint
	case ev.Mode == graph.Ended && ev.Checkpoint > 0:
		r.at[ev.Namespace] = ev.Checkpoint
	}
	if ev.State != nil || ev.Mode != graph.Values && ev.Mode != graph.Ended {
		return ev
	}
	if v := p.log.Viewer.View(p.ctx, r.start, ev.Namespace); v != nil && v.Commit != nil {
		if s, ok := v.Commit(r.at[ev.Namespace]); ok { // 0 is the newest
			ev.State = s.State
		}
	}
	return ev
}

// logs reports whether the engine of a graph writes the log of its runs.
func logs(g graph.Untyped) bool {
	l, ok := g.(eventlog.Logged)
	return ok && l.Logged()
}
