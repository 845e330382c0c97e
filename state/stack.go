package state

import (
	"encoding/json"
	"iter"
	"reflect"
	"slices"

	"github.com/weftrun/weft/internal/compact"
)

// Stack holds a sequence whose newest elements come first; writes put elements in front.
// Of several writes in one superstep the last in canonical order is in front. The zero
// Stack is empty and ready to use.
//
// Copies share their elements, and a step costs what it puts in front. So the stored form
// is that of a [List], the oldest element first.
type Stack[T any] struct{ list List[T] }

// StackOf returns a Stack in front of which items were put: the way to fill an input.
func StackOf[T any](items ...T) (s Stack[T]) {
	s.Prepend(items...)
	return s
}

// Prepend puts items in front, the first of them first.
func (s *Stack[T]) Prepend(items ...T) { s.list.Append(reversed(items)...) }

// Overwrite replaces the whole sequence by a copy of items. It wins over what other tasks
// put in front in the same step; two Overwrites in one step are an error.
func (s *Stack[T]) Overwrite(items []T) { s.list.Overwrite(reversed(items)) }

func reversed[T any](items []T) []T {
	items = slices.Clone(items)
	slices.Reverse(items)
	return items
}

// Len returns the number of elements.
func (s *Stack[T]) Len() int { return s.list.Len() }

// At returns element i, counted from 0, the newest. It panics if i is out of range, as a
// slice does.
func (s *Stack[T]) At(i int) T { return s.list.At(s.list.Len() - 1 - i) }

// All iterates over index and element, newest first.
func (s *Stack[T]) All() iter.Seq2[int, T] {
	items := s.Slice()
	return slices.All(items)
}

// Slice returns the elements, newest first, in a new slice that the caller owns.
func (s *Stack[T]) Slice() []T {
	items := s.list.Slice()
	slices.Reverse(items)
	return items
}

// Channel returns what the runtime does with the channel. A node does not need it.
func (s *Stack[T]) Channel() Channel { return (*stackChannel[T])(s) }

// stackChannel is a Stack as the runtime sees it.
type stackChannel[T any] Stack[T]

// channel returns the channel of the list.
func (s *stackChannel[T]) channel() *listChannel[T] { return (*listChannel[T])(&s.list) }

// Wrote implements [Channel].
func (s *stackChannel[T]) Wrote() bool { return s.channel().Wrote() }

func (s *Stack[T]) overwrote() bool { return s.list.over }

func (s *stackChannel[T]) overwrote() bool { return s.list.over }

// Fold implements [Channel].
func (s *stackChannel[T]) Fold(writes []Channel) error {
	lists := make([]Channel, len(writes))
	for i, w := range writes {
		lists[i] = w.(*stackChannel[T]).channel()
	}
	return s.channel().Fold(lists)
}

// MarshalJSON returns the elements as an array, newest first; an empty stack is [].
func (s Stack[T]) MarshalJSON() ([]byte, error) { return compact.Marshal(s.Slice()) }

// UnmarshalJSON puts the elements of a JSON array in front.
func (s *Stack[T]) UnmarshalJSON(data []byte) error {
	var items []T
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	s.Prepend(items...)
	return nil
}

// MarshalJSON implements [Channel].
func (s *stackChannel[T]) MarshalJSON() ([]byte, error) { return (*Stack[T])(s).MarshalJSON() }

// UnmarshalJSON implements [Channel].
func (s *stackChannel[T]) UnmarshalJSON(data []byte) error {
	return (*Stack[T])(s).UnmarshalJSON(data)
}

// Stored implements [Channel].
func (s *stackChannel[T]) Stored() (any, bool) { return s.channel().Stored() }

// Restore implements [Channel].
func (s *stackChannel[T]) Restore(dec Decode) error { return s.channel().Restore(dec) }

// Writes implements [Channel].
func (s *stackChannel[T]) Writes() Write { return s.channel().Writes() }

// RestoreWrites implements [Channel].
func (s *stackChannel[T]) RestoreWrites(overwrite bool, dec Decode) error {
	return s.channel().RestoreWrites(overwrite, dec)
}

// Since implements [Delta].
func (s *stackChannel[T]) Since(prev Channel) (any, bool) {
	return s.channel().Since(prev.(*stackChannel[T]).channel())
}

// Apply implements [Delta].
func (s *stackChannel[T]) Apply(dec Decode) error { return s.channel().Apply(dec) }

// Then implements [Sequel].
func (s *stackChannel[T]) Then(w Channel) { s.channel().Then(w.(*stackChannel[T]).channel()) }

func (s *Stack[T]) elements() []reflect.Type { return s.list.elements() }

func (s *stackChannel[T]) elements() []reflect.Type { return s.list.elements() }

// String returns the value as JSON, for people who print a state.
func (s Stack[T]) String() string { return text(s) }

func (s *stackChannel[T]) String() string { return text(s) }
