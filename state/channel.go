package state

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Channel is one field of a state: a committed value, and the writes that the
// holder of this copy has made on top of it.
//
// The runtime holds one state per run and gives each task a copy, by assignment of the struct. The
// committed part of a channel is therefore immutable or persistent: an assigned copy is a snapshot,
// and a change of one copy must not affect another. The writes of a task remain in its copy until
// Fold merges them into the state of the run.
//
// Value, List, Map and the other types of this package have a method Channel that returns one. Any
// other type can be a field if its pointer has that method: see [Channeler]. If only the merge
// function is new, use Reduced.
//
// A Channel is not safe for concurrent use; its copies are independent.
type Channel interface {
	// MarshalJSON returns the value including the holder's writes, or null if there is none. Equal
	// values have equal bytes.
	json.Marshaler
	// UnmarshalJSON records the JSON value as a write, as an input does: it sets
	// a Value, appends to a List, adds to a Sum.
	json.Unmarshaler

	// Wrote reports whether the holder has written to this copy.
	Wrote() bool
	// Fold merges the writes of one superstep into the committed value. The elements have the
	// receiver's type, contain at least one write each, and are in canonical order. Fold must not
	// retain or modify them. It returns a *ConflictError if the writes conflict.
	Fold(writes []Channel) error

	// Stored returns the committed value for a codec to encode. ok is false if there is nothing to
	// store.
	Stored() (v any, ok bool)
	// Restore replaces the committed value with a stored one.
	Restore(dec Decode) error
	// Writes returns the holder's writes for a codec to encode.
	Writes() Write
	// RestoreWrites replaces the holder's writes with decoded ones.
	RestoreWrites(overwrite bool, dec Decode) error
}

// Channeler is implemented by the pointer of each type that can be a field of a state. It separates
// the methods for the runtime from those for nodes. A type that has the methods of Channel returns
// itself:
//
//	func (v *Votes) Channel() state.Channel { return v }
//
// A type that embeds a channel of this package has its Channel, and merges as it does.
type Channeler interface {
	// Channel returns the channel of the field. All calls for one field return the same type.
	Channel() Channel
}

// Decode stores a decoded value in the variable that into points to. A channel
// passes a pointer to the Go type it wants, so types come from the program and
// never from the data.
type Decode func(into any) error

// Write is what one task wrote to one channel.
type Write struct {
	// Value is what a codec encodes: the value for a Value, the added elements
	// for a List, the difference for a Sum.
	Value any
	// Overwrite is true if the write replaces the channel's value and is not merged.
	Overwrite bool
}

// Expirer is a channel whose value lives for one superstep.
type Expirer interface {
	Channel
	// Expire is called at the end of each superstep without writes to the channel.
	Expire()
}

// Delta is a channel that can be stored as a base and differences, so that the bytes of a step do
// not grow with the value.
type Delta interface {
	Channel
	// Since returns what must be applied to prev, an earlier copy of this same
	// channel, to get the committed value. ok is false when the difference is
	// not known or not smaller; the whole value is stored then.
	Since(prev Channel) (v any, ok bool)
	// Apply adds one stored difference to the committed value.
	Apply(dec Decode) error
}

// ConflictError is returned by Fold if two writes of one superstep conflict, or if one write
// conflicts with the committed value. First and Second are indexes of the writes passed to Fold;
// they are equal in the second case. The runtime adds the field and the nodes.
type ConflictError struct {
	First, Second int
	Rule          string // the violated rule, for people
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("state: writes %d and %d conflict: %s", e.First, e.Second, e.Rule)
}

const (
	oneWrite     = "this field takes one write per step; use a reducing channel (List, Sum, Map, Latest…) or write it from one node"
	oneOverwrite = "a field takes one Overwrite per step"
)

// replacer is a channel of this package that has Overwrite. Fields have its method too, for types
// of users that embed a field and are their own Channel. So it is with elementer.
type replacer interface{ overwrote() bool }

// overwriter returns the index of the write that replaces the whole value, or -1. Such a write
// discards the other writes of its step; two of them are a conflict.
func overwriter[C replacer](writes []Channel) (int, error) {
	at := -1
	for i, w := range writes {
		if !w.(C).overwrote() {
			continue
		}
		if at >= 0 {
			return 0, &ConflictError{First: at, Second: i, Rule: oneOverwrite}
		}
		at = i
	}
	return at, nil
}

// isNull reports whether data is the JSON null.
func isNull(data []byte) bool { return string(bytes.TrimSpace(data)) == "null" }

// text returns the text form of a channel.
func text(m json.Marshaler) string {
	data, err := m.MarshalJSON()
	if err != nil {
		return "%!(" + err.Error() + ")"
	}
	return string(data)
}

var (
	_ Sequel  = valueChannel[int]{}
	_ Sequel  = latestChannel[int]{}
	_ Sequel  = ephemeralChannel[int]{}
	_ Expirer = ephemeralChannel[int]{}
	_ Sequel  = (*untrackedChannel[int])(nil)
	_ Sequel  = (*onceChannel[int])(nil)
	_ Sequel  = (*listChannel[int])(nil)
	_ Delta   = (*listChannel[int])(nil)
	_ Sequel  = (*stackChannel[int])(nil)
	_ Delta   = (*stackChannel[int])(nil)
	_ Sequel  = (*topicChannel[int])(nil)
	_ Expirer = (*topicChannel[int])(nil)
	_ Sequel  = (*sumChannel[int])(nil)
	_ Sequel  = maxChannel[int]{}
	_ Sequel  = minChannel[int]{}
	_ Sequel  = (*mapChannel[string, int])(nil)
	_ Delta   = (*mapChannel[string, int])(nil)
	_ Sequel  = (*setChannel[string])(nil)
	_ Delta   = (*setChannel[string])(nil)
	_ Sequel  = (*reducedChannel[int, greater[int]])(nil)
	_ Sequel  = contextChannel{}
	_ Delta   = contextChannel{}

	_ replacer = (*onceChannel[int])(nil)
	_ replacer = (*listChannel[int])(nil)
	_ replacer = (*stackChannel[int])(nil)
	_ replacer = (*sumChannel[int])(nil)
	_ replacer = maxChannel[int]{}
	_ replacer = minChannel[int]{}
	_ replacer = (*mapChannel[string, int])(nil)
	_ replacer = (*setChannel[string])(nil)
	_ replacer = (*reducedChannel[int, greater[int]])(nil)
)
