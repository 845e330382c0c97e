package checkpoint

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/weftrun/weft/state"
)

// Prepared is a commit that is encoded and not yet stored. Later changes of the state do not
// change it.
type Prepared struct {
	store   Store
	commit  Commit
	mark    []byte // of the commit, if entries are bound to it
	record  *Record
	fields  []Field
	pieces  []pieces
	other   []other
	state   state.View
	fresh   []int // the fields whose committed value changes
	log     decisionLog
	pending []Entry
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
func (c *Chain) Prepare(id string, rec *Record, v state.View, changed []bool, entries ...Entry) (p *Prepared, err error) {
	if err := c.codec.depth(c.key); err != nil {
		return nil, err
	}
	p = &Prepared{store: c.store, record: rec, state: v,
		commit: Commit{Key: c.key, ID: id, Head: c.head, Fence: c.Fence, TTL: c.TTL, Labels: rec.labels()},
		fields: slices.Clone(c.fields), pieces: slices.Clone(c.pieces)}
	stale := func(i int) bool { return p.fields[i].Name == "" || changed[i] }
	n := 0
	for i := range p.fields {
		if stale(i) {
			n++
		}
	}
	p.fresh, p.commit.Blobs = make([]int, 0, n), make([]Blob, 0, n)
	for i, f := range c.schema.Fields() {
		if !stale(i) {
			continue
		}
		p.fields[i].Name = f.Name
		if err := c.add(p, v, i); err != nil {
			return nil, err
		}
		p.fresh = append(p.fresh, i)
	}
	if err := c.keepOthers(p); err != nil {
		return nil, err
	}
	if p.pending, err = c.addDecisions(p, entries); err != nil {
		return nil, err
	}
	rec.Parent = c.parent
	rec.Fields = slices.Clip(p.fields) // shared: nothing changes p.fields from here on
	for _, o := range p.other {
		rec.Fields = append(rec.Fields, o.Field)
	}
	if p.log.field.Base != 0 {
		rec.Fields = append(rec.Fields, p.log.field)
	}
	p.commit.Refs = make([]Ref, 0, len(rec.Fields))
	for _, f := range rec.Fields {
		if f.Base != 0 {
			p.commit.Refs = append(p.commit.Refs, Ref{f.Name, f.Base, f.Chunks})
		}
	}
	if p.commit.Header, err = c.sealRecord(p.commit.Seq(), rec); err != nil {
		return nil, err
	}
	if c.codec.Keys != nil {
		p.mark = markOf(p.commit.Header)
	}
	if p.commit.Pending, err = c.codec.sealEntries(c.key, p.pending, 0, p.mark); err != nil {
		return nil, err
	}
	return p, c.codec.size(&p.commit)
}

func (c *Chain) sealRecord(seq uint64, rec *Record) ([]byte, error) {
	if err := bounded(c.key, "fields", "", len(rec.Fields), c.codec.Limits.Fields); err != nil {
		return nil, err
	}
	data, raw, err := c.codec.sealWith(headerPlace(c.key, seq), rec, extra{binds: c.codec.Keys != nil})
	if err != nil {
		return nil, fmt.Errorf("checkpoint: thread %q: record: %w", c.key.Thread, err)
	}
	return data, bounded(c.key, "header", "", raw, c.codec.Limits.Header)
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
func (p *Prepared) Store(ctx context.Context) error { return p.store.Commit(ctx, p.commit) }

// Advance moves the chain on to p. Call it before the state changes again.
func (c *Chain) Advance(p *Prepared) {
	c.Record, c.head, c.mark, c.parent, c.Pending = p.record, p.Seq(), p.mark, 0, nil
	c.pendingCount = len(p.commit.Pending)
	c.fields, c.pieces, c.other, c.log = p.fields, p.pieces, p.other, p.log
	for _, i := range p.fresh {
		c.schema.AssignField(c.prev, p.state, i)
		c.known[i] = true
	}
}

// labels returns the labels of a record: those from its fields, and its metadata.
func (r *Record) labels() map[string]string {
	labels := maps.Clone(r.Metadata)
	if labels == nil {
		labels = map[string]string{}
	}
	labels["source"], labels["run"], labels["graph"] = string(r.Source), r.Run, r.Graph
	labels["turn"], labels["step"] = strconv.Itoa(r.Turn), strconv.Itoa(r.Step)
	return labels
}
