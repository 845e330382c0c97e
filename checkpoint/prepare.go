package checkpoint

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/weftrun/weft/state"
)

// Prepared is a commit that is encoded and not yet stored. Later changes of the state do not
// change it. Its chain uses it again for the commit after the next one.
type Prepared struct {
	store   Store
	commit  Commit
	mark    []byte   // of the commit, if entries are bound to it
	hash    string   // of the record, if commits carry hashes
	record  *Record  // until the chain has moved on
	changes []change // of the fields
	other   []other
	state   state.View
	log     decisionLog
	pending []Entry
	codec   *Codec   // that claims the blobs; nil without blobs
	blobs   []string // the hashes of the blobs in the commit's values
	room    []byte   // for the sealed values
}

// change is a field that a commit writes, as it is after the commit.
type change struct {
	i int // its number in the schema
	Field
	pieces
}

// reset prepares p for another commit. It keeps the memory.
func (p *Prepared) reset() {
	clear(p.changes)
	clear(p.commit.Blobs)
	clear(p.commit.Labels)
	clip(&p.room)
	*p = Prepared{room: p.room, changes: p.changes[:0],
		commit: Commit{Refs: p.commit.Refs[:0], Blobs: p.commit.Blobs[:0], Labels: p.commit.Labels}}
}

// prepareds has memory for the commits of chains.
var prepareds = sync.Pool{New: func() any { return new([2]Prepared) }}

// Free lets another chain use the memory of c's commits, which must be stored or given up. The
// chain can still be used.
func (c *Chain) Free() {
	if c.prepared == nil {
		return
	}
	c.prepared[0].reset()
	c.prepared[1].reset()
	prepareds.Put(c.prepared)
	c.prepared = nil
}

// Commit stores the state v and the record rec as the next commit, and moves the head. changed has
// the fields that may differ from the last commit. entries become pending entries of the new head.
// When Commit fails, neither the store nor c has changed. It sets rec.Fields and rec.Parent.
func (c *Chain) Commit(ctx context.Context, id string, rec *Record, v state.View, changed []bool, entries ...Entry) error {
	p, err := c.Prepare(id, rec, v, changed, entries...)
	if err != nil {
		return err
	}
	if err := p.Store(ctx); err != nil {
		return err
	}
	c.Advance(p)
	return nil
}

// Prepare encodes a commit without storing it. Advance moves the chain on, before or after p is
// stored. A chain that was moved on by a commit that could not be stored must not be used again.
//
// The chain uses p again for the commit after the next one: p must be stored, or given up, before
// the second call of Prepare after its Advance. The record is the caller's; Prepare sets its Fields
// in the memory that they have.
func (c *Chain) Prepare(id string, rec *Record, v state.View, changed []bool, entries ...Entry) (p *Prepared, err error) {
	if err := c.codec.depth(c.key); err != nil {
		return nil, err
	}
	if c.prepared == nil {
		c.prepared = prepareds.Get().(*[2]Prepared)
	}
	p = &c.prepared[c.turn]
	p.reset()
	p.store, p.record, p.state = c.store, rec, v
	if c.codec.blobs != nil {
		p.codec, c.codec.found = &c.codec, &p.blobs
	}
	o := &p.commit
	o.Key, o.ID, o.Head, o.Fence, o.TTL, o.Labels = c.key, id, c.head, c.Fence, c.TTL, rec.labels(o.Labels)
	for i := range c.fields {
		if c.fields[i].Name != "" && !changed[i] {
			continue
		}
		if err := c.add(p, v, i); err != nil {
			return nil, err
		}
		c.warn(&p.changes[len(p.changes)-1])
	}
	if err := c.keepOthers(p); err != nil {
		return nil, err
	}
	if p.pending, err = c.addDecisions(p, entries); err != nil {
		return nil, err
	}
	rec.Parent, rec.Prev = c.parent, c.hash
	c.listFields(p, rec)
	if err := c.sealRecord(p); err != nil {
		return nil, err
	}
	if c.codec.Keys != nil {
		p.mark = markOf(o.Header)
	}
	if o.Pending, err = c.codec.sealEntries(c.key, p.pending, 0, p.mark); err != nil {
		return nil, err
	}
	return p, c.codec.size(o)
}

