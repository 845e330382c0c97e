package state

import (
	"encoding/json"
	"iter"
	"reflect"

	"github.com/weftrun/weft/internal/compact"
)

// Topic carries messages from one superstep to the next: what is published in a
// step is read in the next one and is gone after it. Messages come in canonical
// order. A task reads what was delivered to it, then what it published itself.
// The zero Topic is empty and ready to use.
type Topic[T any] struct {
	base vec[T] // delivered: published in the step before
	own  vec[T] // published by the holder
}

// TopicOf returns a Topic to which items were published: the way to fill an input.
func TopicOf[T any](items ...T) (t Topic[T]) {
	t.Publish(items...)
	return t
}

// Publish sends items to the tasks of the next superstep.
func (t *Topic[T]) Publish(items ...T) { t.own = t.own.write(items) }

// Len returns the number of messages.
func (t *Topic[T]) Len() int { return len(t.base.s) + len(t.own.s) }

// All iterates over index and message. Messages published during the iteration
// are not visited.
func (t *Topic[T]) All() iter.Seq2[int, T] { return chain(t.base.s, t.own.s) }

// Slice returns the messages in a new slice that the caller owns.
func (t *Topic[T]) Slice() []T {
	return append(append(make([]T, 0, t.Len()), t.base.s...), t.own.s...)
}

// Channel returns what the runtime does with the channel. A node does not need it.
func (t *Topic[T]) Channel() Channel { return (*topicChannel[T])(t) }

// topicChannel is a Topic as the runtime sees it.
type topicChannel[T any] Topic[T]

// Wrote implements [Channel].
func (t *topicChannel[T]) Wrote() bool { return len(t.own.s) > 0 }

// Fold implements [Channel]: what was delivered before is gone.
func (t *topicChannel[T]) Fold(writes []Channel) error {
	t.base = writes[0].(*topicChannel[T]).own.committed()
	for _, w := range writes[1:] {
		t.base = t.base.append(w.(*topicChannel[T]).own.s)
	}
	return nil
}

// Expire implements [Expirer].
func (t *topicChannel[T]) Expire() { *t = topicChannel[T]{} }

// MarshalJSON returns the messages as an array; an empty topic is [].
func (t Topic[T]) MarshalJSON() ([]byte, error) { return compact.Marshal(t.Slice()) }

// UnmarshalJSON publishes the elements of a JSON array.
func (t *Topic[T]) UnmarshalJSON(data []byte) error {
	var items []T
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	t.Publish(items...)
	return nil
}

// MarshalJSON implements [Channel].
func (t *topicChannel[T]) MarshalJSON() ([]byte, error) { return (*Topic[T])(t).MarshalJSON() }

// UnmarshalJSON implements [Channel].
func (t *topicChannel[T]) UnmarshalJSON(data []byte) error {
	return (*Topic[T])(t).UnmarshalJSON(data)
}

// Stored implements [Channel].
func (t *topicChannel[T]) Stored() (any, bool) { return t.base.s, len(t.base.s) > 0 }

// Restore implements [Channel].
func (t *topicChannel[T]) Restore(dec Decode) error {
	var items []T
	if err := dec(&items); err != nil {
		return err
	}
	*t = topicChannel[T]{base: vecOf(items)}
	return nil
}

// Writes implements [Channel].
func (t *topicChannel[T]) Writes() Write { return Write{Value: t.own.s} }

// RestoreWrites implements [Channel].
func (t *topicChannel[T]) RestoreWrites(_ bool, dec Decode) error {
	var items []T
	if err := dec(&items); err != nil {
		return err
	}
	t.own = vecOf(items)
	return nil
}

func (t *Topic[T]) elements() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }

func (t *topicChannel[T]) elements() []reflect.Type { return (*Topic[T])(t).elements() }

// String returns the value as JSON, for people who print a state.
func (t Topic[T]) String() string { return text(t) }

func (t *topicChannel[T]) String() string { return text(t) }
