package state

import (
	"encoding/json"
	"reflect"
)

// Number is the constraint of [Sum].
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64
}

// Sum holds a number; writes add to it. The zero Sum is 0 and ready to use.
// Integers wrap around on overflow, as they do in Go.
type Sum[T Number] struct {
	base, own   T
	wrote, over bool // over: own replaces base
}

// SumOf returns a Sum to which v was added: the way to fill an input.
func SumOf[T Number](v T) Sum[T] { return Sum[T]{own: v, wrote: true} }

// Add adds n, which may be negative.
func (s *Sum[T]) Add(n T) { s.own, s.wrote = s.own+n, true }

// Get returns the sum.
func (s *Sum[T]) Get() T {
	if s.over {
		return s.own
	}
	return s.base + s.own
}

// Overwrite replaces the sum by v. It wins over what other tasks add in the same
// step; two Overwrites in one step are an error.
func (s *Sum[T]) Overwrite(v T) { s.own, s.wrote, s.over = v, true, true }

// Channel returns what the runtime does with the channel. A node does not need it.
func (s *Sum[T]) Channel() Channel { return (*sumChannel[T])(s) }

// sumChannel is a Sum as the runtime sees it.
type sumChannel[T Number] Sum[T]

// Wrote implements [Channel].
func (s *sumChannel[T]) Wrote() bool { return s.wrote }

func (s *Sum[T]) overwrote() bool { return s.over }

func (s *sumChannel[T]) overwrote() bool { return (*Sum[T])(s).overwrote() }

// Fold implements [Channel].
func (s *sumChannel[T]) Fold(writes []Channel) error {
	if len(writes) == 1 { // nearly always, and counters are in every loop
		w := writes[0].(*sumChannel[T])
		if w.over {
			s.base = w.own
		} else {
			s.base += w.own
		}
		return nil
	}
	at, err := overwriter[*sumChannel[T]](writes)
	if err != nil {
		return err
	}
	if at >= 0 {
		s.base = writes[at].(*sumChannel[T]).own
		return nil
	}
	for _, w := range writes {
		s.base += w.(*sumChannel[T]).own
	}
	return nil
}

// MarshalJSON returns the sum.
func (s Sum[T]) MarshalJSON() ([]byte, error) { return json.Marshal(s.Get()) }

// UnmarshalJSON adds a JSON number; null adds nothing.
func (s *Sum[T]) UnmarshalJSON(data []byte) error {
	var n T
	if err := json.Unmarshal(data, &n); err != nil || isNull(data) {
		return err
	}
	s.Add(n)
	return nil
}

// MarshalJSON implements [Channel].
func (s *sumChannel[T]) MarshalJSON() ([]byte, error) { return (*Sum[T])(s).MarshalJSON() }

// UnmarshalJSON implements [Channel].
func (s *sumChannel[T]) UnmarshalJSON(data []byte) error {
	return (*Sum[T])(s).UnmarshalJSON(data)
}

// Stored implements [Channel]: 0 is what an unwritten Sum holds.
func (s *sumChannel[T]) Stored() (any, bool) { return s.base, s.base != 0 }

// Restore implements [Channel].
func (s *sumChannel[T]) Restore(dec Decode) error {
	var v T
	if err := dec(&v); err != nil {
		return err
	}
	*s = sumChannel[T]{base: v}
	return nil
}

// Writes implements [Channel]: what is to be added, or the new sum.
func (s *sumChannel[T]) Writes() Write { return Write{Value: s.own, Overwrite: s.over} }

// RestoreWrites implements [Channel].
func (s *sumChannel[T]) RestoreWrites(overwrite bool, dec Decode) error {
	var v T
	if err := dec(&v); err != nil {
		return err
	}
	s.own, s.wrote, s.over = v, true, overwrite
	return nil
}

func (s *Sum[T]) elements() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }

func (s *sumChannel[T]) elements() []reflect.Type { return (*Sum[T])(s).elements() }

// String returns the value as JSON, for people who print a state.
func (s Sum[T]) String() string { return text(s) }

func (s *sumChannel[T]) String() string { return text(s) }
