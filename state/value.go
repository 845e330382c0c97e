package state

import (
	"encoding/json"
	"reflect"

	"github.com/weftrun/weft/internal/compact"
)

// cell is a value that may be unset. It is the body of the channels that hold
// one value and replace it.
type cell[T any] struct {
	v          T
	set, wrote bool
}

// Get returns the value, or the zero value of T when nothing was ever set.
// Do not change what a slice, map or pointer in it points to: siblings read it.
func (c *cell[T]) Get() T { return c.v }

// Lookup returns the value and whether it was ever set.
func (c *cell[T]) Lookup() (v T, ok bool) { return c.v, c.set }

// Set writes v. Writing a zero value is a write like any other.
func (c *cell[T]) Set(v T) { c.v, c.set, c.wrote = v, true, true }

// Clear writes "no value": Lookup reports false afterwards.
func (c *cell[T]) Clear() {
	var zero T
	c.v, c.set, c.wrote = zero, false, true
}

// cellChannel is what the runtime does with each channel that has a cell.
type cellChannel[T any] cell[T]

// body returns the cell that has the value.
func (c *cellChannel[T]) body() *cell[T] { return (*cell[T])(c) }

// Wrote implements [Channel].
func (c *cellChannel[T]) Wrote() bool { return c.wrote }

// take makes w's value the committed value of c.
func (c *cell[T]) take(w *cell[T]) { c.v, c.set = w.v, w.set }

// single refuses several writes in one step.
func single(writes []Channel) error {
	if len(writes) > 1 {
		return &ConflictError{First: 0, Second: 1, Rule: oneWrite}
	}
	return nil
}

// MarshalJSON returns the value, or null when there is none.
func (c cell[T]) MarshalJSON() ([]byte, error) {
	if !c.set {
		return []byte("null"), nil
	}
	return compact.Marshal(c.v)
}

// UnmarshalJSON records the JSON value as a write; null clears.
func (c *cell[T]) UnmarshalJSON(data []byte) error {
	if isNull(data) {
		c.Clear()
		return nil
	}
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	c.Set(v)
	return nil
}

// MarshalJSON implements [Channel].
func (c *cellChannel[T]) MarshalJSON() ([]byte, error) { return c.body().MarshalJSON() }

// UnmarshalJSON implements [Channel].
func (c *cellChannel[T]) UnmarshalJSON(data []byte) error { return c.body().UnmarshalJSON(data) }

// Stored implements [Channel].
func (c *cellChannel[T]) Stored() (any, bool) { return c.v, c.set }

// Restore implements [Channel].
func (c *cellChannel[T]) Restore(dec Decode) error {
	var v T
	if err := dec(&v); err != nil {
		return err
	}
	*c = cellChannel[T]{v: v, set: true}
	return nil
}

// optional is the stored form of a write. It distinguishes a cleared value from a zero one.
type optional[T any] struct {
	V   T    `json:"v"`
	Set bool `json:"set"`
}

// Writes implements [Channel].
func (c *cellChannel[T]) Writes() Write { return Write{Value: optional[T]{c.v, c.set}} }

// RestoreWrites implements [Channel].
func (c *cellChannel[T]) RestoreWrites(_ bool, dec Decode) error {
	var o optional[T]
	if err := dec(&o); err != nil {
		return err
	}
	c.v, c.set, c.wrote = o.V, o.Set, true
	return nil
}

// Value holds one value; a write replaces it. Two tasks that write it in one
// superstep are an error that names the field and both nodes: nothing is lost
// silently. The zero Value is unset and ready to use.
type Value[T any] struct{ cell[T] }

// Of returns a Value that was set to v: the way to fill an input.
func Of[T any](v T) Value[T] { return Value[T]{cell[T]{v: v, set: true, wrote: true}} }

// Channel returns what the runtime does with the channel. A node does not need it.
func (c *Value[T]) Channel() Channel { return valueChannel[T]{(*cellChannel[T])(&c.cell)} }

// valueChannel is a Value as the runtime sees it.
type valueChannel[T any] struct{ *cellChannel[T] }

// Fold implements [Channel].
func (c valueChannel[T]) Fold(writes []Channel) error {
	if err := single(writes); err != nil {
		return err
	}
	c.body().take(writes[0].(valueChannel[T]).body())
	return nil
}

// Latest holds one value; of several writes in one superstep the last in
// canonical order stays (nodes by name, then Sends in the order they were sent).
type Latest[T any] struct{ cell[T] }

