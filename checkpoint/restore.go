package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftrun/weft/state"
)

// ReadRecord returns the record of a stored commit.
func ReadRecord(snap Snapshot) (*Record, error) {
	payload, err := unseal(headerPlace(snap.Key, snap.Seq), snap.Header)
	if err != nil {
		return nil, damaged(snap, "header", err)
	}
	rec := new(Record)
	if err := json.Unmarshal(payload, rec); err != nil {
		return nil, damaged(snap, "header", err)
	}
	return rec, nil
}

// damaged returns err with the place in snap. What is in a format of another version
// is not damaged.
func damaged(snap Snapshot, field string, err error) error {
	if errors.Is(err, ErrUnsupported) || errors.Is(err, ErrSchema) {
		return fmt.Errorf("checkpoint: thread %q, commit %d, %s: %w", snap.Thread, snap.Seq, field, err)
	}
	return &CorruptError{Key: snap.Key, Seq: snap.Seq, Field: field, Why: why(err)}
}

// ReadPending returns the pending entries of snap, unsealed.
func ReadPending(snap Snapshot) ([]Entry, error) {
	entries := make([]Entry, len(snap.Pending))
	for i, e := range snap.Pending {
		data, err := unseal(pendingPlace(snap.Key, e), e.Data)
		if err != nil {
			return nil, damaged(snap, "pending", err)
		}
		e.Data = data
		entries[i] = e
	}
	return entries, nil
}

// Restore decodes a stored commit: its record, and its state in the schema's types.
// A field that was added to the schema since has its default.
func Restore(snap Snapshot, schema *state.Schema) (*Record, state.View, error) {
	rec, err := ReadRecord(snap)
	if err != nil {
		return nil, state.View{}, err
	}
	v, blank := schema.New(), schema.Blank()
	pieces := map[string][]Blob{}
	for _, b := range snap.Blobs {
		pieces[b.Field] = append(pieces[b.Field], b)
	}
	for _, f := range rec.Fields {
		err := f.check(pieces[f.Name])
		if i, ok := schema.Index(f.Name); ok && err == nil {
			schema.AssignField(v, blank, i)
			err = restoreField(v.Channels[i], snap.Key, pieces[f.Name])
		}
		if err != nil {
			return nil, state.View{}, damaged(snap, f.Name, err)
		}
	}
	if err := schema.Check(v); err != nil {
		return nil, state.View{}, fmt.Errorf("checkpoint: thread %q, commit %d: %w: %w", snap.Thread, snap.Seq, ErrSchema, err)
	}
	return rec, v, nil
}

// check makes sure that these are the pieces of f, all of them and in order.
func (f *Field) check(pieces []Blob) error {
	want := f.Chunks + 1
	if f.Base == 0 {
		want = 0
	}
	if len(pieces) != want {
		return fmt.Errorf("%d of its %d pieces are there", len(pieces), want)
	}
	for n, b := range pieces {
		if b.Base != f.Base || b.Chunk != n {
			return fmt.Errorf("chunk %d of base %d is in the place of chunk %d of base %d", b.Chunk, b.Base, n, f.Base)
		}
	}
	return nil
}

func restoreField(ch state.Channel, key Key, pieces []Blob) error {
	for _, b := range pieces {
		if err := restoreBlob(ch, key, b); err != nil {
			return err
		}
	}
	return nil
}

// restoreBlob brings one piece of a field's value into its channel.
func restoreBlob(ch state.Channel, key Key, b Blob) error {
	payload, err := unseal(place(key.Namespace, b.Field, b.Base, b.Chunk), b.Data)
	if err != nil {
		return err
	}
	dec := func(into any) error { return json.Unmarshal(payload, into) }
	d, adds := ch.(state.Delta)
	switch {
	case b.Chunk == 0:
		err = ch.Restore(dec)
	case adds:
		err = d.Apply(dec)
	default:
		err = errors.New("it was stored step by step, which its type cannot read")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return nil
}

// why returns the reason inside a chain of errors about damage.
func why(err error) string {
	if c := errors.Unwrap(err); c == ErrCorrupt {
		return err.Error()[len(ErrCorrupt.Error())+2:]
	}
	return err.Error()
}
