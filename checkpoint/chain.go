package checkpoint

import (
	"cmp"
	"context"
	"errors"
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
	codec        *Codec
	key          Key
	schema       *state.Schema
	pendingCount int // entries stored for the head, including those that were replaced
	head         uint64
	mark         []byte     // of the head, if entries are bound to it; see markOf
	id           string     // of the commit that it was opened at
	fields       []Field    // of the schema, in its order; Name "" until committed once
	pieces       []pieces   // of each field
	prev         state.View // the state at the last commit, to find what was added since
	known        []bool     // prev holds the field's committed value
	other        []other    // fields of the head that the schema does not know
	parent       uint64     // the commit that the next one continues from, if that is not the head
	log          decisionLog
}

// pieces describes the pieces of a field, in addition to its Field in the record.
type pieces struct {
	sum          uint64 // checksum of the last whole value that was written
	base, chunks int    // bytes before compression
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
	if err := c.restore(snap); err != nil || c.parent == 0 || key.Namespace != "" {
		return c, err
	}
	return c, c.keepDecisions(ctx)
}

// keepDecisions reads the decisions of the head, for a chain that continues from an older commit.
func (c *Chain) keepDecisions(ctx context.Context) error {
	head, err := c.store.Load(ctx, c.key, c.head)
	if err != nil {
		return err
	}
	rec, err := ReadRecord(head)
	if err != nil {
		return err
	}
	c.log = readDecisions(head, rec)
	if f := &c.log.field; c.codec.Keys == nil {
		f.Tag = ""
	} else if f.Tag, err = tagOf(c.key, c.log.pieces); err != nil {
		return damaged(head, decisionField, err)
	}
	beside, err := ReadPending(head)
	c.log.fresh = decided(beside)
	return err
}

func newChain(store Store, key Key, schema *state.Schema) *Chain {
	n := len(schema.Fields())
	return &Chain{
		store: store, codec: codecOf(store), key: key, schema: schema,
		fields: make([]Field, n), pieces: make([]pieces, n),
		prev: schema.Blank(), known: make([]bool, n),
	}
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
			c.fields[i], c.known[i] = f, true
			for _, b := range r.pieces[f.Name] {
				c.pieces[i].weigh(b.Chunk, b.Data)
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
	if c.codec.Keys == nil {
		for i := range c.Record.Fields {
			c.Record.Fields[i].Tag = ""
		}
		return nil
	}
	c.mark = markOf(snap.Header)
	if binds(snap.Header) {
		return nil // the record has tags, which restore has checked
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
	c.head, c.mark, c.parent, c.other, c.log.whole = head, nil, 0, nil, true
	c.fields = make([]Field, len(c.fields)) // c.Record has the old ones
	clear(c.pieces)
	clear(c.known)
}

// Forget resets the chain to the state of a new thread. Its next commit stores that state and
// begins a branch.
func (c *Chain) Forget() {
	c.parent, c.Record, c.Pending, c.other = c.Parent(), nil, nil, nil
	c.State = c.schema.New()
	c.fields = make([]Field, len(c.fields))
	clear(c.pieces)
	clear(c.known)
}

// Branches reports whether the next commit begins a branch.
func (c *Chain) Branches() bool { return c.parent != 0 }

// add adds the change of field i to the commit: a difference if the channel has one, else the
// whole value.
func (c *Chain) add(p *Prepared, v state.View, i int) error {
	ch, def := v.Channels[i], &c.schema.Fields()[i]
	f, known, commit := &p.fields[i], &p.pieces[i], &p.commit
	if d, ok := ch.(state.Delta); ok && c.known[i] && f.Base != 0 && !c.due(i) {
		if diff, ok := d.Since(c.prev.Channels[i]); ok {
			if done, err := c.addChunk(p, i, diff, cmp.Or(def.Kind, state.Kind(def.Type))); done || err != nil {
				return err
			}
		}
	}
	value, ok := ch.Stored()
	if !ok {
		*f, *known = newField(def), pieces{}
		return nil
	}
	data, tag, err := c.codec.sealField(c.key, f.Name, place(c.key, f.Name, commit.Seq(), 0), def.Type, value, "")
	if err != nil {
		return err
	}
	if s := payloadSum(data); f.Base == 0 || f.Chunks > 0 || s != known.sum {
		*f = newField(def)
		f.Base, f.BaseBytes = commit.Seq(), len(data)
		known.sum = s
		known.weigh(0, data)
		f.Tag = tag
		commit.Blobs = append(commit.Blobs, Blob{f.Name, f.Base, 0, data})
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
	p := &c.pieces[i]
	return outweighed(p.base, c.fields[i].Chunks, p.chunks)
}

// outweighed reports whether that many chunks, with that many bytes in total, need a new base.
func outweighed(base, chunks, bytes int) bool {
	return bytes >= outweigh*base && (chunks >= manyChunks || bytes >= muchChunks)
}

// addChunk adds a chunk with the difference of field i. done is false when the pieces together
// would be too large.
func (c *Chain) addChunk(p *Prepared, i int, diff any, kind state.Kind) (done bool, err error) {
	f := &p.fields[i]
	data, tag, err := c.codec.sealField(c.key, f.Name, place(c.key, f.Name, f.Base, f.Chunks+1), "", diff, f.Tag)
	if err != nil || f.BaseBytes+f.ChunkBytes+len(data) > c.codec.Limits.Value {
		return false, err
	}
	f.Chunks++
	f.ChunkBytes += len(data)
	f.Kind, f.Tag = kind, tag
	p.pieces[i].weigh(f.Chunks, data)
	p.commit.Blobs = append(p.commit.Blobs, Blob{f.Name, f.Base, f.Chunks, data})
	return true, nil
}

// Rebase makes the next commit store field i whole. Call it after the field's value was replaced
// without a Fold.
func (c *Chain) Rebase(i int) { c.known[i] = false }

// Put seals entries and stores them as pending entries of the head.
func (c *Chain) Put(ctx context.Context, entries []Entry) error {
	sealed, err := c.codec.sealEntries(c.key, entries, c.pendingCount, c.mark)
	if err != nil {
		return err
	}
	c.pendingCount += len(entries)
	return c.store.Put(ctx, Pending{Key: c.key, Head: c.head, Entries: sealed, Fence: c.Fence})
}

// Put seals entries and stores them as pending entries of the head of a chain.
func Put(ctx context.Context, store Store, p Pending) (err error) {
	codec := codecOf(store)
	mark, err := headMark(ctx, store, codec, p.Key)
	if err != nil {
		return err
	}
	if p.Entries, err = codec.sealEntries(p.Key, p.Entries, 0, mark); err != nil {
		return err
	}
	return store.Put(ctx, p)
}
