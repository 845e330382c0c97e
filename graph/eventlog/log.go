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

// Log is the event logs of the threads of one bus. It is safe for concurrent use.
type Log struct{ Bus topic.Bus }

// Batch is some events of a run.
type Batch struct {
	Position uint64 `json:"-"` // in the log of the thread, from 1, without gaps
	Run      string `json:"run"`
	// Attempt counts, from 1, the processes that have worked on the run, one after the other.
	Attempt int           `json:"attempt,omitempty"`
	Events  []graph.Event `json:"events,omitempty"`
	// Lost counts events of the run before these that its process could not publish.
	Lost uint64 `json:"lost,omitempty"`
	// End is true for the last batch of a run.
	End bool `json:"end,omitempty"`
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

// Last returns the position of the newest batch of a thread, 0 if there never was one.
func (l Log) Last(ctx context.Context, thread string) (uint64, error) {
	return l.Bus.Last(ctx, Topic(thread))
}

// Publish appends a batch.
func (l Log) Publish(ctx context.Context, thread string, b Batch) error {
	data, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("eventlog: thread %q: run %q: %w", thread, b.Run, err)
	}
	return l.Bus.Publish(ctx, Topic(thread), data)
}

// Follow yields the batches after a position as they are published, until ctx ends. More batches
// follow a *topic.MissedError and an ErrBatch; any other error is the last result.
func (l Log) Follow(ctx context.Context, thread string, after uint64) iter.Seq2[Batch, error] {
	events := l.Bus.Follow(ctx, Topic(thread), after)
	return func(yield func(Batch, error) bool) {
		for e, err := range events {
			var b Batch
			if err == nil {
				if bad := json.Unmarshal(e.Data, &b); bad != nil {
					err = fmt.Errorf("%w: thread %q: position %d: %w", ErrBatch, thread, e.Position, bad)
				}
			}
			b.Position = e.Position
			if !yield(b, err) {
				return
			}
		}
	}
}
