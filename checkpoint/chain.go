package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/weftrun/weft/state"
)

// A field gets a new base when its chunks are several times as large as the old base, and there
// are manyChunks of them or muchChunks bytes. So a log is five times as long at each new base. The
// bytes written in total stay below two and a half times the bytes added, and a load reads a small
// multiple of the value. Sizes are those before compression: otherwise a base that compresses well
// would be rewritten too often.
const (
	manyChunks = 256
	muchChunks = 256 << 10 // bytes
	outweigh   = 4         // times the base
)

// Chain is one namespace of a thread, opened to continue from its head. It is not safe for
// concurrent use. A commit of another writer is detected by compare-and-set.
type Chain struct {
	// Record is the head's record; nil while the chain is empty.
	Record *Record
	// State is the state at the head, or the state of defaults.
	State state.View
	// Pending are the pending entries of the head when the chain was opened, unsealed.
	Pending []Entry

	// Fence is the lease under which the chain writes; "" for none.
	Fence string
	// TTL lets the thread expire that long after each commit; 0 does not change its expiry.
	TTL time.Duration

	store        Store
	codec        Codec
	key          Key
	schema       *state.Schema
	pendingCount int // entries stored for the head, including those that were replaced
	head         uint64
	mark         []byte       // of the head, if entries are bound to it; see markOf
	hash         string       // the Prev of the next commit, if commits carry hashes
	lost         bool         // hash is that of a commit which the store lost
	id           string       // of the commit that it was opened at
	fields       []chainField // of the schema, in its order
	prev         state.View   // the state at the last commit, to find what was added since
	other        []other      // fields of the head that the schema does not know
	parent       uint64       // the commit that the next one continues from, if that is not the head
	log          decisionLog
	origin       origin       // of the places of its values
	prepared     *[2]Prepared // the commit that is prepared next, and the one before it; nil for none
	turn         int          // which of them is the next one
	claims       []string     // the hashes of the blobs in entries that are put
}

// chainField is a field of the schema, as it is committed.
type chainField struct {
	Field  // Name is "" until the field was committed once
	pieces pieces
	known  bool // Chain.prev holds the field's committed value
}

// warn warns if a field has become large, or twice as large as at the last warning.
func (c *Chain) warn(f *change) {
	size := f.base + f.chunks
	if size < WarnFrom || size < 2*f.warned {
		return
	}
	f.warned = size
	before := &c.fields[f.i].pieces
	c.codec.warn(Size{Thread: c.key.Thread, Namespace: c.key.Namespace, Field: f.Name, Bytes: size, Added: size - before.base - before.chunks})
}

// pieces describes the pieces of a field, in addition to its Field in the record.
type pieces struct {
	sum          uint64 // checksum of the last whole value that was written
	base, chunks int    // bytes before compression
	warned       int    // both, at the last warning
}

// weigh adds the size of a piece.
func (p *pieces) weigh(chunk int, sealed []byte) {
	n := len(sealed)
	if raw, _, ok := cutUvarint(sealed[min(4, n):]); ok {
		n = max(n, int(raw))
	}
	if chunk == 0 {
		p.base, p.chunks = n, 0
	} else {
		p.chunks += n
	}
}

