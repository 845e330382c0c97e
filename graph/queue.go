package graph

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// inputs is the namespace in which inputs wait. No node's namespace begins like it.
const inputs = "+inputs"

// waiting is the state of that chain: each commit is one input.
type waiting struct {
	Input state.Value[json.RawMessage] `json:"input"`
}

var waitingSchema, _ = state.SchemaOf[waiting]()

// inputQueue reads and writes the inputs of a thread that wait for their turns. Each is a commit of
// a chain of its own; which of them have begun a turn is in the commits of the root.
type inputQueue struct {
	threadReader
	schema *state.Schema // of the inputs
	taken  uint64        // the newest input that has begun a turn
}

func newInputQueue(r *run) inputQueue { return inputQueue{r.thread(), r.schema, r.taken} }

// hasNext reports whether an input waits.
func (q inputQueue) hasNext() (bool, error) {
	_, err := q.store.Load(q.ctx, q.key(inputs), q.taken+1)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// find returns the writes of the newest input that a query selects, which waits or has waited;
// nil if there is none.
func (q inputQueue) find(query checkpoint.Query) (json.RawMessage, error) {
	query.Limit = 1
	for snap, err := range q.store.History(q.ctx, q.key(inputs), query) {
		if err == nil {
			snap, err = q.store.Load(q.ctx, q.key(inputs), snap.Seq)
		}
		if err != nil {
			return nil, err
		}
		return writesIn(snap)
	}
	return nil, nil
}

// writesIn returns the writes of an input that waits.
func writesIn(snap checkpoint.Snapshot) (json.RawMessage, error) {
	_, v, err := checkpoint.Restore(snap, waitingSchema)
	if err != nil {
		return nil, err
	}
	return v.State.(*waiting).Input.Get(), nil
}

// encodeInput returns the writes of an input in the form in which it waits.
func encodeInput(s *state.Schema, input state.View) (json.RawMessage, error) {
	writes, err := writesOf(s, input)
	if err != nil {
		return nil, fmt.Errorf("the input: %w", err)
	}
	return json.Marshal(writes)
}

// next returns the input that has waited longest, and its number; 0 means that none waits.
func (q inputQueue) next() (input state.View, number uint64, err error) {
	snap, err := q.store.Load(q.ctx, q.key(inputs), q.taken+1)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		return input, 0, nil
	case err != nil:
		return input, 0, err
	}
	data, err := writesIn(snap)
	if err != nil {
		return input, 0, err
	}
	input = q.schema.Blank()
	var writes []fieldWrite
	if err = json.Unmarshal(data, &writes); err == nil {
		err = restoreWrites(q.schema, input, writes)
	}
	if err != nil {
		return input, 0, fmt.Errorf("the input that waits as number %d: %w", snap.Seq, err)
	}
	return input, snap.Seq, nil
}

// add appends an input of r to those that wait.
func (q inputQueue) add(r *run, input state.View) error {
	data, err := encodeInput(q.schema, input)
	if err != nil {
		return err
	}
	rec := checkpoint.Record{Graph: r.name, Program: r.hash, Run: r.session.id, Origin: r.origin,
		Time: r.cfg.Now().UTC(), Source: checkpoint.Input, Metadata: r.metadata()}
	for {
		chain, err := checkpoint.Open(q.ctx, q.store, q.key(inputs), waitingSchema)
		if err != nil {
			return err
		}
		chain.Fence = r.journal.Chain.Fence
		if err := q.commit(chain, r.session.writer, rec, data); !errors.Is(err, checkpoint.ErrConflict) { // with a run that added one too
			return err
		}
	}
}

// commit adds an input to the chain, in a commit with this id. Where the store has lost the end of
// it, empty ones come first, up to the number of the one that was taken last: what has a smaller
// number counts as taken.
func (q inputQueue) commit(chain *checkpoint.Chain, id string, rec checkpoint.Record, data []byte) error {
	for chain.Head() < q.taken {
		lost := rec
		filler := fmt.Sprintf("%s.lost.%d", id, chain.Head()+1)
		if err := chain.Commit(q.ctx, filler, &lost, chain.State, []bool{true}); err != nil {
			return err
		}
	}
	v := waitingSchema.Blank()
	v.State.(*waiting).Input.Set(data)
	if err := chain.State.Channels[0].Fold(v.Channels); err != nil {
		return err
	}
	return chain.Commit(q.ctx, id, &rec, chain.State, []bool{true})
}
