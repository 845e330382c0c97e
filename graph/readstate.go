package graph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// StoredReader reads threads of any graph, without the graph. Values are as they are stored: see
// [checkpoint.ReadState]. [Graph.State] and [Graph.Diff] have them in the types of the graph.
type StoredReader struct {
	Store checkpoint.Store
	// Channels are those outside package state that fields may have been stored by, by their Go
	// types, such as message.Log.
	Channels map[state.Kind]func() state.Channel
}

// State returns the values of a thread at a commit, or those of a subgraph on it, if the key has its
// Namespace; 0 is the newest commit.
func (r StoredReader) State(ctx context.Context, key checkpoint.Key, at uint64) ([]checkpoint.StoredValue, CommitInfo, error) {
	if err := checkpoint.CheckThread(key.Thread); err != nil {
		return nil, CommitInfo{}, err
	}
	snap, err := r.Store.Load(ctx, key, at)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil, CommitInfo{}, unknown(key, at)
	}
	if err != nil {
		return nil, CommitInfo{}, err
	}
	p, err := commitInfoOf(snap)
	if err != nil {
		return nil, p, err
	}
	values, err := checkpoint.ReadState(snap, r.Channels)
	return values, p, err
}

// Diff compares a thread at two commits, as [Graph.Diff] does. Type of a [Change] is "", and a value
// that is unknown is left out.
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
