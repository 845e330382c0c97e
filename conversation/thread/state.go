package thread

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/internal/values"
)

// Thread is the record of a thread.
type Thread[S any] struct {
	ID     string
	Config Config
	State  *State[S] // nil until the agent has set one
}

// State is the state of an agent. As JSON it is an object with the fields data and version,
// and those of Ext beside them.
type State[S any] struct {
	Data *S // nil for none; numbers in an S of type any are json.Number
	// Version counts the saves, from 1. In a state that is given to SetState it is one more
	// than that of the state it was made from, or 0 to be saved whatever is stored.
	Version uint64
	// Ext are other fields, kept as they are. They are not called data or version.
	Ext map[string]json.RawMessage
}

// Next returns what is to follow a state: with other data, the next version, and the same
// other fields. Of nil it is the first state.
func (s *State[S]) Next(data S) *State[S] {
	if s == nil {
		return &State[S]{Data: &data, Version: 1}
	}
	return &State[S]{Data: &data, Version: s.Version + 1, Ext: s.Ext}
}

// MarshalJSON implements json.Marshaler.
func (s State[S]) MarshalJSON() ([]byte, error) {
	fields := map[string]any{}
	for name, v := range s.Ext {
		if name == "data" || name == "version" {
			return nil, fmt.Errorf("%w: Ext has a field %s", ErrState, name)
		}
		fields[name] = v
	}
	if s.Data != nil {
		fields["data"] = s.Data
	}
	if s.Version != 0 {
		fields["version"] = s.Version
	}
	return json.Marshal(fields)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *State[S]) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	var read State[S]
	if v, ok := fields["data"]; ok {
		d := json.NewDecoder(bytes.NewReader(v))
		d.UseNumber()
		if err := d.Decode(&read.Data); err != nil {
			return fmt.Errorf("%w: data: %w", ErrState, err)
		}
	}
	if v, ok := fields["version"]; ok {
		if err := json.Unmarshal(v, &read.Version); err != nil {
			return fmt.Errorf("%w: version: %w", ErrState, err)
		}
	}
	delete(fields, "data")
	delete(fields, "version")
	if len(fields) > 0 {
		read.Ext = fields
	}
	*s = read
	return nil
}

// clone returns a state that shares nothing with s, as a store would give it back.
func (s *State[S]) clone() (*State[S], error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	var c *State[S]
	err = json.Unmarshal(data, &c)
	return c, err
}

// treeOf returns what a value says, to be compared with values.Equal.
func treeOf(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	return values.Decode(data)
}
