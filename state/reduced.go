package state

import (
	"encoding/json"
	"reflect"

	"github.com/weftrun/weft/internal/compact"
	"github.com/weftrun/weft/internal/validtext"
)

// Reducer merges an update into a value: the part of a channel that is usually
// new. R of a [Reduced] is an empty struct with this method.
type Reducer[T any] interface {
	// Reduce returns acc with update merged into it. It is pure: it depends on its
	// arguments alone and changes neither, for others hold what they point to. The
	// first acc is the zero value of T.
	Reduce(acc, update T) T
}

// Reduced holds a value that R merges: the short way to a channel of your own.
// The updates of one superstep are replayed in canonical order, each task's in
// the order in which it made them. The zero Reduced is the zero value of T and
// ready to use.
type Reduced[T any, R Reducer[T]] struct {
	base, now T      // committed; with the holder's writes
	ops       vec[T] // the holder's updates
	set, over bool   // set: base was ever written; over: now replaces base
}

// ReducedOf returns a Reduced that was updated by v: the way to fill an input.
func ReducedOf[T any, R Reducer[T]](v T) (c Reduced[T, R]) {
	c.Update(v)
	return c
}

// Update merges v into the value.
func (c *Reduced[T, R]) Update(v T) {
	var r R
	c.now = r.Reduce(c.now, v)
	if !c.over {
		c.ops = c.ops.append([]T{v})
	}
}

// Get returns the value. Do not change what a slice, map or pointer in it points
// to: siblings read it.
func (c *Reduced[T, R]) Get() T { return c.now }

// Overwrite replaces the value by v. It wins over the updates of other tasks in
// the same step; two Overwrites in one step are an error.
func (c *Reduced[T, R]) Overwrite(v T) { c.now, c.ops, c.over = v, vec[T]{}, true }

// Channel returns what the runtime does with the channel. A node does not need it.
func (c *Reduced[T, R]) Channel() Channel { return (*reducedChannel[T, R])(c) }

// reducedChannel is a Reduced as the runtime sees it.
type reducedChannel[T any, R Reducer[T]] Reduced[T, R]

// Wrote implements [Channel].
func (c *reducedChannel[T, R]) Wrote() bool { return (*Reduced[T, R])(c).wrote() }

func (c *Reduced[T, R]) wrote() bool { return c.over || len(c.ops.s) > 0 }

func (c *Reduced[T, R]) overwrote() bool { return c.over }

func (c *reducedChannel[T, R]) overwrote() bool { return (*Reduced[T, R])(c).overwrote() }

// Fold implements [Channel].
func (c *reducedChannel[T, R]) Fold(writes []Channel) error {
	at, err := overwriter[*reducedChannel[T, R]](writes)
	if err != nil {
		return err
	}
	if at >= 0 {
		c.commit(writes[at].(*reducedChannel[T, R]).now)
		return nil
	}
	v := c.base
	for _, w := range writes {
		v = replay[T, R](v, w.(*reducedChannel[T, R]).ops.s)
	}
	if !mergesOnly[R]() { // on another base than the writer's a reducer may make other text
		if path, ok := validtext.CheckOf(&v); !ok {
			return &TextError{Path: path}
		}
	}
	c.commit(v)
	return nil
}

func (c *reducedChannel[T, R]) commit(v T) { c.base, c.now, c.set = v, v, true }

func replay[T any, R Reducer[T]](acc T, ops []T) T {
	var r R
	for _, op := range ops {
		acc = r.Reduce(acc, op)
	}
	return acc
}

// MarshalJSON returns the value, or null when nothing was ever written.
func (c Reduced[T, R]) MarshalJSON() ([]byte, error) {
	if !c.set && !c.wrote() {
		return []byte("null"), nil
	}
	return compact.Marshal(c.now)
}

// UnmarshalJSON updates the value by the JSON value; null is no update.
func (c *Reduced[T, R]) UnmarshalJSON(data []byte) error {
	var v T
	if err := json.Unmarshal(data, &v); err != nil || isNull(data) {
		return err
	}
	c.Update(v)
	return nil
}

// MarshalJSON implements [Channel].
func (c *reducedChannel[T, R]) MarshalJSON() ([]byte, error) {
	return (*Reduced[T, R])(c).MarshalJSON()
}

// UnmarshalJSON implements [Channel].
func (c *reducedChannel[T, R]) UnmarshalJSON(data []byte) error {
	return (*Reduced[T, R])(c).UnmarshalJSON(data)
}

// Stored implements [Channel].
func (c *reducedChannel[T, R]) Stored() (any, bool) { return c.base, c.set }

// Restore implements [Channel].
func (c *reducedChannel[T, R]) Restore(dec Decode) error {
	var v T
	if err := dec(&v); err != nil {
		return err
	}
	*c = reducedChannel[T, R]{}
	c.commit(v)
	return nil
}

// Writes implements [Channel]: the updates in order, or the new value.
func (c *reducedChannel[T, R]) Writes() Write {
	if c.over {
		return Write{Value: c.now, Overwrite: true}
	}
	return Write{Value: c.ops.s}
}

// RestoreWrites implements [Channel].
func (c *reducedChannel[T, R]) RestoreWrites(overwrite bool, dec Decode) error {
	if overwrite {
		var v T
		if err := dec(&v); err != nil {
			return err
		}
		(*Reduced[T, R])(c).Overwrite(v)
		return nil
	}
	var ops []T
	if err := dec(&ops); err != nil {
		return err
	}
	c.ops, c.now, c.over = vecOf(ops), replay[T, R](c.base, ops), false
	return nil
}

func (c *Reduced[T, R]) elements() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }

func (c *reducedChannel[T, R]) elements() []reflect.Type { return (*Reduced[T, R])(c).elements() }

// callsUser marks a channel whose Fold runs code of the user.
func (c *reducedChannel[T, R]) callsUser() {}

// String returns the value as JSON, for people who print a state.
func (c Reduced[T, R]) String() string { return text(c) }

func (c *reducedChannel[T, R]) String() string { return text(c) }
