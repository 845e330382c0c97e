package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftrun/weft/internal/compact"
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

// damaged returns err with the place in snap. It is a *CorruptError unless err is an
// ErrUnsupported, ErrSchema, ErrNewerSchema or ErrKey.
func damaged(snap Snapshot, field string, err error) error {
	if errors.Is(err, ErrUnsupported) || errors.Is(err, ErrSchema) || errors.Is(err, ErrNewerSchema) || errors.Is(err, ErrKey) || errors.Is(err, ErrNoBlobs) {
		return fmt.Errorf("checkpoint: thread %q, commit %d, %s: %w", snap.Thread, snap.Seq, field, err)
	}
	return &CorruptError{Key: snap.Key, Seq: snap.Seq, Field: field, Why: why(err)}
}

// ReadPending returns the pending entries of snap, unsealed.
func ReadPending(snap Snapshot) ([]Entry, error) {
	entries := make([]Entry, len(snap.Pending))
	for i, e := range snap.Pending {
		data, x, err := unsealAll(pendingPlace(snap.Key, e), e.Data)
		if err == nil {
			err = checkMark(snap.Header, x.mark)
		}
		if err != nil {
			return nil, damaged(snap, "pending", err)
		}
		e.Data = data
		entries[i] = e
	}
	return entries, nil
}

// Restore decodes a stored commit: its record, and its state in the schema's types. A field that
// was added to the schema later has its default. A field that was stored in an older version or
// under its former name is migrated.
func Restore(snap Snapshot, schema *state.Schema) (*Record, state.View, error) {
	r, err := restore(snap, schema)
	if err != nil {
		return nil, state.View{}, err
	}
	return r.record, r.view, nil
}

// restored is a stored commit, decoded.
type restored struct {
	record  *Record
	view    state.View
	pieces  map[string][]Blob // by the name of the field
	owner   []int             // by Record.Fields: the field of the schema that has its value, or -1
	changed []bool            // by field of the schema: it differs from the stored form
}

func restore(snap Snapshot, schema *state.Schema) (*restored, error) {
	rec, err := ReadRecord(snap)
	if err != nil {
		return nil, err
	}
	blank := schema.Blank()
	pieces, bound := piecesOf(snap), binds(snap.Header)
	r := &restored{rec, schema.New(), pieces, owners(rec, schema), make([]bool, len(schema.Fields()))}
	for n, f := range rec.Fields {
		err := f.check(pieces[f.Name])
		if bound && err == nil {
			err = f.verify(snap.Key, pieces[f.Name])
		}
		if i := r.owner[n]; i >= 0 && err == nil {
			schema.AssignField(r.view, blank, i)
			r.changed[i], err = restoreField(r.view.Channels[i], schema, i, snap.Key, f, pieces[f.Name])
		}
		if err != nil {
			return nil, damaged(snap, f.Name, err)
		}
	}
	if err := schema.Check(r.view); err != nil {
		return nil, fmt.Errorf("checkpoint: thread %q, commit %d: %w: %w", snap.Thread, snap.Seq, ErrSchema, err)
	}
	return r, nil
}

// owners returns the field of the schema for each stored field, or -1. A field under its former
// name counts only if the new name is not stored too.
func owners(rec *Record, schema *state.Schema) []int {
	owner, taken := make([]int, len(rec.Fields)), make([]bool, len(schema.Fields()))
	for n, f := range rec.Fields {
		owner[n] = -1
		if i, ok := schema.Index(f.Name); ok && !taken[i] {
			owner[n], taken[i] = i, true
		}
	}
	for n, f := range rec.Fields {
		if i, ok := schema.Renamed(f.Name); ok && !taken[i] {
			owner[n], taken[i] = i, true
		}
	}
	return owner
}

// check returns an error unless pieces are all pieces of f in order.
func (f *Field) check(pieces []Blob) error {
	if f.Chunks < 0 {
		return fmt.Errorf("number of chunks must not be negative (got %d)", f.Chunks)
	}
	want := f.Chunks + 1
	if f.Base == 0 {
		want = 0
	}
	if len(pieces) != want {
		return fmt.Errorf("it must have %d pieces (got %d)", want, len(pieces))
	}
	for n, b := range pieces {
		if b.Base != f.Base || b.Chunk != n {
			return fmt.Errorf("got chunk %d of base %d instead of chunk %d of base %d", b.Chunk, b.Base, n, f.Base)
		}
	}
	return nil
}