// other is a field that the schema does not have. It is carried along as it is stored.
type other struct {
	Field
	blobs []Blob // sealed; nil unless they must be stored again
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

// OpenAt reads a commit of a chain, or its head if at is 0, to continue from there. If it is not
// the head, the next commit begins a branch: it follows the head, names in its record the commit
// that it continues from, and stores the whole state. So branches share no growing list. An unknown
// thread, namespace or commit is an ErrNotFound.
func OpenAt(ctx context.Context, store Store, key Key, schema *state.Schema, at uint64) (*Chain, error) {
	if err := CheckThread(key.Thread); err != nil {
		return nil, err
	}
	snap, err := store.Load(ctx, key, at)
	if err != nil {
		return nil, err
	}
	c := newChain(store, key, schema)
	if snap.Seq == snap.Head {
		return c, c.restore(snap)
	}
	head, err := c.loadHead(ctx, snap.Head)
	if err != nil {
		return nil, err
	}
	rec, err := ReadRecord(head)
	if err == nil {
		err = c.linkToHead(head, rec)
	}
	if err != nil {
		return nil, err
	}
	if err := c.restore(snap); err != nil || key.Namespace != "" {
		return c, err
	}
	return c, c.keepDecisions(head, rec)
}

// loadHead loads the newest commit of a chain that continues from an older one; without its values
// unless it has decisions.
func (c *Chain) loadHead(ctx context.Context, seq uint64) (Snapshot, error) {
	if c.key.Namespace == "" {
		return c.store.Load(ctx, c.key, seq)
	}
	for snap, err := range c.store.History(ctx, c.key, Query{Before: seq + 1, Limit: 1}) {
		return snap, err
	}
	return Snapshot{}, fmt.Errorf("%w: thread %q, namespace %q, commit %d", ErrNotFound, c.key.Thread, c.key.Namespace, seq)
}

func newChain(store Store, key Key, schema *state.Schema) *Chain {
	n := len(schema.Fields())
	c := &Chain{
		store: store, codec: codecOf(store), key: key, schema: schema,
		fields: make([]chainField, n), prev: schema.Blank(), origin: originOf(key),
	}
	if c.codec.hashes = c.codec.hashes && hasHistory(key.Namespace); c.codec.hashes {
		c.hash = noHash
	}
	return c
}

func (c *Chain) restore(snap Snapshot) error {
	r, err := restore(snap, c.schema)
	if err != nil {
		return err
	}
	c.Record, c.State = r.record, r.view
	c.head, c.id = snap.Head, snap.ID
	if snap.Seq != snap.Head {
		c.parent = snap.Seq
	} else if err := c.linkToHead(snap, c.Record); err != nil {
		return err
	}
	if err := c.retag(snap); err != nil {
		return err
	}
	c.log = readDecisions(snap, c.Record)
	for n, f := range c.Record.Fields {
		switch i := r.owner[n]; {
		case f.Name == decisionField:
		case i < 0 && c.parent != 0:
			c.other = append(c.other, other{f, blobsOf(snap, f.Name)})
		case i < 0:
			c.other = append(c.other, other{f, nil})
		case c.parent == 0 && !r.changed[i]:
			c.fields[i].Field, c.fields[i].known = f, true
			for _, b := range r.pieces[f.Name] {
				c.fields[i].pieces.weigh(b.Chunk, b.Data)
			}
		}
	}
	c.schema.Assign(c.prev, c.State)
	c.Pending, err = ReadPending(snap)
	c.pendingCount = len(c.Pending)
	return err
}

// retag sets the tags by which the next commit binds the fields of the record.
func (c *Chain) retag(snap Snapshot) (err error) {
	if !c.codec.tags() {
		for i := range c.Record.Fields {
			c.Record.Fields[i].Tag = ""
		}
		return nil
	}
	if c.codec.Keys != nil {
		c.mark = markOf(snap.Header)
	}
	if binds(snap.Header) || c.Record.Prev != "" {
		return nil // the record has tags
	}
	pieces := piecesOf(snap)
	for i, f := range c.Record.Fields {
		if c.Record.Fields[i].Tag, err = tagOf(snap.Key, pieces[f.Name]); err != nil {
			return damaged(snap, f.Name, err)
		}
	}
	return nil
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

// Parent returns the number of the commit that the next one continues from, 0 for none.
func (c *Chain) Parent() uint64 {
	if c.parent != 0 {
		return c.parent
	}
	return c.head
}

// ID returns the id of the commit that the chain was opened at, "" for none.
func (c *Chain) ID() string { return c.id }

// GoBack sets the head to an older commit, for a store that has lost the commits after it. The next
// commit follows it and stores the whole state.
func (c *Chain) GoBack(head uint64) {
	c.head, c.mark, c.parent, c.other, c.log.whole, c.lost = head, nil, 0, nil, true, true
	clear(c.fields)
}

// Forget resets the chain to the state of a new thread. Its next commit stores that state and
// begins a branch.
func (c *Chain) Forget() {
	c.parent, c.Record, c.Pending, c.other = c.Parent(), nil, nil, nil
	c.State = c.schema.New()
	clear(c.fields)
}

// Branches reports whether the next commit begins a branch.
func (c *Chain) Branches() bool { return c.parent != 0 }

// place names where a piece of a field of the chain belongs.
func (c *Chain) place(field string, base uint64, chunk int) spot {
	at := place(c.key, field, base, chunk)
	at.origin = c.origin
	return at
}

// add adds the change of field i to the commit: a difference if the channel has one, else the
// whole value.
func (c *Chain) add(p *Prepared, v state.View, i int) error {
	ch, def := v.Channels[i], &c.schema.Fields()[i]
	p.changes = append(p.changes, change{i, c.fields[i].Field, c.fields[i].pieces})
	f := &p.changes[len(p.changes)-1]
	f.Name = def.Name
	if d, ok := ch.(state.Delta); ok && c.fields[i].known && f.Base != 0 && !c.due(i) {
		if diff, ok := d.Since(c.prev.Channels[i]); ok {
			if done, err := c.addChunk(p, f, diff, cmp.Or(def.Kind, state.Kind(def.Type))); done || err != nil {
				return err
			}
		}
	}
	value, ok := ch.Stored()
	if !ok {
		f.Field, f.pieces = newField(def), pieces{}
		return nil
	}
	seq := p.commit.Seq()
	data, tag, err := c.codec.sealField(&p.room, c.place(f.Name, seq, 0), def.Type, value, "")
	if err != nil {
		return err
	}
	if s := payloadSum(data); f.Base == 0 || f.Chunks > 0 || s != f.sum {
		f.Field = newField(def)
		f.Base, f.BaseBytes, f.Tag = seq, len(data), tag
		f.sum = s
		f.weigh(0, data)
		p.commit.Blobs = append(p.commit.Blobs, Blob{f.Name, seq, 0, data})
	}
	return nil
}

// newField returns a field without a value.
func newField(def *state.Field) Field {
	f := Field{Name: def.Name}
	if def.Version > 1 {
		f.Version = def.Version
	}
	return f
}

// payloadSum returns a hash of a sealed value that does not depend on its place. It is never
// stored.
func payloadSum(sealed []byte) uint64 {
	return maphash.Bytes(payloadSeed, sealed[:len(sealed)-sumBytes])
}

var payloadSeed = maphash.MakeSeed()

// due reports whether field i should get a new base.
func (c *Chain) due(i int) bool {
	f := &c.fields[i]
	return outweighed(f.pieces.base, f.Chunks, f.pieces.chunks)
}

// outweighed reports whether that many chunks, with that many bytes in total, need a new base.
func outweighed(base, chunks, bytes int) bool {
	return bytes >= outweigh*base && (chunks >= manyChunks || bytes >= muchChunks)
}

// addChunk adds a chunk with the difference of a field. done is false when the pieces together
// would be too large.
func (c *Chain) addChunk(p *Prepared, f *change, diff any, kind state.Kind) (done bool, err error) {
	data, tag, err := c.codec.sealField(&p.room, c.place(f.Name, f.Base, f.Chunks+1), "", diff, f.Tag)
	if err != nil || f.BaseBytes+f.ChunkBytes+len(data) > c.codec.Limits.Value {
		return false, err
	}
	f.Chunks++
	f.ChunkBytes += len(data)
	f.Kind, f.Tag = kind, tag
	f.weigh(f.Chunks, data)
	p.commit.Blobs = append(p.commit.Blobs, Blob{f.Name, f.Base, f.Chunks, data})
	return true, nil
}

// Rebase makes the next commit store field i whole. Call it after the field's value was replaced
// without a Fold.
func (c *Chain) Rebase(i int) { c.fields[i].known = false }

// Put seals entries and stores them as pending entries of the head.
func (c *Chain) Put(ctx context.Context, entries []Entry) error {
	if c.codec.blobs != nil {
		c.claims = c.claims[:0]
		c.codec.found = &c.claims
	}
	sealed, err := c.codec.sealEntries(c.key, entries, c.pendingCount, c.mark)
	if err != nil {
		return err
	}
	if err := c.codec.claim(ctx, c.key.Thread, c.claims); err != nil {
		return err
	}
	c.pendingCount += len(entries)
	return c.store.Put(ctx, Pending{Key: c.key, Head: c.head, Entries: sealed, Fence: c.Fence})
}

// Put seals entries and stores them as pending entries of the head of a chain.
func Put(ctx context.Context, store Store, p Pending) (err error) {
	codec := codecOf(store)
	var hashes []string
	codec.found = &hashes
	mark, err := headMark(ctx, store, &codec, p.Key)
	if err != nil {
		return err
	}
	if p.Entries, err = codec.sealEntries(p.Key, p.Entries, 0, mark); err != nil {
		return err
	}
	if err := codec.claim(ctx, p.Thread, hashes); err != nil {
		return err
	}
	return store.Put(ctx, p)
}
