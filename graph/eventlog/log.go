package eventlog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
)

// ErrBatch is returned when an event of the bus is not one of a Log.
var ErrBatch = errors.New("eventlog: not a batch of events")

// Modes are the events that a log has.
const Modes = graph.Tasks | graph.Updates | graph.Values | graph.Checkpoints | graph.Custom | graph.Messages | graph.Decisions

// MaxState is how many bytes a state in the log may have.
const MaxState = 32 << 10

// Reader returns the reader of a run whose events a Writer takes.
func Reader() graph.Reader { return graph.Reader{Modes: Modes, Buffer: 1024} }

// Logged is implemented by a graph.Untyped whose engine may write the log of its runs. Where Logged
// returns true, the process that starts a run writes no events.
type Logged interface{ Logged() bool }

// Log is the event logs of the threads of one bus. It is safe for concurrent use.
type Log struct{ Bus topic.Bus }

// Batch is some events of a run.
type Batch struct {
	Position uint64 // in the log of the thread, from 1, without gaps
	Run      string
	// Attempt counts, from 1, the processes that have worked on the run, one after the other.
	Attempt int
	// Note is what the process that drives the run has noted before Events, such as how an attempt
	// began. This package does not read it.
	Note   json.RawMessage
	Events []graph.Event
	// Lost counts events of the run before these that its process could not publish.
	Lost uint64
	// End is true for the last batch of a run.
	End bool
}

// stored is a Batch on the bus.
type stored struct {
	Run     string            `json:"run"`
	Attempt int               `json:"attempt,omitempty"`
	Note    json.RawMessage   `json:"note,omitempty"`
	Events  []json.RawMessage `json:"events,omitempty"`
	// Failures are those of the events, by their indexes.
	Failures map[int]graph.Failure `json:"failures,omitempty"`
	Lost     uint64                `json:"lost,omitempty"`
	End      bool                  `json:"end,omitempty"`
	// Writer and N, from 1, name the batch. A bus may have it twice, if the reply to the writer was
	// lost. Batches of Publish have no name.
	Writer string `json:"writer,omitempty"`
	N      uint64 `json:"n,omitempty"`
}

// Topic returns the name of the topic of a thread.
func Topic(thread string) string {
	name := "events/" + thread
	if len(name) > topic.MaxName {
		sum := sha256.Sum256([]byte(thread))
		name = "events/" + hex.EncodeToString(sum[:])
	}
	return name
}

// Delete removes the log of a thread, which must have no runs any more.
func (l Log) Delete(ctx context.Context, thread string) error {
	return l.Bus.Delete(ctx, Topic(thread))
}

// Last returns the position of the newest batch of a thread, 0 if there never was one.
func (l Log) Last(ctx context.Context, thread string) (uint64, error) {
	return l.Bus.Last(ctx, Topic(thread))
}

// Publish appends a batch. Its position is that of the bus.
func (l Log) Publish(ctx context.Context, thread string, b Batch) error {
	out := stored{Run: b.Run, Attempt: b.Attempt, Note: b.Note, Lost: b.Lost, End: b.End}
	for i, ev := range b.Events {
		e, err := encode(ev)
		if err != nil {
			return fmt.Errorf("eventlog: thread %.100q: run %.100q: %w", thread, b.Run, err)
		}
		out.add(i, e)
	}
	return l.publish(ctx, thread, out)
}

func (l Log) publish(ctx context.Context, thread string, b stored) error {
	data, err := json.Marshal(b)
	if err == nil {
		err = l.Bus.Publish(ctx, Topic(thread), data)
	}
	if err != nil {
		return fmt.Errorf("eventlog: thread %.100q: run %.100q: %w", thread, b.Run, err)
	}
	return nil
}

// Follow yields the batches after a position as they are published, until ctx ends. More batches
// follow a *topic.MissedError and an ErrBatch; any other error is the last result. A batch that the
// bus has twice is empty the second time, unless the position is between the two: see Continue.
func (l Log) Follow(ctx context.Context, thread string, after uint64) iter.Seq2[Batch, error] {
	return l.Continue(ctx, thread, after, new(Repeats))
}

