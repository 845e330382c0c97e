package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weftrun/weft/internal/suggest"
)

// Schema holds the declarations of a state type: its fields in the order of the struct, with the
// name, lifetime and default of each. Build it once with [SchemaOf] or [NewSchema]. It is safe for
// concurrent use.
type Schema struct {
	fields []Field
	index  map[string]int
	layout Layout
	texts  []textCheck // the checks of fields that can hold text
	proto  View        // the state with its defaults; immutable

	formerNames map[string]int // the indexes of fields by their former names
	migrations  []Migration    // by field; nil without Migrating
}

// Field is one channel of a state.
type Field struct {
	// Name is the wire name: the json names of the groups around the field and of
	// the field itself, joined by "_".
	Name string
	// Type is the channel's Go type, such as state.List[string], or a description of the type if
	// the state has no Go type.
	Type string
	// Turn is true if each new input resets the field to its default.
	Turn bool
	// Unhashed is true if the hash of an input ignores the field.
	Unhashed bool
	// Default is the field's default as JSON; nil when it is the zero value.
	Default json.RawMessage
	// Version is the version of the field's stored form, from 1.
	Version int
	// Was is the former stored name of the field, or "".
	Was string
	// Kind is the kind of the channel, or "" if it has none.
	Kind Kind
}

// View is one copy of a state: a task's private one, or the run's own.
type View struct {
	// State points to the state: a *S.
	State any
	// Channels point to the channels inside it, in the order of Schema.Fields.
	Channels []Channel
}

// Fields returns the fields in the order of the struct. The caller must not
// change the slice.
func (s *Schema) Fields() []Field { return s.fields }

// Index returns the index of the field with this stored name.
func (s *Schema) Index(name string) (i int, ok bool) {
	i, ok = s.index[name]
	return i, ok
}

// Safe reports whether folding the writes of a single task cannot fail: every channel is one of
// this package and calls no user code.
func (s *Schema) Safe() bool {
	return !slices.ContainsFunc(s.proto.Channels, func(c Channel) bool {
		_, calls := c.(interface{ callsUser() })
		_, refuses := c.(interface{ mayFail() })
		return !ours(c) || calls || refuses
	})
}

// Merges reports whether a write to field i is merged into its value, as in a List or a Sum. A
// write to a Value replaces it. A Delta of another package also merges.
func (s *Schema) Merges(i int) bool {
	_, ours := s.proto.Channels[i].(replacer)
	_, grows := s.proto.Channels[i].(Delta)
	return ours || grows
}

// LayoutOf returns how the states of a schema are made and copied.
func LayoutOf(s *Schema) Layout { return s.layout }

// New returns a new state with every field at its default.
func (s *Schema) New() View {
	v := s.Blank()
	s.layout.Assign(v.State, s.proto.State)
	return v
}

// Blank returns a new state with every field unset or empty, without defaults. Decoding starts from
// this state.
func (s *Schema) Blank() View { return s.layout.Blank() }

// Blanks returns n states as Blank does, with fewer allocations. The memory is released when none
// of them is in use.
func (s *Schema) Blanks(n int) []View { return s.layout.Blanks(n) }

// Over returns a view of the state that p points to, or of an equal one. p is a *S or the result of
// [Hold]. Use it to read a state that does not change.
func (s *Schema) Over(p any) View { return s.layout.Over(p) }

// Hold returns a copy of value for a later [Schema.Over]. It is independent of the states that
// value was assigned from or to. An assigned copy of a record, unlike one of a struct, shares its
// channels.
func Hold[S any](s *Schema, value S) any {
	if l, ok := s.layout.(*structs[S]); ok && l.few() {
		held := &small[S]{state: value}
		l.view(&held.state, held.channels[:]) // not in Over, which several runs may call concurrently
		return held
	}
	return own(s, value)
}

// own is separate from Hold so that other values do not escape to the heap.
//
//go:noinline
func own[S any](s *Schema, value S) any {
	s.layout.Own(&value)
	return &value
}

