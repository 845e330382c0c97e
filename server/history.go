package server

import (
	"encoding/json"
	"errors"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/wire"
)

// historyRequest is the body of a request for the history of a thread.
type historyRequest struct {
	page
	Before     json.RawMessage  `json:"before"`
	Metadata   wire.Object      `json:"metadata"`
	Checkpoint *checkpointInput `json:"checkpoint"`
}

func getHistory(c *call) error {
	var q historyRequest
	query := c.URL.Query()
	if query.Get("limit") != "" {
		limit, err := c.number("limit", defaultPage)
		if err != nil {
			return err
		}
		q.Limit = &limit
	}
	if before := query.Get("before"); before != "" {
		q.Before, _ = json.Marshal(before) // of a string
	}
	q.Select = query["select"]
	return c.history(q)
}

func searchHistory(c *call) error {
	var q historyRequest
	if err := c.decode(&q); err != nil {
		return err
	}
	return c.history(q)
}

// before returns the id of a checkpoint: a string, an object, or a configuration.
func (q historyRequest) before() (id string, err error) {
	if absent(q.Before) {
		return "", nil
	}
	var at struct {
		ID           string          `json:"checkpoint_id"`
		Configurable checkpointInput `json:"configurable"`
	}
	if json.Unmarshal(q.Before, &id) != nil {
		if json.Unmarshal(q.Before, &at) != nil {
			return "", invalid("before must be a checkpoint or its id")
		}
		if id = at.ID; id == "" {
			id = at.Configurable.ID
		}
	}
	if _, err := wire.ParseUUID(id); err != nil {
		return "", invalid("before must be a checkpoint or its id (got %.100q)", id)
	}
	return id, nil
}

// history answers with the states of a thread, the newest first.
func (c *call) history(q historyRequest) error {
	t, err := c.shownThread("read")
	if err == nil {
		t, err = q.Checkpoint.thread(c.Context(), t)
	}
	if err != nil {
		return err
	}
	list, err := c.states(t, q)
	if err != nil {
		return err
	}
	return c.answer(list)
}

// states returns the states of a thread that a request asks for, the newest first.
func (c *call) states(t shownThread, q historyRequest) (list []json.RawMessage, err error) {
	list = []json.RawMessage{}
	limit, _, err := q.check(c.server.limits.Page)
	if err != nil {
		return nil, err
	}
	want, err := wanted(q.Metadata)
	if err != nil {
		return nil, err
	}
	text, err := q.before()
	if err != nil {
		return nil, err
	}
	if !t.ran() {
		return list, nil
	}
	page, skip := checkpoint.Query{}, 0
	var next *wire.Snapshot
	if text != "" {
		s, id, err := t.find(c.Context(), text)
		if err != nil {
			return nil, err
		}
		if page.Before = s.Info.Checkpoint; id.Phase == 1 && wire.Phases(s.Info) == 2 {
			page.Before, skip = s.Info.Checkpoint+1, 1 // phase 0 of the same commit
		} else {
			next = &s
		}
	}
	if err := t.load(c.Context()); err != nil {
		return nil, err
	}
	view := t.view(c.Context())
	for s, err := range t.stored().States(c.Context(), page) {
		if errors.Is(err, graph.ErrUnknownThread) {
			break
		}
		if err != nil {
			return nil, err
		}
		now := wire.Snapshot{Info: s.CommitInfo, State: s.State}
		if next != nil && !follows(next.Info, now.Info) {
			next = nil
		}
		states, err := view.States(now, next)
		if err != nil {
			return nil, err
		}
		for _, state := range states[skip:] {
			if !matchMetadata(state.Metadata, want, nil) || len(list) == limit {
				continue
			}
			data, err := encode(state)
			if err != nil {
				return nil, err
			}
			list = append(list, selectedState(data, q.Select))
		}
		if len(list) == limit {
			break
		}
		skip, next = 0, &now
	}
	return list, nil
}