// Continue is Follow for a reader that goes on behind the batches that seen knows.
func (l Log) Continue(ctx context.Context, thread string, after uint64, seen *Repeats) iter.Seq2[Batch, error] {
	events := l.Bus.Follow(ctx, Topic(thread), after)
	return func(yield func(Batch, error) bool) {
		for e, err := range events {
			var b Batch
			if err == nil {
				var in stored
				bad := json.Unmarshal(e.Data, &in)
				if bad == nil && seen.has(in.Writer, in.N) {
					in = stored{Run: in.Run, Attempt: in.Attempt}
				}
				if bad == nil {
					b, bad = in.batch()
				}
				if bad != nil {
					err = fmt.Errorf("%w: thread %.100q: position %d: %w", ErrBatch, thread, e.Position, bad)
				}
			}
			b.Position = e.Position
			if !yield(b, err) {
				return
			}
		}
	}
}

// encoded is an event on the bus.
type encoded struct {
	data    json.RawMessage
	failure *graph.Failure
	large   bool // a state was left out
}

// encode returns the form of an event on the bus. A state that is too large is left out.
func encode(ev graph.Event) (e encoded, err error) {
	if e.data, err = json.Marshal(ev); err != nil {
		return e, err
	}
	if ev.State != nil && len(e.data) > MaxState {
		ev.State, e.large = nil, true
		if e.data, err = json.Marshal(ev); err != nil {
			return e, err
		}
	}
	var at *graph.NodeError
	if errors.As(ev.Err, &at) {
		f := at.Failure()
		e.failure = &f
	}
	return e, nil
}

// add appends an event with an index in the batch.
func (b *stored) add(i int, e encoded) {
	b.Events = append(b.Events, e.data)
	if e.failure != nil {
		if b.Failures == nil {
			b.Failures = map[int]graph.Failure{}
		}
		b.Failures[i] = *e.failure
	}
}

// Repeats finds batches that a bus has twice, among the last 64 of each of the last writers. The
// zero value knows none. It is for one goroutine.
type Repeats struct {
	writers [8]struct {
		name   string
		newest uint64
		seen   uint64 // bit i is set if the bus has newest - i
	}
	next int // to overwrite, when a new writer begins
}

// has reports whether a batch came before, and notes it.
func (r *Repeats) has(writer string, n uint64) bool {
	if writer == "" {
		return false
	}
	i := 0
	for i < len(r.writers) && r.writers[i].name != writer {
		i++
	}
	if i == len(r.writers) {
		i, r.next = r.next, (r.next+1)%len(r.writers)
		r.writers[i].name, r.writers[i].newest, r.writers[i].seen = writer, n, 0
	}
	w := &r.writers[i]
	if n > w.newest {
		w.seen <<= min(n-w.newest, 64)
		w.newest = n
	}
	bit := uint64(1) << (w.newest - n) // 0 for an older one
	again := w.seen&bit != 0
	w.seen |= bit
	return again
}

// batch returns the batch without its position.
func (in *stored) batch() (Batch, error) {
	b := Batch{Run: in.Run, Attempt: in.Attempt, Note: in.Note, Lost: in.Lost, End: in.End}
	for i, data := range in.Events {
		var ev graph.Event
		if err := json.Unmarshal(data, &ev); err != nil {
			return b, err
		}
		if f, ok := in.Failures[i]; ok && ev.Err != nil {
			ev.Err = &failedError{ev.Err.Error(), &graph.NodeError{
				Node: ev.Node, Task: ev.Task, Step: ev.Step, Attempt: f.Attempt, Cancelled: f.Cancelled, Err: &graph.StoredError{Failure: f}}}
		}
		b.Events = append(b.Events, ev)
	}
	return b, nil
}

// failedError is the failure of a task with the text that it had.
type failedError struct {
	text string
	node *graph.NodeError
}

func (e *failedError) Error() string { return e.text }
func (e *failedError) Unwrap() error { return e.node }
