package server

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/wire"
)

// shownThread returns the thread of the path as its graph shows it.
func (c *call) shownThread(action string) (shownThread, error) {
	t, err := c.thread(action)
	return c.shownOf(t), err
}

// shownOf returns a thread as its graph shows it: that of its last run, or the only graph of the
// server. The graph is "" for a thread that never ran where there are several.
func (c *call) shownOf(t thread) shownThread {
	var graphID, assistantID string
	_ = json.Unmarshal(t.Metadata[wire.MetadataGraph], &graphID) // clients may write anything there
	_ = json.Unmarshal(t.Metadata[wire.MetadataAssistant], &assistantID)
	if graphs := c.server.graphs(); graphs[graphID] == nil {
		graphID, assistantID = "", ""
		if len(graphs) == 1 {
			for id := range graphs {
				graphID, assistantID = id, wire.AssistantUUID(id)
			}
		}
	}
	return c.server.shown(t.ThreadID, graphID, assistantID)
}

// valuesOf returns the newest state of a thread; nil if it has none.
func (c *call) valuesOf(t thread) (json.RawMessage, error) {
	shown := c.shownOf(t)
	if shown.graphID == "" {
		return nil, nil
	}
	s, err := shown.commit(c.Context(), 0)
	if errors.Is(err, graph.ErrUnknownThread) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return shown.view(c.Context(), "").Values(s.State)
}

// getState answers with the newest state, or that at the checkpoint of the path.
func getState(c *call) error {
	t, err := c.shownThread("read")
	if err != nil {
		return err
	}
	if _, err := c.flag("subgraphs"); err != nil {
		return err
	}
	return c.answerState(t, c.PathValue("checkpoint_id"))
}

// postCheckpoint answers with the state at the checkpoint of the body.
func postCheckpoint(c *call) error {
	var q struct {
		Checkpoint checkpointInput `json:"checkpoint"`
	}
	if err := c.decode(&q); err != nil {
		return err
	}
	t, err := c.shownThread("read")
	if err != nil {
		return err
	}
	if err := q.Checkpoint.check(); err != nil {
		return err
	}
	return c.answerState(t, q.Checkpoint.ID)
}

// check returns the error of a checkpoint that is not one of the thread itself.
func (i *checkpointInput) check() error {
	if i != nil && i.Namespace != "" {
		return invalid("checkpoint_ns must be empty: only states of the thread itself can be read")
	}
	return nil
}

// answerState answers with the state at a checkpoint; "" is the newest.
func (c *call) answerState(t shownThread, id string) error {
	state, err := c.stateAt(t, id)
	if err != nil {
		return err
	}
	data, err := encode(state)
	if err != nil {
		return err
	}
	return c.answer(selectedState(data, c.URL.Query()["select"]))
}

func (c *call) stateAt(t shownThread, id string) (wire.ThreadState, error) {
	if id == "" {
		if t.graphID == "" {
			return wire.EmptyState(), nil
		}
		s, err := t.commit(c.Context(), 0)
		switch {
		case errors.Is(err, graph.ErrUnknownThread):
			return wire.EmptyState(), nil
		case err != nil:
			return wire.ThreadState{}, err
		}
		return t.view(c.Context(), "").State(s, 1, nil)
	}
	if _, err := wire.ParseUUID(id); err != nil {
		return wire.ThreadState{}, invalid("checkpoint_id must be a UUID (got %.100q)", id)
	}
	if t.graphID == "" {
		return wire.ThreadState{}, noCheckpoint(id)
	}
	s, found, err := t.find(c.Context(), id)
	if err != nil {
		return wire.ThreadState{}, err
	}
	next, err := t.next(c.Context(), s.Info)
	if err != nil {
		return wire.ThreadState{}, err
	}
	return t.view(c.Context(), "").State(s, found.Phase, next)
}

// selectedState returns the fields of a state that a client asks for: fields of the object, and
// values.NAME for one field of the values.
func selectedState(data json.RawMessage, fields []string) json.RawMessage {
	if len(fields) == 0 {
		return data
	}
	whole, parts := []string{}, []string{}
	for _, f := range fields {
		if name, ok := strings.CutPrefix(f, "values."); ok {
			parts = append(parts, name)
			whole = append(whole, "values")
		} else {
			whole = append(whole, f)
		}
	}
	data = selected(data, whole)
	if len(parts) == 0 || slices.Contains(fields, "values") {
		return data
	}
	var all wire.Object
	if json.Unmarshal(data, &all) != nil {
		return data
	}
	all["values"] = selected([]byte(gjson.GetBytes(data, "values").Raw), parts)
	out, err := encode(all)
	if err != nil {
		return data
	}
	return out
}
