package graph

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/schedule"
	"github.com/weftrun/weft/state"
)

// Difference is how a thread's state differs between two of its commits.
type Difference struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
	// Base is the newest commit that both go on from. It is From unless they are on
	// different branches.
	Base uint64 `json:"base"`
	// Changes are the fields that differ, in the order of the state.
	Changes []Change `json:"changes,omitempty"`
	// Path are the commits after Base up to To, oldest first: what ran in each, what it
	// wrote, and where its decisions went and why.
	Path []CommitInfo `json:"path,omitempty"`
	// Decisions are what was decided on the way. That of a subgraph has those to edit it alone.
	Decisions []DecisionRecord `json:"decisions,omitempty"`
}

// Change is one field that differs.
type Change struct {
	Field string `json:"field"`
	// Type is the field's channel, which defines how writes are merged: its reducer.
	Type   string          `json:"type"`
	Before json.RawMessage `json:"before,omitempty"` // nil where there was no value
	After  json.RawMessage `json:"after,omitempty"`
	// Writers are those who wrote the field between Base and To, in the order in which
	// their writes were folded. None means that a new turn reset it, or that it differs
	// only because From is on another branch.
	Writers []Writer `json:"writers,omitempty"`
}

// Writer is a task that wrote a field, or an edit by hand.
type Writer struct {
	Checkpoint uint64            `json:"checkpoint"`
	Source     checkpoint.Source `json:"source"`
	Step       int               `json:"step"`
	Node       string            `json:"node,omitempty"` // "" for an input, or an edit that is no node's
}

// Diff compares the state of the thread at two commits, in either order and on any branches, and
// names who wrote what differs.
func (t StoredThread[S]) Diff(ctx context.Context, from, to uint64) (Difference, error) {
	return t.stored.diff(ctx, from, to)
}

func (t programThread) diff(ctx context.Context, from, to uint64) (Difference, error) {
	d := Difference{From: from, To: to}
	var before, after state.View
	var missing, err error
	schedule.AtOnce(
		func() { before, _, missing = t.load(ctx, from) },
		func() { after, _, err = t.load(ctx, to) },
	)
	if err := cmp.Or(missing, err); err != nil {
		return d, err
	}
	if err := d.walk(ctx, t.p.cfg.Store, t.key); err != nil {
		return d, err
	}
	if d.Changes, err = changesOf(t.p, before, after); err != nil {
		return d, err
	}
	for i := range d.Changes {
		d.Changes[i].Writers = d.writers(d.Changes[i].Field)
	}
	return d, d.decide(ctx, t.p.cfg.Store, t.key)
}

// changesOf returns the fields that differ between two states of p.
func changesOf(p *program, before, after state.View) (all []Change, err error) {
	for i, f := range p.schema.Fields() {
		c := Change{Field: f.Name, Type: f.Type}
		if c.Before, err = storedJSON(before.Channels[i]); err == nil {
			c.After, err = storedJSON(after.Channels[i])
		}
		if err != nil {
			return nil, fmt.Errorf("graph %q: field %q: %w", p.name, f.Name, err)
		}
		if !bytes.Equal(c.Before, c.After) {
			all = append(all, c)
		}
	}
	return all, nil
}

// storedJSON returns a channel's value as it is stored, nil if it has none.
func storedJSON(c state.Channel) (json.RawMessage, error) {
	v, ok := c.Stored()
	if !ok {
		return nil, nil
	}
	return json.Marshal(v)
}

// walk finds the common base of From and To and the commits from there to To.
func (d *Difference) walk(ctx context.Context, store checkpoint.Store, key checkpoint.Key) error {
	a, b := d.From, d.To // the newest commits of each side that are not passed yet
	for p, err := range History(ctx, store, key, checkpoint.Query{Before: max(a, b) + 1}) {
		if err != nil {
			return err
		}
		a, b = min(a, p.Checkpoint), min(b, p.Checkpoint) // what is in between was pruned
		if a == b {
			break
		}
		switch p.Checkpoint {
		case a:
			a = p.parent()
		case b:
			b = p.parent()
			d.Path = append(d.Path, p)
		}
	}
	d.Base = min(a, b)
	slices.Reverse(d.Path)
	return nil
}

// parent returns the number of the commit that p goes on from, if it is still there.
func (p CommitInfo) parent() uint64 {
	if p.Parent != 0 {
		return p.Parent
	}
	return p.Checkpoint - 1
}

func (d *Difference) writers(field string) (all []Writer) {
	for _, p := range d.Path {
		for _, r := range p.Ran {
			for _, w := range r.Wrote {
				if w == field {
					all = append(all, Writer{p.Checkpoint, p.Source, p.Step, r.Node})
				}
			}
		}
	}
	return all
}

// StoredReader reads threads of any graph, without the graph. Values are as they are stored: see
// [checkpoint.ReadState]. A [StoredThread] has them in the types of its graph.
type StoredReader struct {
	Store checkpoint.Store
	// Channels are those outside package state that fields may have been stored by, by their Go
	// types, such as message.Log.
	Channels map[state.Kind]func() state.Channel
}

// State returns the values of a thread at a commit, or those of a subgraph on it, if the key has
// its Namespace; 0 is the newest commit.
func (r StoredReader) State(ctx context.Context, key checkpoint.Key, at uint64) ([]checkpoint.StoredValue, CommitInfo, error) {
	snap, p, err := loadCommit(ctx, r.Store, key, at)
	if err != nil {
		return nil, p, err
	}
	values, err := checkpoint.ReadState(snap, r.Channels)
	return values, p, err
}

// Diff compares a thread at two commits, as [StoredThread.Diff] does. Type of a [Change] is "", and
// a value that is unknown is left out.
func (r StoredReader) Diff(ctx context.Context, key checkpoint.Key, from, to uint64) (Difference, error) {
	d := Difference{From: from, To: to}
	before, _, err := r.State(ctx, key, from)
	if err != nil {
		return d, err
	}
	after, _, err := r.State(ctx, key, to)
	if err != nil {
		return d, err
	}
	if err := d.walk(ctx, r.Store, key); err != nil {
		return d, err
	}
	names := make([]string, 0, len(after))
	for _, v := range slices.Concat(after, before) {
		if !slices.Contains(names, v.Field) {
			names = append(names, v.Field)
		}
	}
	for _, name := range names {
		c := Change{Field: name, Before: valueOf(before, name), After: valueOf(after, name)}
		if !bytes.Equal(c.Before, c.After) {
			c.Writers = d.writers(name)
			d.Changes = append(d.Changes, c)
		}
	}
	return d, d.decide(ctx, r.Store, key)
}

func valueOf(values []checkpoint.StoredValue, field string) json.RawMessage {
	for _, v := range values {
		if v.Field == field {
			return v.Value
		}
	}
	return nil
}
