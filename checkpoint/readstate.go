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
	// Err is not nil where the value is unknown: an unknown channel stored it in parts.
	Err error
}

// ReadState returns the values of a stored commit in stored order, for a reader that does not have
// the program that stored them. A field has the name and the form that it had then: ReadState does
// not fill in defaults and does not migrate. The map own has channels from outside package state by
// Go type, such as message.Log. A field of another such channel is known only if it was stored
// whole.
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

// join joins the pieces of a value.
func (f *Field) join(pieces []json.RawMessage, own map[state.Kind]func() state.Channel) (json.RawMessage, error) {
	if len(pieces) < 2 {
		return state.FoldStored(f.Kind, pieces)
	}
	channel := own[f.Kind]
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
