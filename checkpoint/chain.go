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

	// Fence is the lease under which the chain writes; "" for none.
	Fence string

	store  Store
	key    Key
	schema *state.Schema
	head   uint64
	id     string     // of the commit that it was opened at
	fields []Field    // of the schema, in its order; Name "" until committed once
	sums   []uint64   // checksum of the last whole value of each field
	prev   state.View // the state at the last commit, to tell what was added since
	known  []bool     // prev holds the field's committed value
	other  []other    // fields of the head that the schema does not know
	parent uint64     // the commit that the next one goes on from, if that is not the head
}

// other is a field that the schema does not know. It is kept as it is stored.
type other struct {
	Field
	blobs []Blob // sealed; nil unless they must be stored anew
}

// Open reads the head of a chain. An unknown thread or namespace gives an empty
// Chain, ready for its first commit.
func Open(ctx context.Context, store Store, key Key, schema *state.Schema) (*Chain, error) {
	c, err := OpenAt(ctx, store, key, schema, 0)
	if errors.Is(err, ErrNotFound) {
		c, err = newChain(store, key, schema), nil
		c.State = schema.New()
	}
	return c, err
}

// OpenAt reads a commit of a chain, or its head if at is 0, to go on from there. If it
// is not the head, the next commit begins a branch: it comes after the head, says in
// its record which commit it goes on from, and stores the whole state, so branches
// share nothing that grows. An unknown thread, namespace or commit is an ErrNotFound.
func OpenAt(ctx context.Context, store Store, key Key, schema *state.Schema, at uint64) (*Chain, error) {
	if err := CheckThread(key.Thread); err != nil {
		return nil, err
	}
	snap, err := store.Load(ctx, key, at)
	if err != nil {
		return nil, err
	}
	c := newChain(store, key, schema)
	return c, c.restore(snap)
}

func newChain(store Store, key Key, schema *state.Schema) *Chain {
	n := len(schema.Fields())
	return &Chain{
		store: store, key: key, schema: schema,
		fields: make([]Field, n), sums: make([]uint64, n),
		prev: schema.Blank(), known: make([]bool, n),
	}
}

func (c *Chain) restore(snap Snapshot) (err error) {
	if c.Record, c.State, err = Restore(snap, c.schema); err != nil {
		return err
	}
	c.head, c.id = snap.Head, snap.ID
	if snap.Seq != snap.Head {
		c.parent = snap.Seq
	}
	for _, f := range c.Record.Fields {
		i, ok := c.schema.Index(f.Name)
		switch {
		case !ok && c.parent != 0:
			c.other = append(c.other, other{f, blobsOf(snap, f.Name)})
		case !ok:
			c.other = append(c.other, other{f, nil})
		case c.parent == 0:
			c.fields[i], c.known[i] = f, true
		}
	}
	c.schema.Assign(c.prev, c.State)
	c.Pending, err = ReadPending(snap)
	return err
}

func blobsOf(snap Snapshot, field string) (blobs []Blob) {
	for _, b := range snap.Blobs {
		if b.Field == field {
			blobs = append(blobs, b)
		}
	}
	return blobs
}

// Head returns the number of the newest commit, 0 for none.
func (c *Chain) Head() uint64 { return c.head }

// Parent returns the number of the commit that the next one goes on from, 0 for none.
func (c *Chain) Parent() uint64 {
	if c.parent != 0 {
		return c.parent
	}
	return c.head
}

// ID returns the id of the commit that the chain was opened at, "" for none.
func (c *Chain) ID() string { return c.id }

// GoBack makes head the head, for a store that has lost what came after it: the next
// commit follows it and stores the whole state.
func (c *Chain) GoBack(head uint64) {
	c.head, c.parent, c.other = head, 0, nil
	clear(c.fields)
	clear(c.sums)
	clear(c.known)
}

// Forget makes the chain go on from nothing: its next commit stores the state of a thread
// that is new, and begins a branch.
func (c *Chain) Forget() {
	c.parent, c.Record, c.Pending, c.other = c.Parent(), nil, nil, nil
	c.State = c.schema.New()
	clear(c.fields)
	clear(c.sums)
	clear(c.known)
}

// Branches reports whether the next commit begins a branch.
func (c *Chain) Branches() bool { return c.parent != 0 }

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
	return Put(ctx, c.store, Pending{Key: c.key, Head: c.head, Entries: entries, Fence: c.Fence})
}

// Put seals entries and stores them beside the head of a chain.
func Put(ctx context.Context, store Store, p Pending) (err error) {
	if p.Entries, err = sealEntries(p.Key, p.Entries); err != nil {
		return err
	}
	return store.Put(ctx, p)
}

// sealEntries returns a copy of entries, sealed for their places.
func sealEntries(key Key, entries []Entry) ([]Entry, error) {
	sealed := make([]Entry, len(entries))
	for i, e := range entries {
		data, err := seal(pendingPlace(key, e), json.RawMessage(e.Data))
		if err != nil {
			return nil, fmt.Errorf("checkpoint: thread %q: task %s: %s: %w", key.Thread, e.Task, e.Slot, err)
		}
		e.Data = data
		sealed[i] = e
	}
	return sealed, nil
}

func headerPlace(k Key, seq uint64) string { return place(k.Namespace, "header", seq, -1) }

func pendingPlace(k Key, e Entry) string {
	return fmt.Sprintf("%q pending %q %q", k.Namespace, e.Task, e.Slot)
}
