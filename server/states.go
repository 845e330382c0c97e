package server

import (
	"context"
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
	if err != nil {
		return shownThread{}, err
	}
	access := useRead
	if action == "update" {
		access = useUpdate
	}
	return c.shownOf(t, access)
}

// graphOfThread returns the ids of a thread's graph and assistant: those of its last run, or of the
// only graph of the server. They are "" for a thread that never ran where the server has several.
func (c *call) graphOfThread(t thread) (graphID, assistantID string) {
	_ = json.Unmarshal(t.Metadata[wire.MetadataGraph], &graphID) // clients may write anything there
	_ = json.Unmarshal(t.Metadata[wire.MetadataAssistant], &assistantID)
	if !c.server.serves(graphID) {
		graphID, assistantID = "", ""
		if ids := c.server.GraphIDs(); len(ids) == 1 {
			graphID, assistantID = ids[0], wire.AssistantUUID(ids[0])
		}
	}
	return graphID, assistantID
}

// shownOf returns a thread as its graph shows it.
func (c *call) shownOf(t thread, access string) (shownThread, error) {
	graphID, assistantID := c.graphOfThread(t)
	return c.server.shown(c.Context(), graphID, Use{access, Settings{
		Configurable: t.Config.Configurable, Assistant: assistantID, Thread: t.ThreadID, Identity: c.who,
	}})
}

// valuesOf returns the newest state of a thread; nil if it has none.
func (c *call) valuesOf(t thread) (json.RawMessage, error) {
	shown, err := c.shownOf(t, useRead)
	if err != nil || !shown.ran() {
		return nil, err
	}
	s, err := shown.commit(c.Context(), 0)
	if errors.Is(err, graph.ErrUnknownThread) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return shown.view(c.Context()).Values(s.State)
}

// getState answers with the newest state, or that at the checkpoint of the path.
func getState(c *call) error {
	t, err := c.shownThread("read")
	if err != nil {
		return err
	}
	whole, err := c.flag("subgraphs")
	if err != nil {
		return err
	}
	if t, err = t.inWire(c.Context(), c.URL.Query().Get("checkpoint_ns")); err != nil {
		return err
	}
	return c.answerState(t, c.PathValue("checkpoint_id"), whole)
}

// postCheckpoint answers with the state at the checkpoint of the body.
func postCheckpoint(c *call) error {
	var q struct {
		Checkpoint *checkpointInput `json:"checkpoint"`
		Subgraphs  flexibleBool     `json:"subgraphs"`
	}
	if err := c.decode(&q); err != nil {
		return err
	}
	t, err := c.shownThread("read")
	if err != nil {
		return err
	}
	if t, err = q.Checkpoint.thread(c.Context(), t); err != nil {
		return err
	}
	id := ""
	if q.Checkpoint != nil {
		id = q.Checkpoint.ID
	}
	return c.answerState(t, id, bool(q.Subgraphs))
}

// flexibleBool is a boolean, which old clients send as a string.
type flexibleBool bool

// UnmarshalJSON reads a boolean, or a string with one.
func (b *flexibleBool) UnmarshalJSON(data []byte) error {
	text := strings.ToLower(strings.Trim(string(data), `"`))
	if text != "true" && text != "false" && text != "null" {
		return invalid("subgraphs must be true or false (got %.100s)", data)
	}
	*b = text == "true"
	return nil
}

// thread returns a thread in the namespace of the checkpoint.
func (i *checkpointInput) thread(ctx context.Context, t shownThread) (shownThread, error) {
	if i == nil {
		return t, nil
	}
	return t.inWire(ctx, i.Namespace)
}

// answerState answers with the state at a checkpoint; "" is the newest. With whole the states of
// subgraphs are in it.
func (c *call) answerState(t shownThread, id string, whole bool) error {
	state, err := c.stateAt(t, id, whole)
	if err != nil {
		return err
	}
	data, err := encode(state)
	if err != nil {
		return err
	}
	return c.answer(selectedState(data, c.URL.Query()["select"]))
}

func (c *call) stateAt(t shownThread, id string, whole bool) (wire.ThreadState, error) {
	if id != "" {
		if _, err := wire.ParseUUID(id); err != nil {
			return wire.ThreadState{}, invalid("checkpoint_id must be a UUID (got %.100q)", id)
		}
	}
	switch {
	case !t.ran() && id != "":
		return wire.ThreadState{}, noCheckpoint(id)
	case !t.ran():
		return wire.EmptyState(), nil
	}
	if err := t.load(c.Context()); err != nil {
		return wire.ThreadState{}, err
	}
	phase := 1
	var s wire.Snapshot
	var next *wire.Snapshot
	var err error
	if id == "" {
		s, err = t.commit(c.Context(), 0)
		if errors.Is(err, graph.ErrUnknownThread) {
			return wire.EmptyState(), nil
		}
	} else {
		var found wire.CheckpointID
		if s, found, err = t.find(c.Context(), id); err == nil {
			phase = found.Phase
			next, err = t.next(c.Context(), s.Info)
		}
	}
	if err != nil {
		return wire.ThreadState{}, err
	}
	parents, err := t.parents(c.Context())
	if err != nil {
		return wire.ThreadState{}, err
	}
	view := t.view(c.Context())
	if whole {
		view = t.whole(c.Context(), s.Info, parents)
	}
	view.Parents = parents
	return view.State(s, phase, next)
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