// Copy returns an independent copy of the state of v, a *S.
func (s *Schema) Copy(v View) any { return s.layout.Copy(v.State) }

// Assign makes dst an independent copy of src.
func (s *Schema) Assign(dst, src View) { s.layout.Assign(dst.State, src.State) }

// AssignField makes field i of dst a copy of the same field of src.
func (s *Schema) AssignField(dst, src View, i int) { s.layout.AssignField(dst, src, i) }

// Reset sets field i of v to its default.
func (s *Schema) Reset(v View, i int) { s.AssignField(v, s.proto, i) }

// Check returns one error for all values in v that do not match the declared type of their field.
// Only a state without a Go type can hold such values, after a restore of data that another version
// of the schema stored. Decoding checks the Go types of a struct.
func (s *Schema) Check(v View) error {
	var errs []error
	for i := range v.Channels {
		if err := s.layout.Check(v, i); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Encode returns the state as one JSON object by stored name, in the order of the fields. It omits
// fields without a value.
func (s *Schema) Encode(v View) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range s.fields {
		data, err := v.Channels[i].MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("state: field %q: %w", f.Name, err)
		}
		if string(data) == "null" {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(f.Name)
		b.Write(name)
		b.WriteByte(':')
		b.Write(data)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Decode records a JSON object by stored name as writes to v. It reports all unknown fields and all
// values of the wrong type as one error.
func (s *Schema) Decode(v View, data []byte) error {
	if !utf8.Valid(data) {
		return s.invalidText(data)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return fmt.Errorf("state: input is not a JSON object: %w", err)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(object)) {
		i, err := s.Find(name)
		if err == nil {
			err = s.layout.Decode(v, i, object[name])
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// invalidText returns the error of a JSON object that is not UTF-8, with its field.
func (s *Schema) invalidText(data []byte) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return fmt.Errorf("state: input is not a JSON object: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !utf8.Valid(object[name]) {
			return &TextError{Field: name}
		}
	}
	return &TextError{}
}

// Find returns the index of the field with this stored name. The error wraps [ErrUnknownField] and
// lists the fields.
func (s *Schema) Find(name string) (int, error) {
	i, ok := s.index[name]
	if !ok {
		meant := ""
		if near := suggest.Nearest(name, slices.Sorted(maps.Keys(s.index))); near != "" {
			meant = fmt.Sprintf("did you mean %q? ", near)
		}
		return 0, fmt.Errorf("%w %q; %sthe fields are %s", ErrUnknownField, name, meant, s.names())
	}
	return i, nil
}

func (s *Schema) names() string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

// newSchema returns the schema of states with the layout l, or an error if there are mistakes.
func newSchema(typ string, fields []Field, l Layout, mistakes []Mistake) (*Schema, error) {
	s := &Schema{fields: fields, index: make(map[string]int, len(fields)), layout: l}
	for i, f := range fields {
		s.index[f.Name] = i
	}
	if len(mistakes) == 0 {
		mistakes = s.indexFormerNames()
	}
	if len(mistakes) == 0 {
		s.proto = s.Blank()
		s.texts = textChecks(s.proto.Channels, s.fields)
		mistakes = s.applyDefaults()
	}
	if len(mistakes) > 0 {
		return nil, &SchemaError{Type: typ, Mistakes: mistakes}
	}
	return s, nil
}

// applyDefaults folds the declared defaults into the prototype.
func (s *Schema) applyDefaults() (mistakes []Mistake) {
	for i, f := range s.fields {
		if f.Default == nil {
			continue
		}
		v := s.Blank()
		err := s.layout.Decode(v, i, f.Default)
		if f.Kind == KindOnce {
			err = errors.New("a field that is written once has none; its first write would be the second")
		}
		if err == nil && v.Channels[i].Wrote() {
			err = s.proto.Channels[i].Fold(v.Channels[i : i+1])
		}
		if err != nil {
			mistakes = append(mistakes, Mistake{f.Name, fmt.Sprintf("default %s: %v", f.Default, err)})
		}
	}
	return mistakes
}
