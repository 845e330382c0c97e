package studio

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// schema is the part of a JSON Schema that a form is made of.
type schema struct {
	Type        json.RawMessage   `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Properties  orderedProperties `json:"properties"`
	Required    []string          `json:"required"`
	Items       *schema           `json:"items"`
	Enum        []json.RawMessage `json:"enum"`
	Default     json.RawMessage   `json:"default"`
	Minimum     *float64          `json:"minimum"`
	Maximum     *float64          `json:"maximum"`
	Ref         string            `json:"$ref"`
	AnyOf       []json.RawMessage `json:"anyOf"`
}

// property is a member of an object.
type property struct {
	Name   string
	Schema *schema
}

// orderedProperties are the members of an object in the order of the schema.
type orderedProperties []property

// UnmarshalJSON reads an object.
func (p *orderedProperties) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		one := property{Schema: new(schema)}
		one.Name, _ = name.(string) // a key
		if err := d.Decode(one.Schema); err != nil {
			return err
		}
		*p = append(*p, one)
	}
	return nil
}

// kind is how a value is entered: "object", "enum", "boolean", "integer", "number", "text",
// "list" with an item a line, or "json".
func (s *schema) kind(depth int) string {
	var types []string
	var one string
	if json.Unmarshal(s.Type, &one) == nil && one != "" {
		types = []string{one}
	} else if json.Unmarshal(s.Type, &types) == nil {
		types = slices.DeleteFunc(types, func(t string) bool { return t == "null" })
	}
	switch {
	case s.Ref != "" || len(s.AnyOf) > 0:
		return "json"
	case len(s.Enum) > 0:
		return "enum"
	case len(types) != 1:
		return "json"
	case types[0] == "string":
		return "text"
	case types[0] == "boolean" || types[0] == "integer" || types[0] == "number":
		return types[0]
	case types[0] == "object" && len(s.Properties) > 0 && depth < maxDepth:
		return "object"
	case types[0] == "array" && s.Items != nil && slices.Contains([]string{"text", "integer", "number"}, s.Items.kind(depth+1)):
		return "list"
	}
	return "json"
}

// entry is a field of a form, with what was entered.
type entry struct {
	Form     string // "in" for an input, "set" for settings, "value" for an answer
	Owner    string // what the ids of its inputs begin with; "" for the only form of a page
	Path     string // the name of its input, such as options.rounds; "" is the whole
	Name     string // of the member
	Label    string
	Schema   *schema
	Kind     string
	Required bool
	Text     string
	Mistake  string
	Parts    []*entry // of an object
}

// schemaForm returns the form of a schema. A schema that is none of an object is one field of JSON.
func schemaForm(text json.RawMessage) *entry {
	s := new(schema)
	if json.Unmarshal(text, s) != nil || s.kind(0) != "object" {
		return &entry{Form: "in", Label: "Input", Schema: new(schema), Kind: "json"}
	}
	return entryOf("in", "", "Input", s, true, 0)
}

// settingsForm returns the form of the settings of a run; nil without a schema of an object.
func settingsForm(text json.RawMessage) *entry {
	s := new(schema)
	if json.Unmarshal(text, s) != nil || s.kind(0) != "object" {
		return nil
	}
	return entryOf("set", "", "Settings", s, true, 0)
}

func entryOf(form, path, name string, s *schema, required bool, depth int) *entry {
	e := &entry{Form: form, Path: path, Name: name, Label: cmp.Or(s.Title, name), Schema: s, Kind: s.kind(depth), Required: required}
	if len(s.Default) > 0 && e.Kind != "object" {
		e.Text = e.textOf(s.Default)
	}
	if e.Kind != "object" {
		return e
	}
	for _, p := range s.Properties {
		at := p.Name
		if path != "" {
			at = path + "." + p.Name
		}
		e.Parts = append(e.Parts, entryOf(form, at, p.Name, p.Schema, slices.Contains(s.Required, p.Name), depth+1))
	}
	return e
}

// own sets what the ids of the inputs begin with.
func (e *entry) own(owner string) {
	e.Owner = owner
	for _, p := range e.Parts {
		p.own(owner)
	}
}

// inputName is the name of the input of a field.
func (e *entry) inputName() string { return e.Form + ":" + e.Path }

// textOf returns a value as it is entered.
func (e *entry) textOf(value json.RawMessage) string {
	var text string
	var list []json.RawMessage
	switch {
	case e.Kind == "text" && json.Unmarshal(value, &text) == nil:
		return text
	case e.Kind == "list" && json.Unmarshal(value, &list) == nil:
		lines := make([]string, len(list))
		for i, item := range list {
			if json.Unmarshal(item, &lines[i]) != nil {
				lines[i] = string(item)
			}
		}
		return strings.Join(lines, "\n")
	}
	return string(readable(value))
}

// fill enters a value into the form.
func (e *entry) fill(value json.RawMessage) {
	if e.Kind != "object" {
		e.Text = e.textOf(value)
		return
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil {
		return
	}
	for _, p := range e.Parts {
		if v, ok := members[p.Name]; ok && string(v) != "null" {
			p.fill(v)
		}
	}
}

// beside returns the part of a value that fill enters nowhere; nil if there is none.
func (e *entry) beside(value json.RawMessage) json.RawMessage {
	if e.Kind != "object" {
		if strings.TrimSpace(e.textOf(value)) == "" || string(value) == "null" { // an empty field is left out
			return value
		}
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil || len(members) == 0 {
		return value
	}
	for _, p := range e.Parts {
		if v, ok := members[p.Name]; ok {
			if members[p.Name] = p.beside(v); members[p.Name] == nil {
				delete(members, p.Name)
			}
		}
	}
	if len(members) == 0 {
		return nil
	}
	data, _ := json.Marshal(members) // of JSON
	return data
}

// merge returns the value that was read, with what was beside it. What was read wins.
func (e *entry) merge(beside, value json.RawMessage) json.RawMessage {
	var all, members map[string]json.RawMessage
	if len(value) == 0 {
		return beside
	}
	if e.Kind != "object" || json.Unmarshal(value, &members) != nil || json.Unmarshal(beside, &all) != nil || all == nil {
		return value
	}
	for _, p := range e.Parts {
		if v, ok := members[p.Name]; ok {
			all[p.Name] = p.merge(all[p.Name], v)
		}
	}
	data, _ := json.Marshal(all) // of JSON
	return data
}

// read takes what was entered and returns the value; nil if nothing was. Mistakes are at their
// fields; ok is false if there are some.
func (e *entry) read(form url.Values) (value json.RawMessage, ok bool) {
	if e.Kind == "object" {
		return e.readObject(form)
	}
	e.Text = strings.ReplaceAll(form.Get(e.inputName()), "\r\n", "\n")
	e.Mistake = ""
	if strings.TrimSpace(e.Text) == "" {
		if e.Required {
			e.Mistake = "a value is required"
		}
		return nil, !e.Required
	}
	value, e.Mistake = e.value()
	return value, e.Mistake == ""
}

func (e *entry) readObject(form url.Values) (value json.RawMessage, ok bool) {
	ok = true
	members, mistakes := map[string]json.RawMessage{}, false
	for _, p := range e.Parts {
		v, fine := p.read(form)
		if v != nil {
			members[p.Name] = v
		}
		mistakes = mistakes || !fine
	}
	if len(members) == 0 && !e.Required { // what it requires is required only if it is there
		empty := true
		for _, p := range e.Parts {
			empty = empty && p.isEmpty()
		}
		if empty {
			e.clear()
			return nil, true
		}
	}
	value, _ = json.Marshal(members) // of JSON
	return value, !mistakes
}

func (e *entry) isEmpty() bool {
	return strings.TrimSpace(e.Text) == "" && !slices.ContainsFunc(e.Parts, func(p *entry) bool { return !p.isEmpty() })
}

// clear removes the mistakes of a field that is left out.
func (e *entry) clear() {
	e.Mistake = ""
	for _, p := range e.Parts {
		p.clear()
	}
}

// value returns the value of the text, or what is wrong with it.
func (e *entry) value() (value json.RawMessage, mistake string) {
	switch e.Kind {
	case "text":
		value, _ = json.Marshal(e.Text) // of a string
		return value, ""
	case "list":
		return e.list()
	case "integer", "number":
		return numberOf(e.Schema, e.Kind, strings.TrimSpace(e.Text))
	}
	value = json.RawMessage(strings.TrimSpace(e.Text))
	switch {
	case !json.Valid(value):
		return nil, "this must be JSON"
	case e.Kind == "boolean" && string(value) != "true" && string(value) != "false":
		return nil, "this must be true or false"
	case e.Kind == "enum" && !slices.ContainsFunc(e.Schema.Enum, func(v json.RawMessage) bool { return bytes.Equal(v, value) }):
		return nil, "this must be one of the values"
	}
	return value, ""
}

func (e *entry) list() (value json.RawMessage, mistake string) {
	items := []json.RawMessage{}
	kind := e.Schema.Items.kind(0)
	for line := range strings.SplitSeq(strings.TrimSpace(e.Text), "\n") {
		line = strings.TrimSpace(line)
		item, _ := json.Marshal(line) // of a string
		if kind != "text" {
			if item, mistake = numberOf(e.Schema.Items, kind, line); mistake != "" {
				return nil, fmt.Sprintf("%q: %s", line, mistake)
			}
		}
		items = append(items, item)
	}
	value, _ = json.Marshal(items) // of JSON
	return value, ""
}

// numberOf reads a number.
func numberOf(s *schema, kind, text string) (value json.RawMessage, mistake string) {
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || !json.Valid([]byte(text)):
		return nil, "this must be a number"
	case kind == "integer" && strings.ContainsAny(text, ".eE"):
		return nil, "this must be a whole number"
	case s.Minimum != nil && n < *s.Minimum:
		return nil, fmt.Sprintf("this must be at least %v", *s.Minimum)
	case s.Maximum != nil && n > *s.Maximum:
		return nil, fmt.Sprintf("this must be at most %v", *s.Maximum)
	}
	return json.RawMessage(text), ""
}
