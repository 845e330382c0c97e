package graph

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// OnOpenQuestions says what Invoke does on a thread whose questions are open.
type OnOpenQuestions string

const (
	// Refuse returns ErrWaiting and changes nothing. It is the default.
	Refuse OnOpenQuestions = ""
	// Discard drops the questions with the rest of the turn's unfinished work.
	Discard OnOpenQuestions = "discard"
	// Queue stores the input and returns with the Status Queued. It begins a turn of its
	// own when the turns before it have ended: in the call of Resume that ends them. While
	// somebody else works on the thread, Invoke waits for it; see RunOptions.Lease.
	Queue OnOpenQuestions = "queue"
)

// Queued is the Status of an Invoke whose input waits for its turn.
const Queued Status = "queued"

// inputs is the namespace in which inputs wait. No node's namespace begins like it.
const inputs = "+inputs"

// waiting is the state of that chain: each commit is one input.
type waiting struct {
	Input state.Value[json.RawMessage] `json:"input"`
}

var waitingSchema, _ = state.SchemaOf[waiting]()

// enqueue appends an input to those that wait.
func (r *run) enqueue(input state.View) error {
	writes, err := writesOf(r.schema, input)
	if err != nil {
		return fmt.Errorf("graph %q: input: %w", r.name, err)
	}
	data, err := json.Marshal(writes)
	if err != nil {
		return err
	}
	for {
		chain, err := checkpoint.Open(r.ctx, r.cfg.Store, r.inputsKey(), waitingSchema)
		if err != nil {
			return r.fail(err)
		}
		chain.Fence = r.journal.Chain.Fence
		if err = r.appendInput(chain, data); err == nil {
			r.goal = stayQueued
			return nil
		}
		if !errors.Is(err, checkpoint.ErrConflict) { // somebody else put one there first
			return r.fail(err)
		}
	}
}

// appendInput adds an input to the chain of those that wait. Where the store has lost the end of
// it, empty ones come first, up to the number of the one that was taken last: what has a
// smaller number counts as taken.
func (r *run) appendInput(chain *checkpoint.Chain, data []byte) error {
	rec := checkpoint.Record{Graph: r.name, Program: r.hash, Run: r.session.id, Origin: r.origin,
		Time: r.cfg.Now().UTC(), Source: checkpoint.Input, Metadata: r.opts.Metadata}
	for chain.Head() < r.taken {
		lost := rec
		id := fmt.Sprintf("%s.lost.%d", r.session.id, chain.Head()+1)
		if err := chain.Commit(r.ctx, id, &lost, chain.State, []bool{true}); err != nil {
			return err
		}
	}
	v := waitingSchema.Blank()
	v.State.(*waiting).Input.Set(data)
	if err := chain.State.Channels[0].Fold(v.Channels); err != nil {
		return err
	}
	return chain.Commit(r.ctx, r.session.id, &rec, chain.State, []bool{true})
}

// queueUp lets an input wait behind those that wait already although no question is open
// any more: the call goes on with the first of them. It reports whether there are any.
func (r *run) queueUp(input state.View) (bool, error) {
	_, err := r.cfg.Store.Load(r.ctx, r.inputsKey(), r.taken+1)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		return false, nil
	case err != nil:
		return false, r.fail(err)
	}
	if err := r.enqueue(input); err != nil {
		return false, err
	}
	r.goal = runTurns
	return true, nil
}

func (r *run) inputsKey() checkpoint.Key {
	return checkpoint.Key{Thread: r.opts.Thread, Namespace: inputs}
}
