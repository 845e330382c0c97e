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

// Schema is what a state type declares: its fields in the order of the struct,
// with the name, lifetime and default of each. It is built once, by [SchemaOf]
// or [NewSchema], and is safe for concurrent use.
type Schema struct {
	fields []Field
	index  map[string]int
	layout Layout
	texts  []textCheck // the fields whose writes are looked at
	proto  View        // the state with its defaults; never written

	was        map[string]int // former names of fields
	migrations []Migration    // by field; nil without Migrating
}

// Field is one channel of a state.
type Field struct {
	// Name is the wire name: the json names of the groups around the field and of
	// the field itself, joined by "_".
	Name string
	// Type is the channel's Go type, such as state.List[string], or what stands for it where the
	// state has no Go type.
	Type string
	// Turn is true when the field is reset to its default by each new input.
	Turn bool
	// Aside is true when the field does not tell one input from another.
	Aside bool
	// Default is the field's default as JSON; nil when it is the zero value.
	Default json.RawMessage
	// Version counts the forms that stored values of the field have had, from 1.
	Version int
	// Was is the wire name that the field had before it was renamed, or "".
	Was string
	// Kind is the channel, if it is one that has a name; else "".
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

// Index returns the place of the field with this wire name.
func (s *Schema) Index(name string) (i int, ok bool) {
	i, ok = s.index[name]
	return i, ok
}

// Safe reports whether folding a single task's writes can never fail: every channel
// is one of this package and runs no code of the user.
func (s *Schema) Safe() bool {
	return !slices.ContainsFunc(s.proto.Channels, func(c Channel) bool {
		_, calls := c.(interface{ callsUser() })
		_, refuses := c.(interface{ mayFail() })
		return !ours(c) || calls || refuses
	})
}

// Merges reports whether a write to field i is merged into what the field holds, as in
// a List or a Sum, instead of replacing it, as in a Value. A Delta of another package
// merges too.
func (s *Schema) Merges(i int) bool {
	_, ours := s.proto.Channels[i].(replacer)
	_, grows := s.proto.Channels[i].(Delta)
	return ours || grows
}

// New returns a state of its own with every field at its default.
func (s *Schema) New() View {
	v := s.Blank()
	s.layout.Assign(v.State, s.proto.State)
	return v
}

// Blank returns a state of its own with every field unset or empty, whatever its
// default: the empty state that decoding starts from.
func (s *Schema) Blank() View { return s.layout.Blank() }

// Blanks is Blank for n states at once, which takes less memory than n calls. They stay in memory
// together, as long as one is used.
func (s *Schema) Blanks(n int) []View { return s.layout.Blanks(n) }

// Over returns a view of the state that p, a *S or what [Hold] returned, points to, or of a state
// equal to it: it is for reading a state that does not change meanwhile.
func (s *Schema) Over(p any) View { return s.layout.Over(p) }

// Hold returns value for a later [Schema.Over], independent of the states that it was assigned from
// or to. A struct of channels is so already; an assigned copy of a record has the same channels.
func Hold[S any](s *Schema, value S) any {
	if l, ok := s.layout.(structs[S]); ok && l.few() {
		held := &small[S]{state: value}
		l.view(&held.state, held.channels[:]) // here and not in Over, which several runs may call at once
		return held
	}
	return own(s, value)
}

// own is apart from Hold so that a value that it does not get stays off the heap.
//
//go:noinline
func own[S any](s *Schema, value S) any {
	s.layout.Own(&value)
	return &value
}

// Copy returns a state of its own that is equal to that of v: a *S.
func (s *Schema) Copy(v View) any { return s.layout.Copy(v.State) }

// Assign makes dst a copy of src. The two are independent afterwards.
func (s *Schema) Assign(dst, src View) { s.layout.Assign(dst.State, src.State) }

// AssignField makes field i of dst a copy of the same field of src.
func (s *Schema) AssignField(dst, src View, i int) { s.layout.AssignField(dst, src, i) }

// Reset sets field i of v to its default.
func (s *Schema) Reset(v View, i int) { s.AssignField(v, s.proto, i) }

// Check reports every value in v that does not fit the field's declared type, as
// one error. Only a state without a Go type can hold such a value, after a restore of what another
// version of its schema stored; the Go types of a struct are checked as they are decoded.
func (s *Schema) Check(v View) error {
	var errs []error
	for i := range v.Channels {
		if err := s.layout.Check(v, i); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Encode returns the state as one JSON object by wire name, in the order of the
// fields. Fields without a value are left out.
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

// Decode records a JSON object by wire name as writes to v. Every unknown field
// and every value of the wrong type is reported, as one error.
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

// invalidText returns the error of a JSON object that is not UTF-8, with the field that it is in.
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

// Find returns the place of the field with this wire name. The error wraps [ErrUnknownField] and
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

// newSchema returns the schema of states that are laid out so, unless the type has mistakes.
func newSchema(typ string, fields []Field, l Layout, mistakes []Mistake) (*Schema, error) {
	s := &Schema{fields: fields, index: make(map[string]int, len(fields)), layout: l}
	for i, f := range fields {
		s.index[f.Name] = i
	}
	if len(mistakes) == 0 {
		mistakes = s.addWas()
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
