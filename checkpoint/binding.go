package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// An encrypted value is bound to its thread, namespace, field, task and slot, see secret.go. This
// binding alone allows a replay of the value at the same place: in another commit, on another
// branch, or in a later thread with the same id. So a record binds the values of its commit if they
// are encrypted:
//
//   - Each of its fields has a tag, a digest of all pieces of the value. A piece that was
//     stored by another commit with the same number does not match it.
//   - Each pending entry of the commit has its mark, the digest of the record. The record names
//     run, origin, branch, step, time and tags, so no two commits have the same mark.
//
// The envelope of such a record has flagBinds, inside the encryption. Records of earlier releases
// do not bind values. Their commits can be read; the next commit binds the values that it carries
// over from them.

// markBytes is the length of a digest: half of SHA-256. Without the key an attacker cannot choose
// its input.
const markBytes = 16

// markOf returns the mark of the commit with this record, sealed and not encrypted.
func markOf(header []byte) []byte {
	if len(header) < 2+sumBytes {
		return make([]byte, markBytes)
	}
	return digest("", header[2:len(header)-sumBytes]) // without version and checksum
}

// nextTag returns the tag of a field after a piece with this payload is added.
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
		err = fmt.Errorf("%w: the value was not stored with this commit", ErrCorrupt)
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
	for rest := snap.Blobs; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Field == rest[0].Field {
			n++
		}
		name := rest[0].Field
		if have := pieces[name]; have == nil { // as a rule
			pieces[name] = rest[:n:n]
		} else {
			pieces[name] = append(have, rest[:n]...)
		}
		rest = rest[n:]
	}
	return pieces
}

// binds reports whether a sealed record binds its values.
func binds(header []byte) bool {
	return len(header) > 3 && header[0] == magic && header[3]&flagBinds != 0
}

// checkMark checks that an entry with this mark, nil for none, belongs to a commit.
func checkMark(header, mark []byte) error {
	switch {
	case mark == nil && binds(header):
		return fmt.Errorf("%w: the entry has no mark, and its commit requires one", ErrCorrupt)
	case mark != nil && !bytes.Equal(mark, markOf(header)):
		return fmt.Errorf("%w: the entry belongs to another commit", ErrCorrupt)
	}
	return nil
}

// headMark returns the mark of the head of a chain. It is nil if entries are not bound to it.
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

// tags has the tags of the values stored so far, one for each number of pieces.
type tags map[blobPlace][]string

type blobPlace struct {
	namespace, field string
	base             uint64
}

// last returns the newest tag of the value to which a piece belongs.
func (t tags) last(namespace string, b Blob) string {
	if list := t[blobPlace{namespace, b.Field, b.Base}]; len(list) > 0 {
		return list[len(list)-1]
	}
	return ""
}

// add adds the tag of a value after a piece was added to it.
func (t tags) add(namespace string, b Blob, tag string) {
	at := blobPlace{namespace, b.Field, b.Base}
	t[at] = append(t[at], tag)
}

// bind returns a record, as JSON, in which each field has its tag from t. ok is false if the JSON
// is not a record.
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
			return nil, false, fmt.Errorf("%w: field %q: some of its pieces are missing", ErrCorrupt, f.Name)
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
