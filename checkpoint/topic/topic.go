package topic

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/weftrun/weft/internal/validtext"
)

// Topic carries values of one type over a Bus, as JSON.
type Topic[T any] struct {
	Bus  Bus
	Name string
}

// Received is a value that was published.
type Received[T any] struct {
	Position uint64
	Value    T
}

// Publish sends a value to all who subscribed.
func (t Topic[T]) Publish(ctx context.Context, v T) error {
	data, err := validtext.Marshal(v)
	if err != nil {
		return fmt.Errorf("topic: %q: %w", t.Name, err)
	}
	return t.Bus.Publish(ctx, t.Name, data)
}

// Subscribe yields the values that are published from now on and that match, until ctx
// ends; a nil match takes all. It asks the bus once where the topic stands; an error of that
// is yielded first and last. Other errors are those of Bus.Follow, and a value that cannot be
// read, after which the loop may go on.
func (t Topic[T]) Subscribe(ctx context.Context, match func(T) bool) iter.Seq2[Received[T], error] {
	last, err := t.Bus.Last(ctx, t.Name)
	if err != nil {
		return func(yield func(Received[T], error) bool) { yield(Received[T]{}, err) }
	}
	return t.From(ctx, last, match)
}

// From is Subscribe for the values after a position, those that are there already first.
func (t Topic[T]) From(ctx context.Context, after uint64, match func(T) bool) iter.Seq2[Received[T], error] {
	return func(yield func(Received[T], error) bool) {
		for e, err := range t.Bus.Follow(ctx, t.Name, after) {
			got := Received[T]{Position: e.Position}
			if err == nil {
				err = t.read(e, &got.Value)
			}
			if err == nil && match != nil && !match(got.Value) {
				continue
			}
			if !yield(got, err) {
				return
			}
		}
	}
}

func (t Topic[T]) read(e Event, into *T) error {
	if err := json.Unmarshal(e.Data, into); err != nil {
		return fmt.Errorf("topic: %q: event %d: %w", t.Name, e.Position, err)
	}
	return nil
}
