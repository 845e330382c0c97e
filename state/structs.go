package state

import (
	"fmt"
	"reflect"
)

// SchemaOf returns the schema of the struct type S. It reports all mistakes in the type as one
// *SchemaError. Mistakes are a field that is neither a channel nor a group, an unexported field,
// and two fields with one name. Others are a type that cannot be stored, and an invalid tag or
// default.
func SchemaOf[S any]() (*Schema, error) {
	t := reflect.TypeFor[S]()
	w := walker{seen: map[string]string{}}
	switch _, byValue := any(new(S)).(interface{ Schema() *Schema }); {
	case byValue:
		w.fail(t.String(), "its fields are those of a value, not of the type; use the method Schema of a value")
	case t.Kind() != reflect.Struct:
		w.fail(t.String(), "a state is a struct of channels, not a %s", t.Kind())
	default:
		w.walk(t, t.Name(), "", nil, false)
	}
	fields := make([]Field, len(w.leaves))
	for i, l := range w.leaves {
		fields[i] = l.Field
	}
	return newSchema(t.String(), fields, &structs[S]{w.leaves}, w.mistakes)
}

// structs is the layout of states that are structs of type S.
type structs[S any] struct{ leaves []leaf }

// small is a state of a few fields with room for its channels: one allocation for both.
type small[S any] struct {
	state    S
	channels [8]Channel
}

func (l *structs[S]) few() bool { return len(l.leaves) <= len(small[S]{}.channels) }

func (l *structs[S]) Blank() View {
	if !l.few() {
		return l.view(new(S), make([]Channel, len(l.leaves)))
	}
	s := new(small[S])
	return l.view(&s.state, s.channels[:])
}

func (l *structs[S]) Blanks(n int) []View {
	views, states, channels := make([]View, n), make([]S, n), make([]Channel, n*len(l.leaves))
	for i := range views {
		views[i] = l.view(&states[i], channels[i*len(l.leaves):])
	}
	return views
}

func (l *structs[S]) Over(p any) View {
	if s, ok := p.(*small[S]); ok {
		return View{State: &s.state, Channels: s.channels[:len(l.leaves):len(l.leaves)]}
	}
	return l.view(p, make([]Channel, len(l.leaves)))
}

// view returns the view of the state that p points to. It stores the channels in channels.
func (l *structs[S]) view(p any, channels []Channel) View {
	v := View{State: p, Channels: channels[:len(l.leaves):len(l.leaves)]}
	root := reflect.ValueOf(p).Elem()
	for i, f := range l.leaves {
		v.Channels[i] = root.FieldByIndex(f.index).Addr().Interface().(Channeler).Channel()
	}
	return v
}

func (*structs[S]) Copy(p any) any {
	own := *p.(*S)
	return &own
}

func (*structs[S]) Own(any) {}

func (*structs[S]) Assign(dst, src any) { *dst.(*S) = *src.(*S) }

func (l *structs[S]) AssignField(dst, src View, i int) {
	at := l.leaves[i].index
	reflect.ValueOf(dst.State).Elem().FieldByIndex(at).Set(reflect.ValueOf(src.State).Elem().FieldByIndex(at))
}

func (l *structs[S]) Decode(v View, i int, data []byte) error {
	if err := v.Channels[i].UnmarshalJSON(data); err != nil {
		return fmt.Errorf("state: field %q (%s): %w", l.leaves[i].Name, l.leaves[i].Type, err)
	}
	return nil
}

// Check returns nil: decoding has checked the Go types.
func (*structs[S]) Check(View, int) error { return nil }
