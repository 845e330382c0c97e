package graph

import (
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/step"
	"github.com/weftrun/weft/state"
)

// result is the stored form of what a finished task did.
type result struct {
	Writes []fieldWrite     `json:"writes,omitempty"`
	Ways   []checkpoint.Way `json:"ways,omitempty"`
	Sends  []sendResult     `json:"sends,omitempty"`
	// Diverted is true when a handler went elsewhere than the node leads.
	Diverted bool           `json:"diverted,omitempty"`
	Up       *parentCommand `json:"up,omitempty"` // to the parent
	// Try is which try of its step it comes from; see voided.
	Try int `json:"try,omitempty"`
}

type fieldWrite struct {
	Field     string          `json:"field"`
	Overwrite bool            `json:"overwrite,omitempty"`
	Value     json.RawMessage `json:"value"`
	Version   int             `json:"version,omitempty"` // of the field; 0 means 1
}

type sendResult struct {
	Node    string          `json:"node"`
	Payload json.RawMessage `json:"payload"`
	Within  int64           `json:"within,omitempty"` // nanoseconds
}

func (t *task) result() (res result, err error) {
	defer recovered(&err) // of a value that is made into JSON
	res.Diverted, res.Up = t.out.Diverted, t.up
	if res.Writes, err = writesOf(t.run.schema, t.view); err != nil {
		return res, err
	}
	res.Ways = t.ways()
	for _, s := range t.out.Sends {
		name := t.run.nodes[s.Node].name
		payload, err := json.Marshal(s.Payload)
		if err != nil {
			return res, fmt.Errorf("the payload of a Send to %q: %w", name, err)
		}
		res.Sends = append(res.Sends, sendResult{name, payload, s.Within})
	}
	return res, nil
}

// restore makes t a task that has finished with this result.
func (t *task) restore(data []byte) error {
	var res result
	if err := json.Unmarshal(data, &res); err != nil {
		return err
	}
	if err := restoreWrites(t.run.schema, t.view, res.Writes); err != nil {
		return err
	}
	for _, w := range res.Ways {
		if err := t.restoreWay(w); err != nil {
			return err
		}
	}
	for _, s := range res.Sends {
		n, ok := t.run.find(s.Node)
		if !ok || t.run.nodes[n].payload == nil {
			return fmt.Errorf("%w: it sends to %q, which is gone", ErrProgram, s.Node)
		}
		p, err := t.run.nodes[n].payload.decode(s.Payload)
		if err != nil {
			return fmt.Errorf("%w: its payload for %q: %w", ErrProgram, s.Node, err)
		}
		t.out.Sends = append(t.out.Sends, step.Send{Node: n, Payload: p, Within: s.Within})
	}
	t.out.Diverted, t.up, t.settled = res.Diverted, res.Up, true
	return nil
}

// restoreWay brings back one decision. A Send is brought back with its payload.
func (t *task) restoreWay(w checkpoint.Way) error {
	n, ok := end, true
	if w.To != End {
		n, ok = t.run.find(w.To)
	}
	switch {
	case !ok:
		return fmt.Errorf("%w: it goes to %q, which is gone", ErrProgram, w.To)
	case n != end && !w.Send:
		t.out.Goto = append(t.out.Goto, n)
	}
	t.went = append(t.went, decision{node: n, branch: w.Branch, send: w.Send})
	if w.Why != "" {
		t.explain(len(t.went)-1, w.Why)
	}
	return nil
}

// writesOf returns what was written in a view, but what is never stored.
func writesOf(s *state.Schema, v state.View) (writes []fieldWrite, err error) {
	for i, c := range v.Channels {
		if !c.Wrote() {
			continue
		}
		w, f := c.Writes(), fieldWrite{Field: s.Fields()[i].Name}
		if v := s.Fields()[i].Version; v > 1 {
			f.Version = v
		}
		if f.Overwrite = w.Overwrite; w.Value == nil {
			continue
		}
		if f.Value, err = json.Marshal(w.Value); err != nil {
			return nil, fmt.Errorf("field %q: %w", f.Field, err)
		}
		writes = append(writes, f)
	}
	return writes, nil
}

// restoreWrites brings stored writes into a view.
func restoreWrites(s *state.Schema, v state.View, writes []fieldWrite) error {
	for _, w := range writes {
		i, err := w.fieldOf(s)
		if err != nil {
			return err
		}
		dec := func(into any) error { return json.Unmarshal(w.Value, into) }
		if err := v.Channels[i].RestoreWrites(w.Overwrite, dec); err != nil {
			return fmt.Errorf("%w: field %q: %w", ErrProgram, w.Field, err)
		}
	}
	return nil
}
