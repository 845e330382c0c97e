package checkpoint

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Codec says how values become bytes, above every store. The zero Codec is what a store
// has by itself: JSON, compressed where that pays, not encrypted, within the default
// Limits. [Sealed] gives a store another one.
type Codec struct {
	// Keys encrypt all values; nil means that nothing is encrypted.
	Keys *Keys
	// NoCompression stores values as they are. What was compressed before is still read.
	NoCompression bool
	// Limits bound what is written.
	Limits Limits
	// Warn, if it is not nil, is called with each value of at least WarnFrom bytes, before
	// it is stored. It must be safe for concurrent use.
	Warn func(Size)
}

// WarnFrom is the number of bytes from which on Codec.Warn is told of a value.
const WarnFrom = 1 << 20

// Limits bound what is written. They are checked before anything is sent to the store, and
// what goes beyond them is a *TooLargeError. 0 means the default. What is stored
// already can be read whatever they are.
type Limits struct {
	Value   int // bytes of the value of one field, before compression; 16 MiB. The chunks of a list count as they are stored.
	Header  int // bytes of a commit's record, before compression; 16 MiB: 10,000 tasks with payloads of a KiB
	Commit  int // bytes of a commit, as it is stored; 64 MiB
	Pending int // entries beside one head; 65,536: six for each of 10,000 tasks
	Fields  int // fields of a commit; 1024
	Depth   int // levels of namespaces: subgraphs in subgraphs; 32
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		limit    *int
		standard int
	}{
		{&l.Value, 16 << 20}, {&l.Header, 16 << 20}, {&l.Commit, 64 << 20},
		{&l.Pending, 1 << 16}, {&l.Fields, 1024}, {&l.Depth, 32},
	} {
		if *f.limit == 0 {
			*f.limit = f.standard
		}
	}
	return l
}

func (l Limits) check() error {
	if min(l.Value, l.Header, l.Commit, l.Pending, l.Fields, l.Depth) < 0 {
		return fmt.Errorf("%w: a limit is negative: %+v", ErrRequest, l)
	}
	if max(l.Value, l.Header) > maxRaw {
		return fmt.Errorf("%w: no value and no header can have more than %d bytes: %+v", ErrRequest, maxRaw, l)
	}
	return nil
}

// TooLargeError says what is too large. It is an ErrTooLarge. Nothing was sent to the store.
type TooLargeError struct {
	Key
	What  string // value, header, commit, entries, fields or namespaces
	Field string // of a value: its field; of an entry: "pending"
	Size  int    // bytes or, of entries, fields and namespaces, how many
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
	return fmt.Sprintf("%v: thread %q, namespace %.80q: %s: %d %s, the limit is %d", ErrTooLarge, e.Thread, e.Namespace, what, e.Size, unit, e.Limit)
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
func codecOf(store Store) *Codec {
	c := Codec{}
	if s, ok := store.(interface{ Codec() Codec }); ok {
		c = s.Codec()
	}
	c.Limits = c.Limits.withDefaults()
	return &c
}

// sealField seals a piece of a field, unless it is too large. It returns the tag of the field, whose
// earlier pieces have the tag before.
func (c *Codec) sealField(k Key, field string, at spot, note string, v any, before string) (data []byte, tag string, err error) {
	x := extra{note: note}
	if c.Keys != nil {
		x.tag = new(string)
		*x.tag = before
	}
	data, raw, err := c.sealWith(at, v, x)
	if x.tag != nil {
		tag = *x.tag
	}
	if err != nil {
		return nil, "", fmt.Errorf("checkpoint: thread %q: field %q: %w", k.Thread, field, err)
	}
	if err := bounded(k, "value", field, raw, c.Limits.Value); err != nil {
		return nil, "", err
	}
	if raw >= WarnFrom && c.Warn != nil {
		c.Warn(Size{Namespace: k.Namespace, Thread: k.Thread, Field: field, Bytes: raw})
	}
	return data, tag, nil
}

// sealEntries seals what is to stand beside a head with a mark, nil where nothing is bound, at
// which n entries stand already.
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
