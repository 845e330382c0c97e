package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftrun/weft/state"
)

// ReadRecord returns the record of a stored commit.
func ReadRecord(snap Snapshot) (*Record, error) {
	corrupt := func(err error) error {
		return &CorruptError{Key: snap.Key, Seq: snap.Seq, Field: "header", Why: why(err)}
	}
	payload, err := unseal(headerPlace(snap.Key, snap.Seq), snap.Header)
	if errors.Is(err, ErrUnsupported) {
		return nil, fmt.Errorf("checkpoint: thread %q, commit %d: %w", snap.Thread, snap.Seq, err)
	}
	if err != nil {
		return nil, corrupt(err)
	}
	rec := new(Record)
	if err := json.Unmarshal(payload, rec); err != nil {
		return nil, corrupt(err)
	}
	return rec, nil
}

// ReadEntry returns the data of a pending entry of snap.
func ReadEntry(snap Snapshot, e Entry) ([]byte, error) {
	data, err := unseal(pendingPlace(snap.Key, e), e.Data)
	if err != nil {
		return nil, &CorruptError{Key: snap.Key, Seq: snap.Seq, Field: "pending", Why: why(err)}
	}
	return data, nil
}

// Restore decodes a stored commit: its record, and its state in the schema's types.
// A field that was added to the schema since has its default.
func Restore(snap Snapshot, schema *state.Schema) (*Record, state.View, error) {
	rec, err := ReadRecord(snap)
	if err != nil {
		return nil, state.View{}, err
	}
	v := schema.New()
	blank := schema.Blank()
	for _, f := range rec.Fields {
		if i, ok := schema.Index(f.Name); ok {
			schema.AssignField(v, blank, i)
		}
	}
	found := map[string]int{} // pieces of each field that were there
	for _, b := range snap.Blobs {
		i, ok := schema.Index(b.Field)
		found[b.Field]++
		if !ok {
			continue
		}
		if err := restoreBlob(v.Channels[i], snap.Key, b); err != nil {
			return nil, state.View{}, &CorruptError{Key: snap.Key, Seq: snap.Seq, Field: b.Field, Why: why(err)}
		}
	}
	for _, f := range rec.Fields {
		if want := f.Chunks + 1; f.Base != 0 && found[f.Name] != want {
			return nil, state.View{}, &CorruptError{Key: snap.Key, Seq: snap.Seq, Field: f.Name,
				Why: fmt.Sprintf("%d of its %d pieces are there", found[f.Name], want)}
		}
	}
	return rec, v, nil
}

// restoreBlob brings one piece of a field's value into its channel.
func restoreBlob(ch state.Channel, key Key, b Blob) error {
	payload, err := unseal(place(key.Namespace, b.Field, b.Base, b.Chunk), b.Data)
	if err != nil {
		return err
	}
	dec := func(into any) error { return json.Unmarshal(payload, into) }
	if b.Chunk == 0 {
		return ch.Restore(dec)
	}
	d, ok := ch.(state.Delta)
	if !ok {
		return errors.New("it was stored step by step, which its type cannot read")
	}
	return d.Apply(dec)
}

// why returns the reason inside a chain of errors about damage.
func why(err error) string {
	if c := errors.Unwrap(err); c == ErrCorrupt {
		return err.Error()[len(ErrCorrupt.Error())+2:]
	}
	return err.Error()
}
