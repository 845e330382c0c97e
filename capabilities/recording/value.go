package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// value is a JSON value whose members keep their order. Numbers keep their digits.
type value struct {
	kind  kind
	text  string   // of a text, and the JSON of a literal
	keys  []string // of an object, one for each item
	items []*value // of a list or an object
	line  int      // in a file; 0 is none
}

type kind int

const (
	literal kind = iota // a number, true, false or null
	text
	list
	object
)

// errTwice is returned for an object that has a member twice.
var errTwice = errors.New("a name is used twice in an object")

// parseJSON returns the value of a JSON text.
func parseJSON(data []byte) (*value, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := decode(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("there is more than one value")
	}
	return v, nil
}

func decode(dec *json.Decoder) (*value, error) {
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case string:
		return &value{kind: text, text: t}, nil
	case json.Delim:
		v := &value{kind: list}
		if t == '{' {
			v.kind = object
		}
		for dec.More() {
			if v.kind == object {
				key, err := dec.Token()
				if err != nil {
					return nil, err
				}
				if slices.Contains(v.keys, key.(string)) {
					return nil, errTwice
				}
				v.keys = append(v.keys, key.(string))
			}
			item, err := decode(dec)
			if err != nil {
				return nil, err
			}
			v.items = append(v.items, item)
		}
		_, err := dec.Token()
		return v, err
	case nil:
		return &value{text: "null"}, nil
	}
	return &value{text: fmt.Sprint(t)}, nil
}

// valueOf returns the JSON value of v.
func valueOf(v any) (*value, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return parseJSON(b.Bytes())
}

// json appends the JSON of v.
func (v *value) json(b []byte) []byte {
	switch v.kind {
	case text:
		return append(b, quoteJSON(v.text)...)
	case list:
		b = append(b, '[')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.json(b)
		}
		return append(b, ']')
	case object:
		b = append(b, '{')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, quoteJSON(v.keys[i])...), ':')
			b = item.json(b)
		}
		return append(b, '}')
	}
	return append(b, v.text...)
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a text has JSON
	return strings.TrimSuffix(b.String(), "\n")
}

// get returns a member of an object, or nil.
func (v *value) get(name string) *value {
	if v == nil || v.kind != object {
		return nil
	}
	if i := slices.Index(v.keys, name); i >= 0 {
		return v.items[i]
	}
	return nil
}

// set adds a member to an object.
func (v *value) set(name string, to *value) {
	v.keys, v.items = append(v.keys, name), append(v.items, to)
}

// textOf returns a text. What is not valid UTF-8 is replaced, as in JSON.
func textOf(s string) *value {
	return &value{kind: text, text: strings.ToValidUTF8(s, "\uFFFD")}
}

// setText adds a text to an object, unless it is empty.
func (v *value) setText(name, s string) {
	if s != "" {
		v.set(name, textOf(s))
	}
}

// replaced returns v with each text replaced, also in names and numbers; nil for nil.
func (v *value) replaced(by func(string) string) *value {
	if v == nil {
		return nil
	}
	own := *v
	if own.text != "" {
		if own.text = by(v.text); own.text != v.text {
			own.kind = text
		}
	}
	own.keys, own.items = slices.Clone(v.keys), slices.Clone(v.items)
	for i := range own.keys {
		name := by(own.keys[i])
		for base, n := name, 2; slices.Contains(own.keys[:i], name); n++ { // two names with one secret each
			name = base + " " + strconv.Itoa(n)
		}
		own.keys[i] = name
	}
	for i := range own.items {
		own.items[i] = own.items[i].replaced(by)
	}
	return &own
}

// equal reports whether two values are the same; the order of members does not count.
func (v *value) equal(w *value) bool {
	path, _, _ := differ(v, w, "")
	return path == ""
}

// differ returns the path to the first difference of two values, and both values there. The path
// is "" if there is none. A value that is missing is nil.
func differ(got, want *value, path string) (string, *value, *value) {
	at := path
	if at == "" {
		at = "."
	}
	switch {
	case got == nil && want == nil:
		return "", nil, nil
	case got == nil || want == nil || got.kind != want.kind || got.text != want.text:
		return at, got, want
	case got.kind == list:
		for i := range max(len(got.items), len(want.items)) {
			if p, g, w := differ(item(got, i), item(want, i), fmt.Sprintf("%s[%d]", path, i)); p != "" {
				return p, g, w
			}
		}
	case got.kind == object:
		for _, key := range slices.Concat(got.keys, want.keys) {
			if p, g, w := differ(got.get(key), want.get(key), strings.TrimPrefix(path+"."+key, ".")); p != "" {
				return p, g, w
			}
		}
	}
	return "", nil, nil
}

func item(v *value, i int) *value {
	if i < len(v.items) {
		return v.items[i]
	}
	return nil
}
