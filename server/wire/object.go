package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// object writes a JSON object whose members have an order. It keeps the first error.
type object struct {
	b   []byte
	err error
}

func (o *object) field(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		if o.err == nil {
			o.err = err
		}
		return
	}
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	key, _ := json.Marshal(name) // of a string
	o.b = append(append(append(o.b, key...), ':'), data...)
}

// fields writes members by name.
func (o *object) fields(all map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		o.field(name, all[name])
	}
}

func (o *object) end() (json.RawMessage, error) {
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	}
	return append(o.b, '}'), o.err
}

// isNull reports whether data is missing or null.
func isNull(data json.RawMessage) bool {
	data = bytes.TrimSpace(data)
	return len(data) == 0 || string(data) == "null"
}

// isObject reports whether data is a JSON object.
func isObject(data json.RawMessage) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && data[0] == '{' && json.Valid(data)
}

// members returns the members of a JSON object, or nil.
func members(data json.RawMessage) (all map[string]json.RawMessage) {
	if isObject(data) {
		_ = json.Unmarshal(data, &all)
	}
	return all
}

// text returns a JSON string, or "".
func text(data json.RawMessage) (s string) {
	_ = json.Unmarshal(data, &s)
	return s
}

// eachMember calls f for each member of a JSON object, in their order.
func eachMember(data json.RawMessage, f func(name string, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return fmt.Errorf("wire: a state must be a JSON object (got %.40s)", data)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		key, _ := name.(string) // names of members are strings
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}
