package state

import (
	"cmp"
	"encoding/json"
	"reflect"
)

// Max holds the greatest value that was ever offered. The zero Max is unset and
// ready to use.
type Max[T cmp.Ordered] struct{ extreme[T, greater[T]] }

// MaxOf returns a Max to which v was offered: the way to fill an input.
func MaxOf[T cmp.Ordered](v T) (m Max[T]) {
	m.Offer(v)
	return m
}

// Channel returns what the runtime does with the channel. A node does not need it.
func (m *Max[T]) Channel() Channel { return maxChannel[T]{extremeChannel[T, greater[T]]{&m.extreme}} }

// maxChannel is a Max as the runtime sees it.
type maxChannel[T cmp.Ordered] struct{ extremeChannel[T, greater[T]] }

// Fold implements [Channel].
func (m maxChannel[T]) Fold(writes []Channel) error {
	return m.fold(writes, func(w Channel) *extreme[T, greater[T]] { return w.(maxChannel[T]).extreme })
}

// Min holds the least value that was ever offered. The zero Min is unset and
// ready to use.
type Min[T cmp.Ordered] struct{ extreme[T, less[T]] }

// MinOf returns a Min to which v was offered: the way to fill an input.
func MinOf[T cmp.Ordered](v T) (m Min[T]) {
	m.Offer(v)
	return m
}

// Channel returns what the runtime does with the channel. A node does not need it.
func (m *Min[T]) Channel() Channel { return minChannel[T]{extremeChannel[T, less[T]]{&m.extreme}} }

// minChannel is a Min as the runtime sees it.
type minChannel[T cmp.Ordered] struct{ extremeChannel[T, less[T]] }

// Fold implements [Channel].
func (m minChannel[T]) Fold(writes []Channel) error {
	return m.fold(writes, func(w Channel) *extreme[T, less[T]] { return w.(minChannel[T]).extreme })
}

type greater[T cmp.Ordered] struct{}

func (greater[T]) Reduce(acc, v T) T { return max(acc, v) }

type less[T cmp.Ordered] struct{}

func (less[T]) Reduce(acc, v T) T { return min(acc, v) }

// extreme is the body of Max and Min: R chooses one of two values.
type extreme[T any, R Reducer[T]] struct {
	base, own        T
	set, wrote, over bool // set: base holds a value; over: own replaces base
}

// Offer writes v, which becomes the value if it is the better one.
func (e *extreme[T, R]) Offer(v T) {
	if e.wrote {
		var r R
		v = r.Reduce(e.own, v)
	}
	e.own, e.wrote = v, true
}

// Get returns the value, or the zero value of T when nothing was ever offered.
func (e *extreme[T, R]) Get() T {
	v, _ := e.Lookup()
	return v
}

// Lookup returns the value and whether any was ever offered.
func (e *extreme[T, R]) Lookup() (v T, ok bool) {
	switch {
	case !e.wrote:
		return e.base, e.set
	case e.over || !e.set:
		return e.own, true
	}
	var r R
	return r.Reduce(e.base, e.own), true
}

// Overwrite replaces the value by v, better or not. It wins over what other tasks
// offer in the same step; two Overwrites in one step are an error.
func (e *extreme[T, R]) Overwrite(v T) { e.own, e.wrote, e.over = v, true, true }

// fold carries writes into the committed value; body finds the extreme of a write.
func (e *extreme[T, R]) fold(writes []Channel, body func(Channel) *extreme[T, R]) error {
	at, err := overwriter[replacer](writes)
	if err != nil {
		return err
	}
	if at >= 0 {
		e.set = false
		writes = writes[at : at+1]
	}
	for _, w := range writes {
		e.take(body(w).own)
	}
	return nil
}

// take merges v into the committed value.
func (e *extreme[T, R]) take(v T) {
	if e.set {
		var r R
		v = r.Reduce(e.base, v)
	}
	e.base, e.set = v, true
}

// extremeChannel is what the runtime does with a Max and a Min.
type extremeChannel[T any, R Reducer[T]] struct{ *extreme[T, R] }

// Wrote implements [Channel].
func (e extremeChannel[T, R]) Wrote() bool { return e.wrote }

func (e *extreme[T, R]) overwrote() bool { return e.over }

// MarshalJSON returns the value, or null when there is none.
func (e extreme[T, R]) MarshalJSON() ([]byte, error) {
	v, ok := e.Lookup()
	if !ok {
		return []byte("null"), nil
	}
	return json.Marshal(v)
}

// UnmarshalJSON offers the JSON value; null offers nothing.
func (e *extreme[T, R]) UnmarshalJSON(data []byte) error {
	var v T
	if err := json.Unmarshal(data, &v); err != nil || isNull(data) {
		return err
	}
	e.Offer(v)
	return nil
}

// Stored implements [Channel].
func (e extremeChannel[T, R]) Stored() (any, bool) { return e.base, e.set }

// Restore implements [Channel].
func (e extremeChannel[T, R]) Restore(dec Decode) error {
	var v T
	if err := dec(&v); err != nil {
		return err
	}
	*e.extreme = extreme[T, R]{base: v, set: true}
	return nil
}

// Writes implements [Channel]: the best value offered, or the new value.
func (e extremeChannel[T, R]) Writes() Write { return Write{Value: e.own, Overwrite: e.over} }

// RestoreWrites implements [Channel].
func (e extremeChannel[T, R]) RestoreWrites(overwrite bool, dec Decode) error {
	var v T
	if err := dec(&v); err != nil {
		return err
	}
	e.own, e.wrote, e.over = v, true, overwrite
	return nil
}

var (
	_ Reducer[int] = greater[int]{}
	_ Reducer[int] = less[int]{}
)

func (e *extreme[T, R]) elements() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }

// String returns the value as JSON, for people who print a state.
func (e extreme[T, R]) String() string { return text(e) }
