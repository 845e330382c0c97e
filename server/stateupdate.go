package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/wire"
)

// stateRequest is the body of a request that changes a state.
type stateRequest struct {
	Values       json.RawMessage  `json:"values"`
	AsNode       *string          `json:"as_node"`
	Checkpoint   *checkpointInput `json:"checkpoint"`
	CheckpointID string           `json:"checkpoint_id"`
}

// edit returns the edit of the request.
func (q stateRequest) edit(messages []string) (e graph.UntypedEdit, err error) {
	if q.AsNode != nil {
		switch e.As = *q.AsNode; e.As {
		case "__start__":
			e.As = graph.Start
		case "__end__", "END":
			e.As = graph.End
		}
	}
	e.Writes, err = readFields(q.Values, messages)
	return e, err
}

// releaseTime is how long an update waits for the lease of a thread, whose last run has just ended.
const releaseTime = 2 * time.Second

// updateState commits what the body writes.
func updateState(c *call) error {
	var q stateRequest
	if err := c.decode(&q); err != nil {
		return err
	}
	t, err := c.shownThread("update")
	if err != nil {
		return err
	}
	if err := q.Checkpoint.check(); err != nil {
		return err
	}
	if t.graphID == "" {
		return invalid("the thread must have run, or have a graph_id in its metadata")
	}
	e, err := q.edit(c.server.config.Messages[t.graphID])
	if err != nil {
		return err
	}
	busy := wire.Errorf(wire.CodeThreadBusy, "Thread with ID %s must not be busy", t.thread)
	switch unfinished, err := c.server.queue.Unfinished(c.Context(), t.thread); {
	case err != nil:
		return err
	case len(unfinished) > 0:
		return busy
	}
	o := graph.RunOptions{Thread: t.thread, By: c.who.Name, Lease: checkpoint.HoldOptions{Policy: checkpoint.Wait}}
	if id := q.CheckpointID; id != "" || q.Checkpoint != nil && q.Checkpoint.ID != "" {
		if id == "" {
			id = q.Checkpoint.ID
		}
		s, _, err := t.find(c.Context(), id)
		if err != nil {
			return err
		}
		o.At = s.Info.Checkpoint
	}
	ctx, cancel := context.WithTimeout(c.Context(), releaseTime)
	defer cancel()
	res, err := c.server.config.Graphs[t.graphID].Edit(ctx, [][]graph.UntypedEdit{{e}}, o)
	switch {
	case errors.Is(err, checkpoint.ErrOwned), ctx.Err() != nil && c.Context().Err() == nil:
		return busy
	case errors.Is(err, graph.ErrEdit) && q.AsNode != nil:
		return wire.Errorf(wire.CodeUnknownNode, "as_node must be a node of the graph (got %.100q)", *q.AsNode)
	case err != nil:
		return updateFault(err)
	}
	if err := c.updated(t.thread, res); err != nil {
		return err
	}
	return c.answerCheckpoint(t, res.Checkpoint)
}

// updateFault returns the error of an edit whose values do not fit the state.
func updateFault(err error) error {
	if _, hidden := faultOf(err); !hidden || errors.Is(err, checkpoint.ErrUnavailable) {
		return err
	}
	return invalid("the values must fit the state of the graph: %s", wire.RunErrorOf(err, 0).Message)
}

// updated stores what an edit has left open in the record of the thread.
func (c *call) updated(threadID string, res graph.Result[json.RawMessage]) error {
	_, _, err := c.server.threads.change(c.Context(), threadID, func(t *thread) error {
		if t.Status != wire.ThreadBusy {
			t.Status, t.Interrupts, t.Error = wire.ThreadIdle, nil, nil
			if len(res.Interrupts) > 0 {
				t.Status, t.Interrupts = wire.ThreadInterrupted, wire.ThreadInterrupts(res.Interrupts)
			}
		}
		t.UpdatedAt = wire.At(c.server.now())
		t.StateUpdatedAt = t.UpdatedAt
		return nil
	})
	return err
}

// answerCheckpoint answers with the ids of a commit.
func (c *call) answerCheckpoint(t shownThread, number uint64) error {
	s, err := t.commit(c.Context(), number)
	if err != nil {
		return err
	}
	type ids struct {
		Thread    string `json:"thread_id"`
		Namespace string `json:"checkpoint_ns"`
		ID        string `json:"checkpoint_id"`
	}
	at := ids{t.thread, "", wire.CheckpointOf(s.Info.Checkpoint, 1, s.Info.Time).String()}
	data, err := encode(struct {
		Checkpoint   ids    `json:"checkpoint"`
		Configurable ids    `json:"configurable"`
		ID           string `json:"checkpoint_id"`
	}{at, at, at.ID})
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, "application/json", data)
}
