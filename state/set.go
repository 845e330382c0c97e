package state

import (
	"cmp"
	"encoding/json"
	"iter"
	"reflect"

	"github.com/weftrun/weft/internal/compact"
)

// Set holds distinct elements; writes add and remove single ones. Of several
// writes of one element in a superstep the last in canonical order stays. The
// zero Set is empty and ready to use.
//
// Copies share their elements, as those of a [Map] do.
type Set[T cmp.Ordered] struct{ table[T, struct{}] }

// SetOf returns a Set to which items were added: the way to fill an input.
func SetOf[T cmp.Ordered](items ...T) (s Set[T]) {
	s.Add(items...)
	return s
}

// Add puts items into the set.
func (s *Set[T]) Add(items ...T) {
	for _, k := range items {
		s.put(k, struct{}{})
	}
}

// Remove takes items out of the set. It is a write even where they are absent: it
// also removes what tasks before this one added in the same step.
func (s *Set[T]) Remove(items ...T) {
	for _, k := range items {
		s.del(k)
	}
}

// All iterates over the elements in order. Writes made during the iteration do
// not show in it.
func (s *Set[T]) All() iter.Seq[T] { return s.now.keys }

// Slice returns the elements in order, in a new slice that the caller owns.
func (s *Set[T]) Slice() []T { return s.now.toKeys() }

// Overwrite replaces all elements. It wins over the writes of other tasks in the
// same step; two Overwrites in one step are an error.
func (s *Set[T]) Overwrite(items []T) { s.replace(treeOfKeys(items)) }

// Channel returns what the runtime does with the channel. A node does not need it.
func (s *Set[T]) Channel() Channel { return (*setChannel[T])(s) }

// setChannel is a Set as the runtime sees it.
type setChannel[T cmp.Ordered] Set[T]

// Wrote implements [Channel].
func (s *setChannel[T]) Wrote() bool { return s.wrote() }

// Fold implements [Channel].
func (s *setChannel[T]) Fold(writes []Channel) error { return s.fold(writes, setTable[T]) }

func setTable[T cmp.Ordered](c Channel) *table[T, struct{}] { return &c.(*setChannel[T]).table }

// MarshalJSON returns the elements as a sorted array; an empty set is [].
func (s Set[T]) MarshalJSON() ([]byte, error) { return compact.Marshal(s.Slice()) }

// UnmarshalJSON adds the elements of a JSON array.
func (s *Set[T]) UnmarshalJSON(data []byte) error {
	var items []T
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	s.Add(items...)
	return nil
}

// MarshalJSON implements [Channel].
func (s *setChannel[T]) MarshalJSON() ([]byte, error) { return (*Set[T])(s).MarshalJSON() }

// UnmarshalJSON implements [Channel].
func (s *setChannel[T]) UnmarshalJSON(data []byte) error {
	return (*Set[T])(s).UnmarshalJSON(data)
}

// Stored implements [Channel].
func (s *setChannel[T]) Stored() (any, bool) { return s.base.toKeys(), s.base != nil }

// Restore implements [Channel].
func (s *setChannel[T]) Restore(dec Decode) error {
	var items []T
	if err := dec(&items); err != nil {
		return err
	}
	*s = setChannel[T]{}
	s.commit(treeOfKeys(items))
	return nil
}

// setChange is the stored form of a difference.
type setChange[T cmp.Ordered] struct {
	Put []T `json:"put,omitempty"`
	Del []T `json:"del,omitempty"`
}

func (c *setChange[T]) put(e *entry[T, struct{}]) { c.Put = append(c.Put, e.k) }
func (c *setChange[T]) del(e *entry[T, struct{}]) { c.Del = append(c.Del, e.k) }

// Writes implements [Channel].
func (s *setChannel[T]) Writes() Write {
	var c setChange[T]
	s.written(c.put, c.del)
	return Write{Value: c, Overwrite: s.over}
}

// RestoreWrites implements [Channel].
func (s *setChannel[T]) RestoreWrites(overwrite bool, dec Decode) error {
	var c setChange[T]
	if err := dec(&c); err != nil {
		return err
	}
	s.forget()
	if overwrite {
		(*Set[T])(s).Overwrite(c.Put)
		return nil
	}
	(*Set[T])(s).change(c)
	return nil
}

func (s *Set[T]) change(c setChange[T]) {
	s.Remove(c.Del...)
	s.Add(c.Put...)
}

// Since implements [Delta]: the elements added and removed after prev.
func (s *setChannel[T]) Since(prev Channel) (any, bool) {
	var c setChange[T]
	diff(prev.(*setChannel[T]).base, s.base, c.put, c.del)
	return c, len(c.Put)+len(c.Del) <= s.base.len()
}

// Apply implements [Delta].
func (s *setChannel[T]) Apply(dec Decode) error {
	var c setChange[T]
	if err := dec(&c); err != nil {
		return err
	}
	w := Set[T]{table[T, struct{}]{base: s.base, now: s.base}}
	w.change(c)
	s.commit(w.now)
	return nil
}

func (s *Set[T]) elements() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }

func (s *setChannel[T]) elements() []reflect.Type { return (*Set[T])(s).elements() }

// String returns the value as JSON, for people who print a state.
func (s Set[T]) String() string { return text(s) }

func (s *setChannel[T]) String() string { return text(s) }
