package checkpoint

import (
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/state"
)

// StoredValue is the value of one field of a stored commit, as JSON.
type StoredValue struct {
	Field string
	// Value is nil where the field had no value.
	Value json.RawMessage
	// Err says why the value is unknown: it was stored in parts, by a channel that is not known.
	Err error
}

// ReadState returns the values of a stored commit in the order in which they are stored, for a reader
// that does not have the program that stored them. A field has the name and the form that it had then:
// defaults are not filled in, and nothing is migrated. Channels that are not of package state are put
// together by those in own, by their Go types, such as message.Log; of others only what was stored
// whole is known.
func ReadState(snap Snapshot, own map[state.Kind]func() state.Channel) ([]StoredValue, error) {
	rec, err := ReadRecord(snap)
	if err != nil {
		return nil, err
	}
	pieces, bound := piecesOf(snap), binds(snap.Header)
	values := make([]StoredValue, len(rec.Fields))
	for i, f := range rec.Fields {
		raw := make([]json.RawMessage, len(pieces[f.Name]))
		err := f.check(pieces[f.Name])
		if bound && err == nil {
			err = f.verify(snap.Key, pieces[f.Name])
		}
		for n, b := range pieces[f.Name] {
			if err == nil {
				raw[n], err = unseal(place(snap.Key, b.Field, b.Base, b.Chunk), b.Data)
			}
		}
		if err != nil {
			return nil, damaged(snap, f.Name, err)
		}
		values[i].Field = f.Name
		values[i].Value, values[i].Err = f.join(raw, own)
	}
	return values, nil
}

// join puts the pieces of a value together.
func (f *Field) join(pieces []json.RawMessage, own map[state.Kind]func() state.Channel) (json.RawMessage, error) {
	if len(pieces) < 2 {
		return state.FoldStored(f.Kind, pieces)
	}
	channel := own[f.Kind]
	if f.Kind == "state.ContextData" {
		channel = func() state.Channel { return new(state.ContextData).Channel() }
	}
	if channel == nil {
		value, err := state.FoldStored(f.Kind, pieces)
		if err != nil {
			err = fmt.Errorf("%w: field %q: %w", ErrSchema, f.Name, err)
		}
		return value, err
	}
	ch := channel()
	for n, p := range pieces {
		if err := restorePiece(ch, n, p); err != nil {
			return nil, fmt.Errorf("%w: field %q: %w", ErrSchema, f.Name, err)
		}
	}
	value, ok := ch.Stored()
	if !ok {
		return nil, nil
	}
	return json.Marshal(value)
}