// listFields lists the fields as they are after the commit, in the record and as references.
func (c *Chain) listFields(p *Prepared, rec *Record) {
	rec.Fields = slices.Grow(rec.Fields[:0], len(c.fields)+len(p.other)+1)
	for i := range c.fields {
		rec.Fields = append(rec.Fields, c.fields[i].Field)
	}
	for i := range p.changes {
		rec.Fields[p.changes[i].i] = p.changes[i].Field
	}
	for _, o := range p.other {
		rec.Fields = append(rec.Fields, o.Field)
	}
	if p.log.field.Base != 0 {
		rec.Fields = append(rec.Fields, p.log.field)
	}
	refs := slices.Grow(p.commit.Refs, len(rec.Fields))
	for i := range rec.Fields {
		if f := &rec.Fields[i]; f.Base != 0 {
			refs = append(refs, Ref{f.Name, f.Base, f.Chunks})
		}
	}
	p.commit.Refs = refs
}

// sealRecord seals the record of p as the header of its commit.
func (c *Chain) sealRecord(p *Prepared) error {
	if err := bounded(c.key, "fields", "", len(p.record.Fields), c.codec.Limits.Fields); err != nil {
		return err
	}
	x := extra{binds: c.codec.Keys != nil}
	if c.codec.hashes {
		x.hash = &p.hash
	}
	data, raw, err := c.codec.sealInto(&p.room, c.place("header", p.commit.Seq(), -1), p.record, x)
	if err != nil {
		return fmt.Errorf("checkpoint: thread %q: record: %w", c.key.Thread, err)
	}
	p.commit.Header = data
	return bounded(c.key, "header", "", raw, c.codec.Limits.Header)
}

// keepOthers carries over the fields that the schema does not have. A branch stores them again.
func (c *Chain) keepOthers(p *Prepared) error {
	for _, o := range c.other {
		for n, b := range o.blobs {
			old := place(c.key, b.Field, b.Base, n)
			b.Base = p.commit.Seq()
			data, err := reseal(old, place(c.key, b.Field, b.Base, n), b.Data)
			if err != nil {
				return damaged(Snapshot{Key: c.key, Seq: c.parent}, b.Field, err)
			}
			b.Data = data
			o.Base = b.Base
			p.commit.Blobs = append(p.commit.Blobs, b)
		}
		p.other = append(p.other, other{Field: o.Field})
	}
	return nil
}

// Seq returns the number that the commit has once it is stored.
func (p *Prepared) Seq() uint64 { return p.commit.Seq() }

// Bytes returns the stored size of the whole state of the commit, in bytes.
func (p *Prepared) Bytes() (n int) {
	for _, f := range p.record.Fields {
		if f.Name != decisionField {
			n += f.BaseBytes + f.ChunkBytes
		}
	}
	return n
}

// Pending returns the pending entries of the commit: the given entries without the decisions,
// which are in the commit itself.
func (p *Prepared) Pending() []Entry { return p.pending }

// Store stores the commit. It may be repeated: the commit is stored once.
func (p *Prepared) Store(ctx context.Context) error {
	if p.codec != nil {
		if err := p.codec.claim(ctx, p.commit.Thread, p.blobs); err != nil {
			return err
		}
	}
	return p.store.Commit(ctx, p.commit)
}

// Advance moves the chain on to p. Call it before the state changes again.
func (c *Chain) Advance(p *Prepared) {
	c.Record, c.head, c.mark, c.hash, c.lost, c.parent, c.Pending = p.record, p.Seq(), p.mark, p.hash, false, 0, nil
	c.pendingCount = len(p.commit.Pending)
	c.other, c.log = p.other, p.log
	for n := range p.changes {
		ch := &p.changes[n]
		c.fields[ch.i] = chainField{ch.Field, ch.pieces, true}
		c.schema.AssignField(c.prev, p.state, ch.i)
	}
	c.turn = 1 - c.turn
}

// labels returns the labels of a record in l, which is empty: those from its fields, and its
// metadata.
func (r *Record) labels(l map[string]string) map[string]string {
	if l == nil {
		l = make(map[string]string, 5+len(r.Metadata))
	}
	maps.Copy(l, r.Metadata)
	l["source"], l["run"], l["graph"] = string(r.Source), r.Run, r.Graph
	l["turn"], l["step"] = strconv.Itoa(r.Turn), strconv.Itoa(r.Step)
	return l
}
