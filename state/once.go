package state

import "reflect"

// Once holds one value that is written one time: a second write is an error, in the same
// step and in any later one. A field of the turn starts anew with each turn. Silence is
// no write; there is no way to clear a Once, and it takes no default. The zero Once is
// unset and ready to use.
type Once[T any] struct {
	cell[T]
	twice, over bool // the holder wrote to what was set; the holder replaced it
}

// OnceOf returns a Once that was set to v: the way to fill an input.
func OnceOf[T any](v T) (c Once[T]) {
	c.Set(v)
	return c
}

const onlyWrite = "this field is written once, and it has a value; Overwrite replaces it"

// Set writes v. Where there is a value already the step fails with a *ConflictError.
func (c *Once[T]) Set(v T) {
	c.twice = c.twice || c.set && !c.over
	c.cell.Set(v)
}

// Clear is Overwrite's: it makes the field unset, so that it can be written again.
func (c *Once[T]) Clear() {
	c.cell.Clear()
	c.over, c.twice = true, false
}

// Overwrite replaces the value, whatever was there. It wins over the write of another
// task in the same step; two Overwrites in one step are an error.
func (c *Once[T]) Overwrite(v T) {
	c.cell.Set(v)
	c.over, c.twice = true, false
}

func (c *Once[T]) overwrote() bool { return c.over }

func (c *onceChannel[T]) overwrote() bool { return c.over }

// Channel returns what the runtime does with the channel. A node does not need it.
func (c *Once[T]) Channel() Channel { return (*onceChannel[T])(c) }

// onceChannel is a Once as the runtime sees it.
type onceChannel[T any] Once[T]

// Fold implements [Channel].
func (c *onceChannel[T]) Fold(writes []Channel) error {
	at, err := overwriter[*onceChannel[T]](writes)
	if err != nil {
		return err
	}
	if at >= 0 {
		c.take(&writes[at].(*onceChannel[T]).cell)
		return nil
	}
	if err := single(writes); err != nil {
		return err
	}
	if w := writes[0].(*onceChannel[T]); w.twice || c.set {
		return &ConflictError{Rule: onlyWrite}
	}
	c.take(&writes[0].(*onceChannel[T]).cell)
	return nil
}

// UnmarshalJSON records the JSON value as the write; null is no write.
func (c *Once[T]) UnmarshalJSON(data []byte) error {
	if isNull(data) {
		return nil
	}
	var v cell[T]
	if err := v.UnmarshalJSON(data); err != nil {
		return err
	}
	c.Set(v.v)
	return nil
}

// UnmarshalJSON implements [Channel]: not as a cell does, for null is no write.
func (c *onceChannel[T]) UnmarshalJSON(data []byte) error { return (*Once[T])(c).UnmarshalJSON(data) }

// Wrote implements [Channel].
func (c *onceChannel[T]) Wrote() bool { return c.wrote }

// Stored implements [Channel].
func (c *onceChannel[T]) Stored() (any, bool) { return c.v, c.set && !c.wrote }

// Restore implements [Channel].
func (c *onceChannel[T]) Restore(dec Decode) error {
	var v cell[T]
	if err := (*cellChannel[T])(&v).Restore(dec); err != nil {
		return err
	}
	*c = onceChannel[T]{cell: v}
	return nil
}

// Writes implements [Channel].
func (c *onceChannel[T]) Writes() Write {
	return Write{Value: onceWrite[T]{optional[T]{c.v, c.set}, c.twice}, Overwrite: c.over}
}

// onceWrite is the stored form of a write to a Once.
type onceWrite[T any] struct {
	optional[T]
	Twice bool `json:"twice,omitempty"`
}

// RestoreWrites implements [Channel].
func (c *onceChannel[T]) RestoreWrites(overwrite bool, dec Decode) error {
	var w onceWrite[T]
	if err := dec(&w); err != nil {
		return err
	}
	late := c.set && !c.wrote && !overwrite
	*c = onceChannel[T]{cell: cell[T]{v: w.V, set: w.Set, wrote: true}, over: overwrite, twice: w.Twice || late}
	return nil
}

// Then implements [Sequel].
func (c *onceChannel[T]) Then(w Channel) {
	next := w.(*onceChannel[T])
	switch {
	case next.over:
		*c = onceChannel[T]{cell: next.cell, over: true}
	default:
		(*Once[T])(c).Set(next.v)
		c.twice = c.twice || next.twice
	}
}

// mayFail marks a channel whose Fold can refuse the writes of a single task.
func (c *onceChannel[T]) mayFail() {}

func (c *Once[T]) elements() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }

func (c *onceChannel[T]) elements() []reflect.Type { return (*Once[T])(c).elements() }
