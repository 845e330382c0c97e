package topic

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// ErrName is returned when a topic has no name, or one longer than MaxName bytes.
var ErrName = errors.New("topic: invalid name")

// MaxName is how many bytes the name of a topic may have.
const MaxName = 256

// Bus delivers events from publishers to subscribers. It is safe for concurrent use.
type Bus interface {
	// Publish appends an event. The bus does not retain data.
	Publish(ctx context.Context, name string, data []byte) error
	// Last returns the position of the newest event, 0 if there never was one.
	Last(ctx context.Context, name string) (uint64, error)
	// Follow yields the events after a position as they are published, until ctx ends. More
	// events follow a *MissedError; any other error is the last result.
	Follow(ctx context.Context, name string, after uint64) iter.Seq2[Event, error]
	// Delete removes a topic with its events. One of that name begins at position 1 again. Delete
	// only a topic that nothing publishes to or follows any more.
	Delete(ctx context.Context, name string) error
}

// Event is a published event.
type Event struct {
	Position uint64 // in its topic, from 1, without gaps
	Data     []byte // owned by the receiver
}

// MissedError is yielded when the bus has dropped events that a subscriber has not read.
type MissedError struct {
	Name string
	From uint64 // position of the first event that was missed
	// Count is the number of missed events; 0 means unknown, because the bus lost all its events.
	Count uint64
}

func (e *MissedError) Error() string {
	if e.Count == 0 {
		return fmt.Sprintf("topic: %q: the bus lost its events; an unknown number is missing from position %d on", e.Name, e.From)
	}
	return fmt.Sprintf("topic: %q: missed %d events from position %d on", e.Name, e.Count, e.From)
}

// CheckName returns an ErrName if the name of a topic is not valid.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: it must not be empty", ErrName)
	case len(name) > MaxName:
		return fmt.Errorf("%w: it must have at most %d bytes (got %d)", ErrName, MaxName, len(name))
	}
	return nil
}
