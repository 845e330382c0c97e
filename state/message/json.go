package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// object writes a JSON object field by field. The first error stays.
type object struct {
	b   []byte
	err error
}

func (o *object) field(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		o.fail(name, err)
		return
	}
	o.raw(name, data)
}

func (o *object) fail(name string, err error) {
	if o.err == nil {
		o.err = fmt.Errorf("%s: %w", name, err)
	}
}

func (o *object) raw(name string, data []byte) {
	start := byte(',')
	if o.b == nil {
		start = '{'
	}
	key, _ := json.Marshal(name)
	o.b = append(append(append(append(o.b, start), key...), ':'), data...)
}

// text writes a string unless it is empty.
func (o *object) text(name, s string) {
	if s != "" {
		o.field(name, s)
	}
}

// fieldOf writes a slice unless it is empty.
func fieldOf[T any](o *object, name string, items []T) {
	if len(items) > 0 {
		o.field(name, items)
	}
}

// content writes parts: as a string where they are one plain text, not at all where
// they say nothing.
func (o *object) content(parts []Part) {
	switch {
	case silent(parts):
	case len(parts) == 1 && parts[0].plain():
		o.field("content", parts[0].Text)
	default:
		o.field("content", parts)
	}
}

// close writes the fields that are not known, by name, and the end.
func (o *object) close(extra map[string]json.RawMessage) ([]byte, error) {
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		o.field(name, extra[name])
	}
	if o.err != nil {
		return nil, o.err
	}
	if o.b == nil {
		return []byte("{}"), nil
	}
	return append(o.b, '}'), nil
}

// fields are the fields of a JSON object that were not taken yet. The errors of all
// that were come back from rest.
type fields struct {
	left map[string]json.RawMessage
	errs []error
}

func fieldsOf(data []byte) (*fields, error) {
	f := new(fields)
	if err := json.Unmarshal(data, &f.left); err != nil {
		return nil, errors.New("want a JSON object")
	}
	if f.left == nil {
		return nil, errors.New("want a JSON object, not null")
	}
	return f, nil
}

// raw takes a field as it is; nil when it is not there.
func (f *fields) raw(name string) json.RawMessage {
	data := f.left[name]
	delete(f.left, name)
	return data
}

// take decodes a field; it does nothing when the field is not there.
func (f *fields) take(name string, into any) {
	data, ok := f.left[name]
	if !ok {
		return
	}
	delete(f.left, name)
	if err := json.Unmarshal(data, into); err != nil {
		f.errs = append(f.errs, fmt.Errorf("%s: %w", name, err))
	}
}

// must is take for a field that has to be there.
func (f *fields) must(name string, into any) {
	if data, ok := f.left[name]; !ok || string(data) == "null" {
		f.errs = append(f.errs, fmt.Errorf("%s is missing", name))
	}
	f.take(name, into)
}

// content takes the field content: a string, an array of parts, or null.
func (f *fields) content() (parts []Part) {
	data := bytes.TrimSpace(f.left["content"])
	if len(data) == 0 || data[0] != '"' {
		f.take("content", &parts)
		return parts
	}
	var s string
	if f.take("content", &s); s == "" {
		return nil
	}
	return []Part{Text(s)}
}

// rest returns the fields that nobody took, and all errors.
func (f *fields) rest() (map[string]json.RawMessage, error) {
	if len(f.left) == 0 {
		f.left = nil
	}
	return f.left, errors.Join(f.errs...)
}
