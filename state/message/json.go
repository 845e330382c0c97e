package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/weftrun/weft/internal/compact"
	"github.com/weftrun/weft/state"
)

// object writes a JSON object field by field, and nested objects into the same bytes, so that long
// texts are encoded once. It keeps the first error.
type object struct {
	b     []byte
	start int // where the innermost object begins
	err   error
}

// encoder is a value of this package that writes itself.
type encoder interface{ encode(*object) }

// encoded returns the JSON of e.
func encoded(e encoder) ([]byte, error) { return appended(nil, e) }

// appended appends the JSON of e.
func appended(b []byte, e encoder) ([]byte, error) {
	o := object{b: b, start: len(b)}
	e.encode(&o)
	if o.err != nil {
		return nil, o.err
	}
	return o.b, nil
}

func (o *object) field(name string, v any) {
	err := state.CheckText(v)
	var data []byte
	if err == nil {
		data, err = json.Marshal(v)
	}
	if err != nil {
		o.fail(name, err)
		return
	}
	o.key(name)
	o.b = append(o.b, data...)
}

func (o *object) fail(name string, err error) {
	if o.err == nil {
		o.err = fmt.Errorf("%s: %w", name, err)
	}
}

// key begins a field, and with the first one the object.
func (o *object) key(name string) {
	start := byte(',')
	if len(o.b) == o.start {
		start = '{'
	}
	o.b = append(o.b, start)
	o.quote(name)
	o.b = append(o.b, ':')
}

// quote writes a string.
func (o *object) quote(s string) {
	if !utf8.ValidString(s) && o.err == nil {
		o.err = &state.TextError{}
	}
	o.b = compact.String(o.b, s)
}

// must writes a string, text one that is not empty.
func (o *object) must(name, s string) {
	o.key(name)
	o.quote(s)
}

func (o *object) text(name, s string) {
	if s != "" {
		o.must(name, s)
	}
}

// inner writes an object inside this one.
func (o *object) inner(name string, e encoder) {
	o.key(name)
	o.object(e)
}

func (o *object) object(e encoder) {
	outer := o.start
	o.start = len(o.b)
	e.encode(o)
	o.start = outer
}

// fieldOf writes a slice unless it is empty.
func fieldOf[T encoder](o *object, name string, items []T) {
	if len(items) == 0 {
		return
	}
	o.key(name)
	for i, item := range items {
		o.b = append(o.b, "[,"[min(i, 1)])
		o.object(item)
	}
	o.b = append(o.b, ']')
}

// content writes parts: as a string where they are one plain text, not at all where
// they say nothing.
func (o *object) content(parts []Part) {
	switch {
	case silent(parts):
	case len(parts) == 1 && parts[0].plain():
		o.must("content", parts[0].Text)
	default:
		fieldOf(o, "content", parts)
	}
}

// close writes the fields that are not known, by name, and the end.
func (o *object) close(extra map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		o.field(name, extra[name])
	}
	if len(o.b) == o.start {
		o.b = append(o.b, '{')
	}
	o.b = append(o.b, '}')
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
	f.take("content", &s)
	if s == "" {
		return nil
	}
	return []Part{Text(s)}
}

// value takes a field with any value as content.
func (f *fields) value(name string) []Part {
	data := f.raw(name)
	var text string
	switch {
	case len(data) == 0 || string(data) == "null":
		return nil
	case json.Unmarshal(data, &text) != nil:
		return []Part{{Type: TypeData, Data: data}}
	case text == "":
		return nil
	}
	return []Part{Text(text)}
}

// rest returns the fields that were not taken, and all errors.
func (f *fields) rest() (map[string]json.RawMessage, error) {
	if len(f.left) == 0 {
		f.left = nil
	}
	return f.left, errors.Join(f.errs...)
}
