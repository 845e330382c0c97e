package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// An encrypted value is bound to its thread, namespace, field, task and slot, see secret.go. That
// alone does not keep it from being put back into its place: beside another commit, on another
// branch, or into another thread that has the same id later. So where values are encrypted, a
// record binds the values of its commit:
//
//   - Each of its fields has a tag, a digest of all pieces of the value. A piece that was
//     stored by another commit with the same number does not have it.
//   - Each entry beside the commit has its mark, the digest of the record. The record names run,
//     origin, branch, step, time and tags, so no two commits have the same one.
//
// A record that binds its values says so in its envelope (flagBinds), inside the encryption.
// Records of earlier releases do not. Their commits are read as they are; the next commit binds
// the values that it takes over from them.

// markBytes is the length of a digest: half of SHA-256. Without the key an attacker cannot choose what
// goes into one.
const markBytes = 16

// markOf returns the mark of a commit by its sealed, not encrypted, record.
func markOf(header []byte) []byte {
	if len(header) < 2+sumBytes {
		return make([]byte, markBytes)
	}
	return digest("", header[2:len(header)-sumBytes]) // without version and checksum
}

// nextTag returns the tag of a field to which a piece with this payload was added.
func nextTag(tag string, payload []byte) string {
	return base64.RawStdEncoding.EncodeToString(digest(tag, payload))
}

func digest(before string, data []byte) []byte {
	h := sha256.New()
	h.Write([]byte(before))
	h.Write(data)
	return h.Sum(nil)[:markBytes]
}

// tagOf returns the tag of a field with these pieces.
func tagOf(k Key, pieces []Blob) (tag string, err error) {
	for _, b := range pieces {
		payload, err := unseal(place(k, b.Field, b.Base, b.Chunk), b.Data)
		if err != nil {
			return "", err
		}
		tag = nextTag(tag, payload)
	}
	return tag, nil
}

// verify returns an error unless these are the pieces that a record binds.
func (f *Field) verify(k Key, pieces []Blob) error {
	if f.Base == 0 {
		return nil
	}
	tag, err := tagOf(k, pieces)
	if err == nil && tag != f.Tag {
		err = fmt.Errorf("%w: it is not the value that was stored with this commit", ErrCorrupt)
	}
	return err
}

// verifyBlobs checks the values of a snapshot, if its record binds them.
func verifyBlobs(snap Snapshot) error {
	if !binds(snap.Header) {
		return nil
	}
	rec, err := ReadRecord(snap)
	if err != nil {
		return err
	}
	pieces := piecesOf(snap)
	for _, f := range rec.Fields {
		if err := f.verify(snap.Key, pieces[f.Name]); err != nil {
			return damaged(snap, f.Name, err)
		}
	}
	return nil
}

// piecesOf returns the blobs of a snapshot by field.
func piecesOf(snap Snapshot) map[string][]Blob {
	pieces := map[string][]Blob{}
	for _, b := range snap.Blobs {
		pieces[b.Field] = append(pieces[b.Field], b)
	}
	return pieces
}

// binds reports whether a sealed record says that it binds its values.
func binds(header []byte) bool {
	return len(header) > 3 && header[0] == magic && header[3]&flagBinds != 0
}

// checkMark checks that an entry with this mark, nil for none, belongs beside a commit.
func checkMark(header, mark []byte) error {
	switch {
	case mark == nil && binds(header):
		return fmt.Errorf("%w: it is in a form that is no longer written", ErrCorrupt)
	case mark != nil && !bytes.Equal(mark, markOf(header)):
		return fmt.Errorf("%w: it belongs beside another commit", ErrCorrupt)
	}
	return nil
}

// headMark returns the mark of the head of a chain, nil where nothing is bound.
func headMark(ctx context.Context, store Store, codec *Codec, k Key) ([]byte, error) {
	if codec.Keys == nil {
		return nil, nil
	}
	for snap, err := range store.History(ctx, k, Query{Limit: 1}) {
		if err != nil {
			return nil, err
		}
		return markOf(snap.Header), nil
	}
	return nil, fmt.Errorf("%w: thread %q, namespace %q", ErrNotFound, k.Thread, k.Namespace)
}

// tags are those of the pieces that are stored as they come, one by one.
type tags map[blobPlace][]string

type blobPlace struct {
	namespace, field string
	base             uint64
}

// last returns the tag of what was stored of the value to which a piece belongs.
func (t tags) last(namespace string, b Blob) string {
	if list := t[blobPlace{namespace, b.Field, b.Base}]; len(list) > 0 {
		return list[len(list)-1]
	}
	return ""
}

// add adds the tag of a value to which a piece was added.
func (t tags) add(namespace string, b Blob, tag string) {
	at := blobPlace{namespace, b.Field, b.Base}
	t[at] = append(t[at], tag)
}

// bind returns a record, as JSON, in which each field has the tag that t says. What is no record
// cannot be bound.
func (t tags) bind(namespace string, record []byte) (bound []byte, ok bool, err error) {
	var members map[string]json.RawMessage
	var fields []map[string]json.RawMessage
	if json.Unmarshal(record, &members) != nil || members["fields"] == nil {
		return record, false, nil
	}
	if err := json.Unmarshal(members["fields"], &fields); err != nil {
		return nil, false, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	changed := false
	for _, member := range fields {
		var f Field
		data, err := json.Marshal(member)
		if err == nil {
			err = json.Unmarshal(data, &f)
		}
		if err != nil {
			return nil, false, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		if f.Base == 0 {
			continue
		}
		list := t[blobPlace{namespace, f.Name, f.Base}]
		switch {
		case f.Chunks < 0 || f.Chunks >= len(list):
			return nil, false, fmt.Errorf("%w: field %q: not all of its pieces are there", ErrCorrupt, f.Name)
		case f.Tag == list[f.Chunks]:
			continue
		}
		changed = true
		if member["t"], err = json.Marshal(list[f.Chunks]); err != nil {
			return nil, false, err
		}
	}
	if !changed {
		return record, true, nil
	}
	if members["fields"], err = json.Marshal(fields); err != nil {
		return nil, false, err
	}
	bound, err = json.Marshal(members)
	return bound, true, err
}
