package state

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Shape is what a graph that is written down declares: the fields of its
// [Record]. It is safe for concurrent use.
type Shape struct {
	bindings []binding
	types    []Type // by field
	foreign  []bool // by field
	schema   *Schema
}

// RecordField is one field of a [Record].
type RecordField struct {
	Name string
	Kind Kind // "" is KindValue
	// Type is the type of the value as it is read: list<T> for a list, a topic and
	// a set, map<T> for a map. The zero Type is any.
	Type Type
	// Turn is true when the field is reset to its default by each new input.
	Turn bool
	// Aside is true when the field does not tell one input from another, such as the
	// time at which it was made.
	Aside bool
	// Default is the field's default as JSON; nil when it is unset or empty.
	Default json.RawMessage
	// Version counts the forms that stored values of the field have had; 0 means 1.
	// See [Schema.Migrating].
	Version int
	// Was is the name that the field had before it was renamed, or "".
	Was string
	// Channel keeps the field where no Kind does; Kind is "" then. Type is what the
	// writes are checked against. See [ForeignOf].
	Channel *Foreign
}

// NewShape returns the shape with these fields. Every mistake is reported, as one
// *SchemaError: a bad or repeated name, an unknown kind, a kind that cannot hold
// the type, a default that does not fit.
func NewShape(fields ...RecordField) (*Shape, error) {
	var w walker
	sh := &Shape{schema: &Schema{index: map[string]int{}}}
	for _, f := range fields {
		b, why := f.bind()
		if why == "" {
			why = sh.refuse(f.Name)
		}
		if why != "" {
			w.fail(f.Name, "%s", why)
			continue
		}
		at := len(sh.bindings)
		sh.bindings = append(sh.bindings, b)
		sh.types = append(sh.types, f.Type)
		sh.foreign = append(sh.foreign, f.Channel != nil)
		sh.schema.add(f.field(), func(dst, src View) {
			b.assign(dst.State.(*Record).cells[at], src.State.(*Record).cells[at])
		})
	}
	s := sh.schema
	s.blank, s.blanks, s.over, s.copy = sh.view, sh.views, sh.over, sh.copy
	s.own = sh.own
	s.assign, s.decode, s.check = sh.assign, sh.decode, sh.check
	if _, err := s.finish("the record", w.mistakes); err != nil {
		return nil, err
	}
	return sh, nil
}

// Schema returns the schema of the shape's records. The State of its views is a
// *Record.
func (sh *Shape) Schema() *Schema { return sh.schema }

// New returns a record in which nothing is set, not even defaults: the way to
// fill an input.
func (sh *Shape) New() Record { return *sh.view().State.(*Record) }

// over returns a view of the record that p points to, or of a copy if that is one of another shape.
func (sh *Shape) over(p any) View {
	if r := p.(*Record); r.shape == sh {
		return View{r, r.channels}
	}
	v := sh.view()
	sh.assign(v.State, p)
	return v
}

func (sh *Shape) own(p any) {
	if r := p.(*Record); r.shape == sh {
		*r = *sh.copy(r).(*Record)
	}
}

func (sh *Shape) view() View {
	r := &Record{shape: sh, cells: make([]any, len(sh.bindings)), channels: make([]Channel, len(sh.bindings))}
	for i, b := range sh.bindings {
		r.cells[i], r.channels[i] = b.make()
	}
	return View{State: r, Channels: r.channels}
}

func (sh *Shape) views(n int) []View {
	views := make([]View, n)
	for i := range views {
		views[i] = sh.view()
	}
	return views
}

func (sh *Shape) copy(src any) any {
	r := sh.view().State
	sh.assign(r, src)
	return r
}

// assign copies one record to another. A record that was never given a shape is
// an empty one.
func (sh *Shape) assign(dst, src any) {
	d, s := dst.(*Record), src.(*Record)
	if s.shape == nil {
		s = sh.view().State.(*Record)
	}
	if d.shape != sh || s.shape != sh {
		panic("state: a Record was given to a graph of another Shape; make it with this graph's Shape.New")
	}
	for i := range d.cells {
		sh.bindings[i].assign(d.cells[i], s.cells[i])
	}
}

func (sh *Shape) decode(view View, i int, data []byte) error {
	v, err := decodePlain(data)
	if err != nil {
		return fmt.Errorf("state: field %q: %w", sh.schema.fields[i].Name, err)
	}
	return sh.named(i, sh.bindings[i].write(view.State.(*Record).cells[i], v))
}

func (sh *Shape) check(view View, i int) error {
	c := view.State.(*Record).cells[i]
	v, ok := sh.bindings[i].get(c)
	if _, handle := c.(*Untracked[plain]); handle || !ok || sh.foreign[i] {
		return nil
	}
	_, err := sh.types[i].convert(v, 0)
	return sh.named(i, err)
}

// named returns err with the name of field i in front, as an error.
func (sh *Shape) named(i int, err *TypeError) error {
	if err == nil {
		return nil
	}
	name := sh.schema.fields[i].Name
	if err.text {
		return &TextError{name, err.Path}
	}
	return fmt.Errorf("state: %w", err.under(name))
}

func (sh *Shape) refuse(name string) string {
	if _, dup := sh.schema.index[name]; dup {
		return "the field is declared twice"
	}
	return badName(name)
}

func (f *RecordField) field() Field {
	if f.Channel != nil {
		return Field{Name: f.Name, Type: f.Channel.name, Turn: f.Turn, Aside: f.Aside, Default: slices.Clone(f.Default), Version: max(1, f.Version), Was: f.Was}
	}
	return Field{
		Name: f.Name, Type: string(f.kind()) + " " + f.Type.String(),
		Turn: f.Turn, Aside: f.Aside, Default: slices.Clone(f.Default), Version: max(1, f.Version), Was: f.Was, Kind: f.kind(),
	}
}

func (f *RecordField) kind() Kind {
	if f.Kind == "" {
		return KindValue
	}
	return f.Kind
}

// bind makes the binding of the field; why says what is wrong with it.
func (f *RecordField) bind() (b binding, why string) {
	row, ok := kinds[f.kind()]
	if !ok {
		return b, fmt.Sprintf("unknown kind %q; the kinds are %v", f.Kind, Kinds())
	}
	if f.Channel != nil && f.Kind != "" {
		return b, fmt.Sprintf("it has a channel of its own, and the kind %q; give one of them", f.Kind)
	}
	if f.Version < 0 {
		return b, fmt.Sprintf("its version is %d; versions count from 1", f.Version)
	}
	if f.Was != "" {
		if why := badName(f.Was); why != "" {
			return b, "its former name: " + why
		}
	}
	t := f.Type
	if f.Channel != nil {
		return f.Channel.bind(&t), ""
	}
	if b, ok = row.bind(&t); !ok {
		why = fmt.Sprintf("a %s holds %s, not %s", f.kind(), row.holds, t)
	}
	return b, why
}
