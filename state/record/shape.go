package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/weftrun/weft/state"
)

// Shape is what a graph that is written down declares: the fields of its
// [Record]. It is safe for concurrent use.
type Shape struct {
	fields   []state.Field
	bindings []binding // by field
	types    []Type    // by field
	foreign  []bool    // by field
	groups   [][]int   // the fields of each channel type
	schema   *state.Schema
}

// Field is one field of a [Record].
type Field struct {
	Name string
	Kind state.Kind // "" is state.KindValue
	// Type is the type of the value as it is read: list<T> for a list, a topic and
	// a set, map<T> for a map. The zero Type is any.
	Type Type
	// Turn is true when the field is reset to its default by each new input.
	Turn bool
	// Unhashed is true if the hash of an input ignores the field, such as the time of its creation.
	Unhashed bool
	// Default is the field's default as JSON; nil when it is unset or empty.
	Default json.RawMessage
	// Version counts the forms that stored values of the field have had; 0 means 1.
	// See [state.Schema.Migrating].
	Version int
	// Was is the name that the field had before it was renamed, or "".
	Was string
	// Channel keeps the field where no Kind does; Kind is "" then. Type is what the
	// writes are checked against. See [ForeignOf].
	Channel *Foreign
}

// NewShape returns the shape with these fields. Every mistake is reported, as one
// *state.SchemaError: a bad or repeated name, an unknown kind, a kind that cannot hold
// the type, a default that does not fit.
func NewShape(fields ...Field) (*Shape, error) {
	const typ = "the record"
	sh := &Shape{}
	var mistakes []state.Mistake
	for _, f := range fields {
		b, fault := f.bind()
		if fault != "" {
			mistakes = append(mistakes, state.Mistake{Path: f.Name, What: fault})
			f = Field{Name: f.Name} // so that the mistakes of the others are found too
			b, _ = f.bind()
		}
		sh.fields = append(sh.fields, f.field())
		sh.bindings = append(sh.bindings, b)
		sh.types = append(sh.types, f.Type)
		sh.foreign = append(sh.foreign, f.Channel != nil)
	}
	sh.groups = groupsOf(sh.bindings)
	schema, err := state.NewSchema(typ, sh.fields, layout{sh})
	var more *state.SchemaError
	if errors.As(err, &more) {
		mistakes = append(mistakes, more.Mistakes...)
	} else if err != nil {
		return nil, err
	}
	if len(mistakes) > 0 {
		return nil, &state.SchemaError{Type: typ, Mistakes: mistakes}
	}
	sh.schema = schema
	return sh, nil
}

// groupsOf returns the fields of each channel type.
func groupsOf(bindings []binding) (groups [][]int) {
	index := map[reflect.Type]int{}
	for i, b := range bindings {
		at, ok := index[b.channel]
		if !ok {
			at = len(groups)
			index[b.channel] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}

// Schema returns the schema of the shape's records. The State of its views is a
// *Record.
func (sh *Shape) Schema() *state.Schema { return sh.schema }

// FieldType returns the declared type of field i of the schema of a shape. ok is false if the
// schema is that of another state, or the field has a Channel.
func FieldType(s *state.Schema, i int) (t Type, ok bool) {
	l, ok := state.LayoutOf(s).(layout)
	if !ok || l.foreign[i] {
		return Type{}, false
	}
	return l.types[i], true
}

// New returns a record in which nothing is set, not even defaults: the way to
// fill an input.
func (sh *Shape) New() Record { return *layout{sh}.record() }

// named returns err with the name of field i in front, as an error.
func (sh *Shape) named(i int, err *TypeError) error {
	if err == nil {
		return nil
	}
	name := sh.fields[i].Name
	if err.text {
		return &state.TextError{Field: name, Path: err.Path}
	}
	return fmt.Errorf("state: %w", err.under(name))
}

// field returns the field as a schema has it.
func (f *Field) field() state.Field {
	out := state.Field{
		Name: f.Name, Turn: f.Turn, Unhashed: f.Unhashed, Default: slices.Clone(f.Default), Version: f.Version, Was: f.Was,
	}
	if f.Channel != nil {
		out.Type = f.Channel.name
		return out
	}
	out.Kind = f.kind()
	out.Type = string(out.Kind) + " " + f.Type.String()
	return out
}

func (f *Field) kind() state.Kind {
	if f.Kind == "" {
		return state.KindValue
	}
	return f.Kind
}

// bind makes the binding of the field; fault is what is wrong with its kind, or "".
func (f *Field) bind() (b binding, fault string) {
	row, ok := kinds[f.kind()]
	if !ok {
		return b, fmt.Sprintf("unknown kind %q; the kinds are %v", f.Kind, state.Kinds())
	}
	if f.Channel != nil && f.Kind != "" {
		return b, fmt.Sprintf("it has a channel of its own, and the kind %q; give one of them", f.Kind)
	}
	t := f.Type
	if f.Channel != nil {
		return f.Channel.bind(&t), ""
	}
	if b, ok = row.bind(&t); !ok {
		fault = fmt.Sprintf("a %s holds %s, not %s", f.kind(), row.holds, t)
	}
	return b, fault
}
