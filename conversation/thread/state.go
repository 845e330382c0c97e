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

// State is the state of an agent. Its JSON is an object with the fields data and version and the
// fields of Ext.
type State[S any] struct {
	Data *S // nil for none; numbers in an S of type any are json.Number
	// Version counts the saves, from 1. SetState expects the version of the stored state plus one,
	// or 0 to replace any stored state.
	Version uint64
	// Ext has other fields, stored unchanged. Their names must not be data or version.
	Ext map[string]json.RawMessage
}

// Next returns the state after s: with new data, the next version, and the same other fields. The
// next of nil is the first state.
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

// clone returns a deep copy of s, as a store would return it.
func (s *State[S]) clone() (*State[S], error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	var c *State[S]
	err = json.Unmarshal(data, &c)
	return c, err
}

// treeOf returns a value in a form for values.Equal.
func treeOf(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	return values.Decode(data)
}
