package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftrun/weft/state"
)

// A field gets a new base when its chunks are many and outweigh the base, or when they
// outweigh it several times. So what is written in all stays within a small multiple
// of what was added, and what a load reads within a small multiple of the value.
const (
	manyChunks = 256
	outweigh   = 4        // times the base
	smallBase  = 64 << 10 // bytes; a smaller base counts as this
)

// Chain is one namespace of a thread, opened to go on from its head. It is not
// safe for concurrent use; another writer is noticed by compare-and-set.
type Chain struct {
	// Record is the head's record; nil while the chain is empty.
	Record *Record
	// State is the state at the head, or the state of defaults.
	State state.View
	// Pending are the entries beside the head when the chain was opened, unsealed.
	Pending []Entry

	store  Store
	key    Key
	schema *state.Schema
	head   uint64
	fields []Field    // of the schema, in its order; Name "" until committed once
	sums   []uint64   // checksum of the last whole value of each field
	prev   state.View // the state at the last commit, to tell what was added since
	known  []bool     // prev holds the field's committed value
	other  []Field    // fields of the head that the schema does not know
}

// Open reads the head of a chain. An unknown thread or namespace gives an empty
// Chain, ready for its first commit.
func Open(ctx context.Context, store Store, key Key, schema *state.Schema) (*Chain, error) {
	if err := CheckThread(key.Thread); err != nil {
		return nil, err
	}
	n := len(schema.Fields())
	c := &Chain{
		store: store, key: key, schema: schema,
		fields: make([]Field, n), sums: make([]uint64, n),
		prev: schema.Blank(), known: make([]bool, n),
	}
	snap, err := store.Load(ctx, key, 0)
	if errors.Is(err, ErrNotFound) {
		c.State = schema.New()
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	return c, c.restore(snap)
}

func (c *Chain) restore(snap Snapshot) (err error) {
	if c.Record, c.State, err = Restore(snap, c.schema); err != nil {
		return err
	}
	c.head = snap.Seq
	for _, f := range c.Record.Fields {
		if i, ok := c.schema.Index(f.Name); ok {
			c.fields[i], c.known[i] = f, true
		} else {
			c.other = append(c.other, f)
		}
	}
	c.schema.Assign(c.prev, c.State)
	c.Pending, err = ReadPending(snap)
	return err
}

// Head returns the number of the newest commit, 0 for none.
func (c *Chain) Head() uint64 { return c.head }

// Commit stores v as the state after the head, with rec, and moves the head.
// changed tells which fields may differ from the last commit. Nothing is changed,
// in the store or in c, when it fails; rec.Fields is written.
func (c *Chain) Commit(ctx context.Context, id string, rec *Record, v state.View, changed []bool) error {
	commit := Commit{Key: c.key, ID: id, Head: c.head}
	fields := append([]Field(nil), c.fields...)
	sums := append([]uint64(nil), c.sums...)
	for i, f := range c.schema.Fields() {
		if fields[i].Name != "" && !changed[i] {
			continue
		}
		fields[i].Name = f.Name
		if err := c.add(&commit, &fields[i], &sums[i], v, i); err != nil {
			return fmt.Errorf("checkpoint: thread %q: field %q: %w", c.key.Thread, f.Name, err)
		}
	}
	rec.Fields = append(append(make([]Field, 0, len(fields)+len(c.other)), fields...), c.other...)
	for _, f := range rec.Fields {
		if f.Base != 0 {
			commit.Refs = append(commit.Refs, Ref{f.Name, f.Base, f.Chunks})
		}
	}
	var err error
	if commit.Header, err = seal(headerPlace(c.key, commit.Seq()), rec); err != nil {
		return fmt.Errorf("checkpoint: thread %q: record: %w", c.key.Thread, err)
	}
	if err := c.store.Commit(ctx, commit); err != nil {
		return err
	}
	c.Record, c.head, c.fields, c.sums, c.Pending = rec, commit.Seq(), fields, sums, nil
	for i := range fields {
		if changed[i] || !c.known[i] {
			c.schema.AssignField(c.prev, v, i)
			c.known[i] = true
		}
	}
	return nil
}

// add puts what is new in field i into the commit.
func (c *Chain) add(commit *Commit, f *Field, sum *uint64, v state.View, i int) error {
	ch := v.Channels[i]
	value, ok := ch.Stored()
	if !ok {
		*f, *sum = Field{Name: f.Name}, 0
		return nil
	}
	if d, ok := ch.(state.Delta); ok && c.known[i] && f.Base != 0 && !f.due() {
		if diff, ok := d.Since(c.prev.Channels[i]); ok {
			return addChunk(commit, f, diff)
		}
	}
	data, err := seal(place(c.key.Namespace, f.Name, commit.Seq(), 0), value)
	if err != nil {
		return err
	}
	if s := payloadSum(data); f.Base == 0 || f.Chunks > 0 || s != *sum {
		*f = Field{Name: f.Name, Base: commit.Seq(), BaseBytes: len(data)}
		*sum = s
		commit.Blobs = append(commit.Blobs, Blob{f.Name, f.Base, 0, data})
	}
	return nil
}

// payloadSum tells values apart without regard to their place.
func payloadSum(sealed []byte) uint64 { return sum("", sealed[:len(sealed)-sumBytes]) }

// due reports whether the field should get a new base.
func (f *Field) due() bool {
	return f.Chunks >= manyChunks && f.ChunkBytes >= f.BaseBytes ||
		f.ChunkBytes >= outweigh*max(f.BaseBytes, smallBase)
}

func addChunk(commit *Commit, f *Field, diff any) error {
	data, err := seal(place(commit.Namespace, f.Name, f.Base, f.Chunks+1), diff)
	if err != nil {
		return err
	}
	f.Chunks++
	f.ChunkBytes += len(data)
	commit.Blobs = append(commit.Blobs, Blob{f.Name, f.Base, f.Chunks, data})
	return nil
}

// Rebase lets the next commit store field i whole: for a caller that replaced the
// field's value by other means than a Fold.
func (c *Chain) Rebase(i int) { c.known[i] = false }

// Put seals entries and stores them beside the head.
func (c *Chain) Put(ctx context.Context, entries []Entry) error {
	return Put(ctx, c.store, c.key, c.head, entries)
}

// Put seals entries and stores them beside the head of a chain, which must be seq.
func Put(ctx context.Context, store Store, key Key, seq uint64, entries []Entry) error {
	sealed := make([]Entry, len(entries))
	for i, e := range entries {
		data, err := seal(pendingPlace(key, e), json.RawMessage(e.Data))
		if err != nil {
			return fmt.Errorf("checkpoint: thread %q: task %s: %s: %w", key.Thread, e.Task, e.Slot, err)
		}
		e.Data = data
		sealed[i] = e
	}
	return store.Put(ctx, Pending{Key: key, Head: seq, Entries: sealed})
}

func headerPlace(k Key, seq uint64) string { return place(k.Namespace, "header", seq, -1) }

func pendingPlace(k Key, e Entry) string {
	return fmt.Sprintf("%q pending %q %q", k.Namespace, e.Task, e.Slot)
}
