package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ContextEntry is one piece of knowledge. It is a value: to change it, put another one.
type ContextEntry struct {
	// Fields is a JSON object. It is a string, so it is immutable.
	Fields string
	Meta   ContextMeta
}

// ContextMeta is the origin of an entry. All fields are optional.
type ContextMeta struct {
	// Objective is the objective of the step that wrote the entry.
	Objective string `json:"task_objective,omitempty"`
	// Capability is the name of the capability that wrote it.
	Capability string `json:"capability,omitempty"`
	// Time is the time of the write.
	Time time.Time `json:"time,omitzero"`
	// Run is the id of the run that wrote it.
	Run string `json:"run,omitempty"`
	// Replaced names the capabilities whose writes to the same entry in the same superstep were
	// lost; "?" means one without a name.
	Replaced []string `json:"replaced,omitempty"`
}

func (m ContextMeta) equal(o ContextMeta) bool {
	return m.Objective == o.Objective && m.Capability == o.Capability && m.Run == o.Run &&
		m.Time.Equal(o.Time) && slices.Equal(m.Replaced, o.Replaced)
}

func (e ContextEntry) equal(o ContextEntry) bool { return e.Fields == o.Fields && e.Meta.equal(o.Meta) }

// over returns e with the capability of lost in Replaced.
func (e ContextEntry) over(lost ContextEntry) ContextEntry {
	name := lost.Meta.Capability
	if name == "" {
		name = "?"
	}
	e.Meta.Replaced = slices.Concat(e.Meta.Replaced, lost.Meta.Replaced, []string{name})
	return e
}

// clean returns the stored form of the entry: compact fields sorted by name, and the time in UTC.
func (e ContextEntry) clean() (ContextEntry, error) {
	if err := errors.Join(CheckText(e.Fields), CheckText(e.Meta)); err != nil {
		return e, fmt.Errorf("%w: %w", ErrContextFields, err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(e.Fields), &object); err != nil {
		return e, fmt.Errorf("%w: %w", ErrContextFields, err)
	}
	if _, taken := object["_meta"]; taken || object == nil {
		return e, ErrContextFields
	}
	e.Meta.Replaced = slices.Clone(e.Meta.Replaced)
	e.Meta.Time = e.Meta.Time.Round(0).UTC()
	if _, err := json.Marshal(e.Meta); err != nil {
		return e, fmt.Errorf("%w: %w", ErrContextFields, err)
	}
	data, err := json.Marshal(object)
	e.Fields = string(data)
	return e, err
}

// MarshalJSON returns the fields, with the metadata, if any, in the member "_meta".
func (e ContextEntry) MarshalJSON() ([]byte, error) {
	object := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(e.Fields), &object); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrContextFields, err)
	}
	if !e.Meta.equal(ContextMeta{}) {
		meta, err := json.Marshal(e.Meta)
		if err != nil {
			return nil, err
		}
		object["_meta"] = meta
	}
	return json.Marshal(object)
}

// UnmarshalJSON decodes the result of MarshalJSON.
func (e *ContextEntry) UnmarshalJSON(data []byte) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return fmt.Errorf("%w: %s", ErrContextFields, brief(data))
	}
	*e = ContextEntry{}
	if meta, ok := object["_meta"]; ok {
		if err := json.Unmarshal(meta, &e.Meta); err != nil {
			return fmt.Errorf("_meta: %w", err)
		}
		delete(object, "_meta")
	}
	fields, err := json.Marshal(object)
	e.Fields = string(fields)
	return err
}

// brief returns the beginning of data, for an error.
func brief(data []byte) string {
	if len(data) > 40 {
		return string(data[:40]) + "…"
	}
	return string(data)
}
