package checkpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
)

// Codec defines how values are encoded, for every store. The zero Codec is the default of a
// store: JSON, compressed if that saves a tenth, not encrypted, within the default Limits.
// [Sealed] gives a store another one.
type Codec struct {
	// Keys encrypt all values; nil means that nothing is encrypted.
	Keys *Keys
	// NoCompression stores values without compression. Compressed values can still be read.
	NoCompression bool
	// Limits bound what is written.
	Limits Limits
	// Warn is called with a field that has grown to WarnFrom bytes, before compression, and again
	// each time that it has doubled. A list counts with all its chunks. nil writes to
	// slog.Default. It must be safe for concurrent use.
	Warn func(Size)

	blobs  *attached // of WithBlobs; nil for none
	hashes bool      // commits carry hashes, see WithHashes
	inner  Store     // what Unwrap returns; nil for the store itself
	found  *[]string // where sealing adds the hashes of the blobs in a value; nil for nowhere
}

// WarnFrom is the size in bytes of the smallest field for which Codec.Warn is called.
const WarnFrom = 1 << 20

// Limits bound what is written. They are checked before anything is sent to the store; a write
// beyond them is a *TooLargeError. 0 means the default. Stored values can be read whatever the
// limits are.
type Limits struct {
	// Value is the size of one field in bytes, before compression. The chunks of a list count with
	// their stored sizes. The default is 16 MiB.
	Value int
	// Header is the size of a commit's record in bytes, before compression. The default is 16 MiB,
	// enough for 10,000 tasks with payloads of 1 KiB.
	Header int
	// Commit is the size of a commit in bytes, as stored. The default is 64 MiB.
	Commit int
	// Pending is the number of pending entries of one head. The default is 65,536, six for each of
	// 10,000 tasks.
	Pending int
	// Fields is the number of fields of a commit. The default is 1024.
	Fields int
	// Depth is the number of levels of namespaces (subgraphs in subgraphs). The default is 32.
	Depth int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Value: cmp.Or(l.Value, 16<<20), Header: cmp.Or(l.Header, 16<<20), Commit: cmp.Or(l.Commit, 64<<20),
		Pending: cmp.Or(l.Pending, 1<<16), Fields: cmp.Or(l.Fields, 1024), Depth: cmp.Or(l.Depth, 32),
	}
}

func (l Limits) check() error {
	if min(l.Value, l.Header, l.Commit, l.Pending, l.Fields, l.Depth) < 0 {
		return fmt.Errorf("%w: limits must not be negative (got %+v)", ErrRequest, l)
	}
	if max(l.Value, l.Header) > maxRaw {
		return fmt.Errorf("%w: the limits Value and Header must be at most %d bytes (got %+v)", ErrRequest, maxRaw, l)
	}
	return nil
}

// TooLargeError describes a value or a commit beyond a limit. It is an ErrTooLarge. Nothing was
// sent to the store.
type TooLargeError struct {
	Key
	What  string // value, header, commit, entries, fields or namespaces
	Field string // the field of a value, or "pending" for an entry
	Size  int    // in bytes, or the number of entries, fields or namespaces
	Limit int
}

func (e *TooLargeError) Error() string {
	what, unit := e.What, "bytes"
	if e.Field != "" {
		what = fmt.Sprintf("%s of %q", e.What, e.Field)
	}
	switch e.What {
	case "entries", "fields", "namespaces":
		unit = e.What
	}
	text := fmt.Sprintf("%v: thread %q, namespace %.80q: %s: %d %s, the limit is %d", ErrTooLarge, e.Thread, e.Namespace, what, e.Size, unit, e.Limit)
	if e.What == "value" && e.Field != "pending" {
		text += "; bound a log by a window, store large data outside of the state and only its name in it, or raise Codec.Limits"
	}
	return text
}

// Is makes errors.Is(err, ErrTooLarge) true.
func (e *TooLargeError) Is(target error) bool { return target == ErrTooLarge }

// bounded returns a *TooLargeError if size is more than limit.
func bounded(k Key, what, field string, size, limit int) error {
	if size <= limit {
		return nil
	}
	return &TooLargeError{Key: k, What: what, Field: field, Size: size, Limit: limit}
}

// codecOf returns the codec that a store carries, with its limits filled in.
func codecOf(store Store) (c Codec) {
	if s, ok := store.(interface{ Codec() Codec }); ok {
		c = s.Codec()
	}
	c.Limits = c.Limits.withDefaults()
	return c
}

// sealField seals a piece of a field into memory that it appends to room, unless the piece is too
// large. before is the tag of the field's earlier pieces; sealField returns the tag that includes
// this piece.
func (c *Codec) sealField(room *[]byte, at spot, note string, v any, before string) (data []byte, tag string, err error) {
	x := extra{note: note}
	if c.tags() {
		tag = before
		x.tag = &tag
	}
	data, raw, err := c.sealInto(room, at, v, x)
	if err != nil {
		return nil, "", fmt.Errorf("checkpoint: thread %q: field %q: %w", at.thread, at.field, err)
	}
	if err := bounded(Key{at.thread, at.namespace}, "value", at.field, raw, c.Limits.Value); err != nil {
		return nil, "", err
	}
	return data, tag, nil
}

// tags reports whether records have tags of their fields.
func (c *Codec) tags() bool { return c.Keys != nil || c.hashes }

// warn calls Warn.
func (c *Codec) warn(s Size) {
	if c.Warn != nil {
		c.Warn(s)
		return
	}
	slog.Warn("checkpoint: a field is large; a run fails when a field is larger than the limit", "thread", s.Thread,
		"namespace", s.Namespace, "field", s.Field, "bytes", s.Bytes, "added", s.Added, "limit", c.Limits.Value)
}

// sealEntries seals pending entries for a head that already has n of them. mark is the mark of
// the head; it is nil if entries are not bound to it.
func (c *Codec) sealEntries(k Key, entries []Entry, n int, mark []byte) ([]Entry, error) {
	if err := bounded(k, "entries", "", n+len(entries), c.Limits.Pending); err != nil {
		return nil, err
	}
	sealed := make([]Entry, len(entries))
	for i, e := range entries {
		data, raw, err := c.sealWith(pendingPlace(k, e), json.RawMessage(e.Data), extra{mark: mark})
		if err == nil {
			err = bounded(k, "value", "pending", raw, c.Limits.Value)
		}
		if err != nil {
			return nil, fmt.Errorf("checkpoint: thread %q: task %s: %s: %w", k.Thread, e.Task, e.Slot, err)
		}
		e.Data = data
		sealed[i] = e
	}
	return sealed, nil
}

// depth returns an error if a namespace is too deep.
func (c *Codec) depth(k Key) error {
	return bounded(k, "namespaces", "", strings.Count(k.Namespace, "|")+1, c.Limits.Depth)
}

// size returns an error if a commit is too large.
func (c *Codec) size(commit *Commit) error {
	n := len(commit.Header)
	for _, b := range commit.Blobs {
		n += len(b.Data)
	}
	for _, e := range commit.Pending {
		n += len(e.Data)
	}
	return bounded(commit.Key, "commit", "", n, c.Limits.Commit)
}
