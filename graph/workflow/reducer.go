package workflow

import (
	"maps"
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/internal/exprs"
	"github.com/weftrun/weft/state"
	chat "github.com/weftrun/weft/state/message"
	"github.com/weftrun/weft/state/record"
)

// Reducer is a reducer of a program, for the fields of files: see Options.Reducers.
type Reducer struct {
	channel *record.Foreign
	typ     record.Type
}

// ReducerOf returns R, which merges values of the Go type T, as a Reducer. A field names it
// and has the type that [TypeOf] gives for T:
//
//	Options{Reducers: map[string]workflow.Reducer{
//		"go:longest": workflow.ReducerOf[string, Longest](),
//	}}
//
//	state: {best: {type: string, reducer: go:longest}}
//
// In a struct of channels the same field is a state.Reduced[T, R].
func ReducerOf[T any, R state.Reducer[T]]() Reducer {
	return Reducer{record.ForeignOf[state.Reduced[T, R]](), TypeOf[T]()}
}

// reducerNames returns the names that a field may give.
func (o *Options) reducerNames() []string {
	return slices.Concat(slices.Sorted(maps.Keys(reducers)), slices.Sorted(maps.Keys(o.Reducers)))
}

// channelType is a type that is only for fields. A field of it has the channel, and the reducer of
// the same name.
type channelType struct {
	typ     record.Type // for expressions
	channel *record.Foreign
	takes   []exprs.Kind // what may be written
	holds   string
}

// The names of the types that are only for fields.
const (
	messagesName = "messages"
	contextName  = "context"
)

// channelTypes are the types that are only for fields, by name.
var channelTypes = map[string]channelType{
	messagesName: {
		namedType(messagesName, "list<object{id?: string, role: string, name?: string, content?: any, tool_calls?: list<any>, "+
			"tool_results?: list<any>, metadata?: map<any>, usage?: any, created?: string}>"),
		record.ForeignOf[chat.Log](),
		[]exprs.Kind{exprs.ListKind, exprs.MapKind, exprs.StringKind, exprs.AnyKind, exprs.NilKind}, "a message, a list of messages or a text",
	},
	contextName: {
		namedType(contextName, "map<map<map<any>>>"), record.ForeignOf[state.ContextData](),
		[]exprs.Kind{exprs.MapKind, exprs.AnyKind, exprs.NilKind}, "contexts as a map: type, key, fields",
	},
}

// namedType returns a type with a name, from its text.
func namedType(name, text string) record.Type {
	t, _ := record.ParseType(text, nil)
	named, _ := record.ParseType(name, map[string]record.Type{name: t})
	return named // the tests use it
}

// fieldType is typ for a field of the state, which may also be a channel type.
func (s *source) fieldType(n *yaml.Node, types map[string]record.Type) (record.Type, bool) {
	if n := deref(n); n.Kind == yaml.ScalarNode {
		if c, ok := channelTypes[n.Value]; ok {
			return c.typ, true
		}
	}
	return s.typ(n, types)
}

// setChannel sets the reducer and the channel of a field with a channel type.
func (f *field) setChannel() {
	name := f.Type.String()
	if c, ok := channelTypes[name]; ok {
		f.reducer, f.Channel = name, c.channel
	}
}

// record returns the field for package record. The channel of a channel type checks itself what is
// written to it.
func (f *field) record() record.Field {
	r := f.Field
	if _, ok := channelTypes[f.reducer]; ok {
		r.Type = record.Type{}
	}
	return r
}

// single reports whether the field takes one write in a step.
func (f *field) single() bool { return f.reducer == "replace" || f.reducer == "once" }

// TypeOf returns the type of the JSON form of a Go type, for Options.Types: a struct is an
// object of its json fields, those with omitempty, pointers, lists and maps optional.
// What marshals itself is a string if it does so as text, and else any; so is a type inside
// of itself.
func TypeOf[T any]() record.Type { return typeOf(reflect.TypeFor[T]()) }

func typeOf(t reflect.Type, open ...reflect.Type) record.Type {
	switch {
	case slices.Contains(open, t) || t.Implements(jsonMarshaler) || reflect.PointerTo(t).Implements(jsonMarshaler):
		return record.Type{}
	case t.Implements(textMarshaler) || reflect.PointerTo(t).Implements(textMarshaler):
		return scalarType("string")
	}
	open = append(slices.Clip(open), t)
	switch k := t.Kind(); {
	case k == reflect.Bool:
		return scalarType("bool")
	case k == reflect.String:
		return scalarType("string")
	case k == reflect.Float32 || k == reflect.Float64:
		return scalarType("number")
	case k >= reflect.Int && k <= reflect.Uintptr:
		return scalarType("int")
	case k == reflect.Pointer:
		return typeOf(t.Elem(), open...)
	case k == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return scalarType("string")
	case k == reflect.Slice || k == reflect.Array:
		return record.ListType(typeOf(t.Elem(), open...))
	case k == reflect.Map:
		return record.MapType(typeOf(t.Elem(), open...))
	case k == reflect.Struct:
		return structType(t, open)
	}
	return record.Type{}
}

func structType(t reflect.Type, open []reflect.Type) record.Type {
	var members []record.Member
	for _, p := range paramsOf(t) {
		empty := slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, p.typ.Kind())
		members = append(members, record.Member{Name: p.name, Type: typeOf(p.typ, open...), Optional: !p.required || empty})
	}
	object, err := record.ObjectType(members...)
	if err != nil {
		return record.Type{} // its names are none that a file could use
	}
	return object
}

func scalarType(name string) record.Type {
	t, _ := record.ParseType(name, nil) // it is a word of the language
	return t
}

// sameType compares two types without their names; any is the same as all.
func sameType(a, b record.Type) bool {
	if a.Base() == "any" || b.Base() == "any" {
		return true
	}
	x, y := a.Members(), b.Members()
	if a.Base() != b.Base() || len(x) != len(y) || !sameType(a.Elem(), b.Elem()) {
		return false
	}
	for i := range x {
		if x[i].Name != y[i].Name || !sameType(x[i].Type, y[i].Type) {
			return false
		}
	}
	return true
}
