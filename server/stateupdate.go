package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
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
func (q stateRequest) edit(fields *fieldReader) (e graph.UntypedEdit, err error) {
	if q.AsNode != nil {
		switch e.As = *q.AsNode; e.As {
		case "__start__":
			e.As = graph.Start
		case "__end__", "END":
			e.As = graph.End
		}
	}
	e.Writes, err = fields.read(q.Values)
	return e, err
}

// releaseTime is how long an update waits for the lease of a thread, whose last run has just ended,
// and releasePause the time between two tries.
const (
	releaseTime  = 2 * time.Second
	releasePause = 5 * time.Millisecond
)

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
	if t, err = q.Checkpoint.thread(c.Context(), t); err != nil {
		return err
	}
	fields := t.graph.reader()
	e, err := q.edit(fields)
	c.reportIgnored(fields)
	if err != nil {
		return err
	}
	o := graph.RunOptions{Namespace: t.namespace}
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
	return c.commitEdits(t, [][]graph.UntypedEdit{{e}}, o)
}

// patchState commits metadata.
func patchState(c *call) error {
	var q struct {
		Metadata wire.Object `json:"metadata"`
	}
	if err := c.decode(&q); err != nil {
		return err
	}
	if err := c.checkMetadata(q.Metadata); err != nil {
		return err
	}
	t, err := c.shownThread("update")
	if err != nil {
		return err
	}
	return c.commitEdits(t, [][]graph.UntypedEdit{{{}}}, graph.RunOptions{Metadata: wire.Labels(q.Metadata)})
}

// commitEdits edits a thread, and answers with the checkpoint.
func (c *call) commitEdits(t shownThread, steps [][]graph.UntypedEdit, o graph.RunOptions) error {
	number, err := c.edit(t, steps, o)
	if err != nil {
		return err
	}
	return c.answerCheckpoint(t, number)
}

// edit edits a thread that is not busy, and returns the number of the last commit.
func (c *call) edit(t shownThread, steps [][]graph.UntypedEdit, o graph.RunOptions) (number uint64, err error) {
	if !t.ran() {
		return 0, invalid("the thread must have run, or have a graph_id in its metadata")
	}
	for _, e := range slices.Concat(steps...) {
		if err := c.checkBlobs(t.thread, e.Writes); err != nil {
			return 0, err
		}
		for _, send := range e.Sends {
			if err := c.checkBlobs(t.thread, send.Payload); err != nil {
				return 0, err
			}
		}
	}
	busy := wire.Errorf(wire.CodeThreadBusy, "Thread with ID %s must not be busy", t.thread)
	switch unfinished, err := c.server.queue.Unfinished(c.Context(), t.thread); {
	case err != nil:
		return 0, err
	case len(unfinished) > 0:
		return 0, busy
	}
	o.Thread, o.By, o.Via = t.thread, c.who.Name, graph.ViaHTTP
	if first := steps[0]; o.At == 0 && (len(first) != 1 || first[0].As != graph.Start) {
		if _, err := c.server.rootOf(c.Context(), t.thread); errors.Is(err, graph.ErrUnknownThread) { // the update is its first
			steps = append([][]graph.UntypedEdit{{{As: graph.Start}}, {{As: graph.End}}}, steps...)
		}
	}
	res, err := t.graph.Edit(c.Context(), steps, o)
	for until := time.Now().Add(releaseTime); errors.Is(err, checkpoint.ErrOwned) && time.Now().Before(until) && c.Context().Err() == nil; {
		await(c.Context(), releasePause) // only for the lease: the edit itself may take longer
		res, err = t.graph.Edit(c.Context(), steps, o)
	}
	switch {
	case errors.Is(err, checkpoint.ErrOwned):
		return 0, busy
	case errors.Is(err, graph.ErrEdit):
		return 0, wire.Errorf(wire.CodeUnknownNode, "as_node must be a node of the graph: %s", wire.RunErrorOf(err, 0).Message)
	case err != nil:
		return 0, updateFault(err)
	}
	return res.Checkpoint, c.updated(t, res)
}

// updateFault returns the error of an edit whose values do not fit the state.
func updateFault(err error) error {
	if _, hidden := faultOf(err); !hidden || errors.Is(err, checkpoint.ErrUnavailable) {
		return err
	}
	return invalid("the values must fit the state of the graph: %s", wire.RunErrorOf(err, 0).Message)
}

// updated stores what an edit has left open in the record of the thread.
func (c *call) updated(t shownThread, res graph.Result[json.RawMessage]) error {
	open := res.Interrupts
	if t.namespace != "" {
		info, err := c.server.rootOf(c.Context(), t.thread)
		if err != nil {
			return err
		}
		open = info.Interrupts
	}
	_, _, err := c.server.threads.change(c.Context(), t.thread, func(t *thread) error {
		switch {
		case t.Status == wire.ThreadBusy:
		case len(open) > 0:
			t.Status, t.Interrupts, t.Error = wire.ThreadInterrupted, wire.ThreadInterrupts(open), nil
		case t.Status != wire.ThreadInterrupted || res.Status != graph.Pending: // else it still waits at a breakpoint
			t.Status, t.Interrupts, t.Error = wire.ThreadIdle, nil, nil
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
	at := ids{t.thread, wire.NamespaceToWire(t.namespace), wire.CheckpointOf(s.Info.Checkpoint, 1, s.Info.Time).String()}
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
