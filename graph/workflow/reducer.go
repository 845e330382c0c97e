package workflow

import (
	"maps"
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/state"
	chat "github.com/weftrun/weft/state/message"
)

// Reducer is a reducer of a program, for the fields of files: see Options.Reducers.
type Reducer struct {
	channel *state.Foreign
	typ     state.Type
}

// ReducerOf returns R, which merges values of the Go type T, as a Reducer. A field names it
// and has the type that [TypeOf] gives for T:
//
//	Options{Reducers: map[string]workflow.Reducer{"go:longest": workflow.ReducerOf[string, Longest]()}}
//
//	state: {best: {type: string, reducer: go:longest}}
//
// In a struct of channels the same field is a state.Reduced[T, R].
func ReducerOf[T any, R state.Reducer[T]]() Reducer {
	return Reducer{state.ForeignOf[state.Reduced[T, R]](), TypeOf[T]()}
}

// reducerNames returns the names that a field may give.
func (o *Options) reducerNames() []string {
	return slices.Concat(slices.Sorted(maps.Keys(reducers)), slices.Sorted(maps.Keys(o.Reducers)))
}

// messagesName is the type of a conversation, and its reducer.
const messagesName = "messages"

// messagesType is what a conversation is to expressions.
var messagesType = func() state.Type {
	list, _ := state.ParseType("list<object{id?: string, role: string, name?: string, content?: any, tool_calls?: list<any>, "+
		"tool_results?: list<any>, metadata?: map<any>, usage?: any, created?: string}>", nil)
	named, _ := state.ParseType(messagesName, map[string]state.Type{messagesName: list})
	return named // the tests use it
}()

var messagesChannel = state.ForeignOf[chat.Log]()

// fieldType is typ for a field of the state, which may also be a conversation.
func (s *source) fieldType(n *yaml.Node, types map[string]state.Type) (state.Type, bool) {
	if n := deref(n); n.Kind == yaml.ScalarNode && n.Value == messagesName {
		return messagesType, true
	}
	return s.typ(n, types)
}

// keepMessages gives a field of the type messages its channel.
func (f *field) keepMessages() {
	if f.Type.String() == messagesName {
		f.reducer, f.Channel = messagesName, messagesChannel
	}
}

// record returns the field as package state knows it. What is written to a conversation is
// judged by its channel: it may be a message, a text or a removal.
func (f *field) record() state.RecordField {
	r := f.RecordField
	if f.reducer == messagesName {
		r.Type = state.Type{}
	}
	return r
}

// single reports whether the field takes one write in a step.
func (f *field) single() bool { return f.reducer == "replace" || f.reducer == "once" }

// TypeOf returns the type of the JSON form of a Go type, for Options.Types: a struct is an
// object of its json fields, those with omitempty, pointers, lists and maps optional.
// What marshals itself is a string if it does so as text, and else any; so is a type inside
// of itself.
func TypeOf[T any]() state.Type { return typeOf(reflect.TypeFor[T]()) }

func typeOf(t reflect.Type, open ...reflect.Type) state.Type {
	switch {
	case slices.Contains(open, t) || t.Implements(jsonMarshaler) || reflect.PointerTo(t).Implements(jsonMarshaler):
		return state.Type{}
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
		return state.ListType(typeOf(t.Elem(), open...))
	case k == reflect.Map:
		return state.MapType(typeOf(t.Elem(), open...))
	case k == reflect.Struct:
		return structType(t, open)
	}
	return state.Type{}
}

func structType(t reflect.Type, open []reflect.Type) state.Type {
	var members []state.Member
	for _, p := range paramsOf(t) {
		empty := slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, p.typ.Kind())
		members = append(members, state.Member{Name: p.name, Type: typeOf(p.typ, open...), Optional: !p.required || empty})
	}
	object, err := state.ObjectType(members...)
	if err != nil {
		return state.Type{} // its names are none that a file could use
	}
	return object
}

func scalarType(name string) state.Type {
	t, _ := state.ParseType(name, nil) // it is a word of the language
	return t
}

// sameType compares two types without their names; any is the same as all.
func sameType(a, b state.Type) bool {
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
