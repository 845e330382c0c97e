package topic

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// ErrName is returned when a topic has no name, or one longer than MaxName bytes.
var ErrName = errors.New("topic: bad name")

// MaxName is how many bytes the name of a topic may have.
const MaxName = 256

// Bus carries events between those who publish and those who follow. It is safe for
// concurrent use.
type Bus interface {
	// Publish appends an event. The bus does not keep hold of data.
	Publish(ctx context.Context, name string, data []byte) error
	// Last returns the position of the newest event, 0 if there never was one.
	Last(ctx context.Context, name string) (uint64, error)
	// Follow yields the events after a position as they come, until ctx ends. An error that
	// is a *MissedError is followed by further events; any other is the last.
	Follow(ctx context.Context, name string, after uint64) iter.Seq2[Event, error]
}

// Event is what was published.
type Event struct {
	Position uint64 // in its topic, from 1, without gaps
	Data     []byte // the receiver's own
}

// MissedError is yielded to a follower for whom events were no longer kept.
type MissedError struct {
	Name string
	From uint64 // position of the first event that was missed
	// Count is how many were missed; 0 means that nobody knows, since the bus lost all it had.
	Count uint64
}

func (e *MissedError) Error() string {
	if e.Count == 0 {
		return fmt.Sprintf("topic: %q: the bus has begun anew; what came after position %d is not known", e.Name, e.From)
	}
	return fmt.Sprintf("topic: %q: missed %d events from position %d on", e.Name, e.Count, e.From)
}

// CheckName returns an ErrName that says what is wrong with the name of a topic, or nil.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: it is empty", ErrName)
	case len(name) > MaxName:
		return fmt.Errorf("%w: %d bytes, more than %d", ErrName, len(name), MaxName)
	}
	return nil
}
