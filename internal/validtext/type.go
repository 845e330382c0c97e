package validtext

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"time"
)

// form is the way in which a value of a type is checked.
type form int

const (
	none    form = iota // holds no text
	text                // a string
	raw                 // raw JSON
	writes              // implements json.Marshaler or encoding.TextMarshaler
	pointer             // a pointer
	dynamic             // an interface
	list                // a slice or an array
	entries             // a map
	members             // a struct
)

// typ describes a type.
type typ struct {
	form          form
	pointerWrites bool // the pointer type implements json.Marshaler or encoding.TextMarshaler
	key, elem     *typ
	members       []member // only those that can hold text
}

// member is a field of a struct.
type member struct {
	name  string // as a step of a path; "" for an embedded field
	index int
	typ   *typ
}

// types caches a *typ for each reflect.Type.
var types sync.Map

func typeOf(t reflect.Type) *typ {
	if known, ok := types.Load(t); ok {
		return known.(*typ)
	}
	made, _ := types.LoadOrStore(t, builder{}.build(t))
	return made.(*typ)
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()

	forms = map[reflect.Type]form{
		reflect.TypeFor[json.RawMessage](): raw,
		reflect.TypeFor[json.Number]():     none, // the encoder checks it
		reflect.TypeFor[time.Time]():       none,
	}
)

// builder holds the types under construction, which may contain one another.
type builder map[reflect.Type]*typ

func (b builder) build(t reflect.Type) *typ {
	if known, ok := b[t]; ok {
		return known
	}
	made := &typ{form: formOf(t)}
	b[t] = made
	if made.form != none && !holds(t, map[reflect.Type]bool{}) {
		made.form = none
	}
	if made.form == none || made.form == writes {
		return made
	}
	made.pointerWrites = made.form != raw && writesItself(reflect.PointerTo(t))
	switch made.form {
	case pointer, list:
		made.elem = b.build(t.Elem())
	case entries:
		made.key, made.elem = b.build(t.Key()), b.build(t.Elem())
		if t.Key().Kind() == reflect.String { // before its methods
			made.key = &typ{form: text}
		}
	case members:
		for i := range t.NumField() {
			f := t.Field(i)
			name, in := fieldName(f)
			if m := b.build(f.Type); in && m.form != none {
				made.members = append(made.members, member{name, i, m})
			}
		}
	}
	return made
}

func writesItself(t reflect.Type) bool { return t.Implements(marshaler) || t.Implements(textMarshaler) }

// Checked is implemented by types whose text has been checked before. The keys of a map of such
// values have been checked too.
type Checked interface{ TextIsChecked() }

var checked = reflect.TypeFor[Checked]()

// formOf returns the form of a type, without regard to its elements.
func formOf(t reflect.Type) form {
	if t.Implements(checked) || t.Kind() == reflect.Map && t.Elem().Implements(checked) {
		return none
	}
	if f, ok := forms[t]; ok {
		return f
	}
	if t.Kind() == reflect.Pointer {
		if f, ok := forms[t.Elem()]; ok && f == none {
			return none
		}
	}
	if t.Kind() != reflect.Interface && writesItself(t) {
		return writes
	}
	switch t.Kind() {
	case reflect.String:
		return text
	case reflect.Pointer:
		return pointer
	case reflect.Interface:
		return dynamic
	case reflect.Slice, reflect.Array:
		return list
	case reflect.Map:
		return entries
	case reflect.Struct:
		return members
	}
	return none
}

// holds reports whether values of a type can hold text. It returns false for the types in seen,
// which a caller is already checking.
func holds(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	f := formOf(t)
	if f != none && f != raw && writesItself(reflect.PointerTo(t)) {
		return true
	}
	switch f {
	case none:
		return false
	case pointer, list:
		return holds(t.Elem(), seen)
	case entries:
		return t.Key().Kind() == reflect.String || holds(t.Key(), seen) || holds(t.Elem(), seen)
	case members:
		for i := range t.NumField() {
			f := t.Field(i)
			if _, in := fieldName(f); in && holds(f.Type, seen) {
				return true
			}
		}
		return false
	}
	return true
}

// fieldName returns the JSON name of a field as a step of a path, and whether JSON has the field.
func fieldName(f reflect.StructField) (name string, in bool) {
	tag := f.Tag.Get("json")
	if tag == "-" {
		return "", false
	}
	name, _, _ = strings.Cut(tag, ",")
	if f.Anonymous {
		t := f.Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() == reflect.Struct { // exported or not, JSON has its fields
			if name == "" {
				return "", true
			}
			return "." + name, true
		}
	}
	if !f.IsExported() {
		return "", false
	}
	if name == "" {
		name = f.Name
	}
	return "." + name, true
}