// LatestOf returns a Latest that was set to v.
func LatestOf[T any](v T) Latest[T] { return Latest[T]{cell[T]{v: v, set: true, wrote: true}} }

// Channel returns what the runtime does with the channel. A node does not need it.
func (c *Latest[T]) Channel() Channel { return latestChannel[T]{(*cellChannel[T])(&c.cell)} }

// latestChannel is a Latest as the runtime sees it.
type latestChannel[T any] struct{ *cellChannel[T] }

// Fold implements [Channel].
func (c latestChannel[T]) Fold(writes []Channel) error {
	c.body().take(writes[len(writes)-1].(latestChannel[T]).body())
	return nil
}

// Ephemeral holds one value for one superstep: what a task sets is read in the
// next step and is gone after it. Two writes in one step are an error.
type Ephemeral[T any] struct{ cell[T] }

// EphemeralOf returns an Ephemeral that was set to v.
func EphemeralOf[T any](v T) Ephemeral[T] {
	return Ephemeral[T]{cell[T]{v: v, set: true, wrote: true}}
}

// Channel returns what the runtime does with the channel. A node does not need it.
func (c *Ephemeral[T]) Channel() Channel { return ephemeralChannel[T]{(*cellChannel[T])(&c.cell)} }

// ephemeralChannel is a Ephemeral as the runtime sees it.
type ephemeralChannel[T any] struct{ *cellChannel[T] }

// Fold implements [Channel].
func (c ephemeralChannel[T]) Fold(writes []Channel) error {
	if err := single(writes); err != nil {
		return err
	}
	c.body().take(writes[0].(ephemeralChannel[T]).body())
	return nil
}

// Expire implements [Expirer].
func (c ephemeralChannel[T]) Expire() { *c.cellChannel = cellChannel[T]{} }

// Untracked holds one value in memory for the length of a run and is never
// stored: a client, a handle, a cache. After a crash or a resume it is unset.
type Untracked[T any] struct{ cell[T] }

// UntrackedOf returns an Untracked that was set to v.
func UntrackedOf[T any](v T) Untracked[T] {
	return Untracked[T]{cell[T]{v: v, set: true, wrote: true}}
}

// Channel returns what the runtime does with the channel. A node does not need it.
func (c *Untracked[T]) Channel() Channel { return (*untrackedChannel[T])(c) }

// untrackedChannel is a Untracked as the runtime sees it.
type untrackedChannel[T any] Untracked[T]

// Fold implements [Channel].
func (c *untrackedChannel[T]) Fold(writes []Channel) error {
	if err := single(writes); err != nil {
		return err
	}
	c.take(&writes[0].(*untrackedChannel[T]).cell)
	return nil
}

// MarshalJSON returns null: an untracked value never leaves the process.
func (c Untracked[T]) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// MarshalJSON implements [Channel]: not as a cell does, for nothing leaves the process.
func (c *untrackedChannel[T]) MarshalJSON() ([]byte, error) { return (*Untracked[T])(c).MarshalJSON() }

// Wrote implements [Channel].
func (c *untrackedChannel[T]) Wrote() bool { return c.wrote }

// Restore implements [Channel].
func (c *untrackedChannel[T]) Restore(dec Decode) error {
	return (*cellChannel[T])(&c.cell).Restore(dec)
}

// Stored implements [Channel]: there is never anything to store.
func (c *untrackedChannel[T]) Stored() (any, bool) { return nil, false }

// Writes implements [Channel]: the write has no stored form.
func (c *untrackedChannel[T]) Writes() Write { return Write{} }

// RestoreWrites implements [Channel]: nothing was stored.
func (c *untrackedChannel[T]) RestoreWrites(bool, Decode) error { return nil }

func (c *cell[T]) elements() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }

func (c *cellChannel[T]) elements() []reflect.Type { return c.body().elements() }

// elements of an Untracked are never stored, so any type will do.
func (c *Untracked[T]) elements() []reflect.Type { return nil }

func (c *untrackedChannel[T]) elements() []reflect.Type { return nil }

// String returns the value as JSON, for people who print a state.
func (c cell[T]) String() string { return text(c) }

func (c *cellChannel[T]) String() string { return text(c) }

// String returns null: an untracked value is not printed.
func (c Untracked[T]) String() string { return text(c) }

// String hides that of the cell.
func (c *untrackedChannel[T]) String() string { return text(c) }
