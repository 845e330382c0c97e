package topic

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/weftrun/weft/internal/validtext"
)

// Topic publishes values of one type on a Bus, as JSON.
type Topic[T any] struct {
	Bus  Bus
	Name string
}

// Received is a published value with its position.
type Received[T any] struct {
	Position uint64
	Value    T
}

// Publish sends a value to all subscribers.
func (t Topic[T]) Publish(ctx context.Context, v T) error {
	data, err := validtext.Marshal(v)
	if err != nil {
		return fmt.Errorf("topic: %q: %w", t.Name, err)
	}
	return t.Bus.Publish(ctx, t.Name, data)
}

// Subscribe yields the matching values that are published after the call, until ctx ends. A nil
// match accepts all values. Subscribe calls Bus.Last once; an error of that call is the only
// result. Other errors are those of Bus.Follow, and an error for each value that cannot be decoded,
// after which the loop may continue.
func (t Topic[T]) Subscribe(ctx context.Context, match func(T) bool) iter.Seq2[Received[T], error] {
	last, err := t.Bus.Last(ctx, t.Name)
	if err != nil {
		return func(yield func(Received[T], error) bool) { yield(Received[T]{}, err) }
	}
	return t.From(ctx, last, match)
}

// From is like Subscribe, for the values after a position, beginning with the stored ones.
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
