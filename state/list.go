package state

import (
	"encoding/json"
	"iter"
	"reflect"

	"github.com/weftrun/weft/internal/compact"
)

// List holds a sequence; writes append to it. The appends of one superstep land
// in canonical order, whatever order the tasks finished in. The zero List is
// empty and ready to use.
//
// Copies share their elements: a step costs what it appends, not what the list
// holds, in memory and in the store.
type List[T any] struct {
	base vec[T]
	own  vec[T] // appended by the holder, after base
	over bool   // own replaces base
}

// ListOf returns a List to which items were appended: the way to fill an input.
func ListOf[T any](items ...T) List[T] {
	var l List[T]
	l.Append(items...)
	return l
}

// Append adds items at the end.
func (l *List[T]) Append(items ...T) { l.own = l.own.write(items) }

// Overwrite replaces the whole list by a copy of items. It wins over all appends
// of other tasks in the same step; two Overwrites in one step are an error.
func (l *List[T]) Overwrite(items []T) {
	l.own, l.over = vecOf(items), true
}

// head returns the committed elements that the holder still sees.
func (l *List[T]) head() []T {
	if l.over {
		return nil
	}
	return l.base.s
}

// Len returns the number of elements.
func (l *List[T]) Len() int { return len(l.head()) + len(l.own.s) }

// At returns element i, counted from 0. It panics if i is out of range, as a
// slice does.
func (l *List[T]) At(i int) T {
	head := l.head()
	if i < len(head) {
		return head[i]
	}
	return l.own.s[i-len(head)]
}

// Last returns the last element; ok is false when the list is empty.
func (l *List[T]) Last() (v T, ok bool) {
	if l.Len() == 0 {
		return v, false
	}
	return l.At(l.Len() - 1), true
}

// All iterates over index and element, first to last. Elements appended during
// the iteration are not visited.
func (l *List[T]) All() iter.Seq2[int, T] { return chain(l.head(), l.own.s) }

// chain iterates over the elements of a, then of b, counted through.
func chain[T any](a, b []T) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		for i, v := range a {
			if !yield(i, v) {
				return
			}
		}
		for i, v := range b {
			if !yield(len(a)+i, v) {
				return
			}
		}
	}
}

// Slice returns the elements in a new slice that the caller owns.
func (l *List[T]) Slice() []T {
	return append(append(make([]T, 0, l.Len()), l.head()...), l.own.s...)
}

// Channel returns what the runtime does with the channel. A node does not need it.
func (l *List[T]) Channel() Channel { return (*listChannel[T])(l) }

// listChannel is a List as the runtime sees it.
type listChannel[T any] List[T]

// Last is that of List. Package server finds lists of messages by it.
func (l *listChannel[T]) Last() (v T, ok bool) { return (*List[T])(l).Last() }

// Wrote implements [Channel].
func (l *listChannel[T]) Wrote() bool { return l.over || len(l.own.s) > 0 }

// Adopt is Append for a slice that the caller does not use afterwards. Package record calls it.
func (l *listChannel[T]) Adopt(items []T) { l.own = l.own.adopt(items) }

func (l *List[T]) overwrote() bool { return l.over }

func (l *listChannel[T]) overwrote() bool { return (*List[T])(l).overwrote() }

// Fold implements [Channel].
func (l *listChannel[T]) Fold(writes []Channel) error {
	at, err := overwriter[*listChannel[T]](writes)
	if err != nil {
		return err
	}
	if at >= 0 {
		l.base = writes[at].(*listChannel[T]).own.committed()
		return nil
	}
	if len(writes) > 1 {
		n := 0
		for _, w := range writes {
			n += len(w.(*listChannel[T]).own.s)
		}
		l.base = l.base.grow(n)
	}
	for _, w := range writes {
		l.base = l.base.append(w.(*listChannel[T]).own.s)
	}
	return nil
}

// MarshalJSON returns the elements as an array; an empty list is [].
func (l List[T]) MarshalJSON() ([]byte, error) { return compact.Marshal(l.Slice()) }

// UnmarshalJSON appends the elements of a JSON array.
func (l *List[T]) UnmarshalJSON(data []byte) error {
	var items []T
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	l.Append(items...)
	return nil
}

// MarshalJSON implements [Channel].
func (l *listChannel[T]) MarshalJSON() ([]byte, error) { return (*List[T])(l).MarshalJSON() }

// UnmarshalJSON implements [Channel].
func (l *listChannel[T]) UnmarshalJSON(data []byte) error {
	return (*List[T])(l).UnmarshalJSON(data)
}

// Stored implements [Channel].
func (l *listChannel[T]) Stored() (any, bool) { return l.base.s, len(l.base.s) > 0 }

// Restore implements [Channel].
func (l *listChannel[T]) Restore(dec Decode) error {
	var items []T
	if err := dec(&items); err != nil {
		return err
	}
	*l = listChannel[T]{base: vecOf(items)}
	return nil
}

// Writes implements [Channel].
func (l *listChannel[T]) Writes() Write { return Write{Value: l.own.s, Overwrite: l.over} }

// RestoreWrites implements [Channel].
func (l *listChannel[T]) RestoreWrites(overwrite bool, dec Decode) error {
	var items []T
	if err := dec(&items); err != nil {
		return err
	}
	l.own, l.over = vecOf(items), overwrite
	return nil
}

// Since implements [Delta]: the elements appended after prev.
func (l *listChannel[T]) Since(prev Channel) (any, bool) {
	added, ok := l.base.since(prev.(*listChannel[T]).base)
	if !ok {
		return nil, false
	}
	return added, true
}

// Apply implements [Delta].
func (l *listChannel[T]) Apply(dec Decode) error {
	var items []T
	if err := dec(&items); err != nil {
		return err
	}
	l.base = l.base.append(items)
	return nil
}

func (l *List[T]) elements() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }

func (l *listChannel[T]) elements() []reflect.Type { return (*List[T])(l).elements() }

// String returns the value as JSON, for people who print a state.
func (l List[T]) String() string { return text(l) }

func (l *listChannel[T]) String() string { return text(l) }