// restoreField restores the stored value of field i into its channel ch. changed is true if the
// result differs from the stored form.
func restoreField(ch state.Channel, schema *state.Schema, i int, key Key, f Field, pieces []Blob) (changed bool, err error) {
	def := &schema.Fields()[i]
	have := max(1, f.Version)
	switch {
	case have > def.Version:
		return false, &NewerSchemaError{f.Name, have, def.Version}
	case f.Base == 0:
	case have < def.Version:
		err = migrate(ch, schema, i, key, f, pieces)
	default:
		err = restorePieces(ch, def, key, f, pieces)
	}
	return have != def.Version || f.Name != def.Name, err
}

// restorePieces restores a value of the program's version into its channel.
func restorePieces(ch state.Channel, def *state.Field, key Key, f Field, pieces []Blob) error {
	typ, begin := "", originOf(key)
	for i := range pieces {
		b := &pieces[i]
		at := place(key, b.Field, b.Base, b.Chunk)
		at.origin = begin
		payload, note, err := unsealNoted(at, b.Data)
		if err != nil {
			return err
		}
		if b.Chunk == 0 {
			typ = note
		}
		if err := restorePiece(ch, b.Chunk, payload); err != nil {
			return misfit(def, f, typ, err)
		}
	}
	return nil
}

func restorePiece(ch state.Channel, chunk int, payload []byte) error {
	dec := func(into any) error { return compact.Unmarshal(payload, into) }
	d, adds := ch.(state.Delta)
	switch {
	case chunk == 0:
		return ch.Restore(dec)
	case adds:
		return d.Apply(dec)
	}
	return errors.New("it was stored in chunks, which its type cannot read")
}

// misfit returns the error for a stored value that does not fit its field.
func misfit(def *state.Field, f Field, typ string, err error) error {
	was := "another type"
	switch {
	case typ != "":
		was = "a " + typ
	case f.Kind != "" && f.Kind != def.Kind:
		was = "a " + string(f.Kind)
	}
	return fmt.Errorf("%w: field %q was stored as %s and is a %s now: %w (give it a version and a migration, or a new name)", ErrSchema, def.Name, was, def.Type, err)
}

// migrate migrates a value of an older version into field i, whose channel is ch.
func migrate(ch state.Channel, schema *state.Schema, i int, key Key, f Field, pieces []Blob) error {
	raw := make([]json.RawMessage, len(pieces))
	for n, b := range pieces {
		payload, err := unseal(place(key, b.Field, b.Base, b.Chunk), b.Data)
		if err != nil {
			return err
		}
		raw[n] = payload
	}
	def := &schema.Fields()[i]
	old, err := fold(ch, f.Kind, raw)
	if err != nil {
		return fmt.Errorf("%w: field %q: %w", ErrSchema, def.Name, err)
	}
	from := max(1, f.Version)
	now, err := schema.Migrate(i, from, old)
	if err != nil || len(now) == 0 {
		return schemaError(err)
	}
	if err := ch.Restore(func(into any) error { return json.Unmarshal(now, into) }); err != nil {
		return schemaError(&state.MigrationError{Field: def.Name, From: from, To: def.Version,
			Err: fmt.Errorf("its result does not fit %s: %w", def.Type, err)})
	}
	return nil
}

func schemaError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrSchema, err)
}

// fold joins the pieces of a value, with the channel of its field if package state cannot. Records
// of the first version have no kinds.
func fold(ch state.Channel, kind state.Kind, pieces []json.RawMessage) (json.RawMessage, error) {
	if f, ok := ch.(state.StoredFolder); ok && len(pieces) > 1 && !state.Folds(kind) {
		return f.FoldStored(pieces)
	}
	return state.FoldStored(kind, pieces)
}

// why returns the text of err without the leading text of ErrCorrupt.
func why(err error) string {
	if c := errors.Unwrap(err); c == ErrCorrupt {
		return err.Error()[len(ErrCorrupt.Error())+2:]
	}
	return err.Error()
}
