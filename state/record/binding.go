package record

import (
	"reflect"

	"github.com/weftrun/weft/state"
)

// binding ties a field of a Record to an ordinary channel: how to make one, to
// copy one, and to reach it, by its pointer, with plain values. Writes convert the whole value
// before they touch the channel.
//
// make makes channels for n records, in one allocation, for these fields of each, which all have
// the channel type. It stores each by its pointer in cells, and as the runtime sees it in channels:
// field f of record i at index i*stride+f.
type binding struct {
	channel   reflect.Type
	make      func(n int, fields []int, cells []any, channels []state.Channel, stride int)
	assign    func(dst, src any)
	get       func(c any) (v any, ok bool)
	write     func(c any, v any) *TypeError
	overwrite func(c any, v any) *TypeError
}

// pointer is a channel type by its pointer.
type pointer[C any] interface {
	*C
	state.Channeler
}

// bindingOf returns a binding to C that still lacks its plain values.
func bindingOf[C any, P pointer[C]]() binding {
	return binding{
		channel: reflect.TypeFor[C](),
		make: func(n int, fields []int, cells []any, channels []state.Channel, stride int) {
			all := make([]C, n*len(fields))
			for i := range all {
				p, at := P(&all[i]), i/len(fields)*stride+fields[i%len(fields)]
				cells[at], channels[at] = p, p.Channel()
			}
		},
		assign: func(dst, src any) { *dst.(*C) = *src.(*C) },
	}
}

// writer returns a write of one value of type t, which is a T in Go. nil writes
// nothing.
func writer[T any](t *Type, write func(any, T)) func(any, any) *TypeError {
	return func(c any, v any) *TypeError {
		v, err := simplify(v)
		if v == nil || err != nil {
			return err
		}
		if v, err = t.convert(v, 0); err == nil {
			write(c, v.(T))
		}
		return err
	}
}

// kinds gives the types that each kind holds, and binds it to one; ok is false when
// the type is another.
var kinds = map[state.Kind]struct {
	holds string
	bind  func(*Type) (b binding, ok bool)
}{
	state.KindValue:     {"any type", bindScalar[state.Value[plain]]},
	state.KindLatest:    {"any type", bindScalar[state.Latest[plain]]},
	state.KindEphemeral: {"any type", bindScalar[state.Ephemeral[plain]]},
	state.KindUntracked: {"any type", bindUntracked},
	state.KindList:      {"a list<T>", bindList},
	state.KindTopic:     {"a list<T>", bindTopic},
	state.KindSum:       {"an int or a number", bindSum},
	state.KindMax:       {"an int, a number or a string", bindMax},
	state.KindMin:       {"an int, a number or a string", bindMin},
	state.KindMap:       {"a map<T>", bindMap},
	state.KindSet:       {"a list<T> of int, number or string", bindSet},
	state.KindOnce:      {"any type", bindOnce},
	state.KindStack:     {"a list<T>", bindStack},
	state.KindDeepMerge: {"a map<T>, or an object whose members are all optional", bindDeepMerge},
}

// holds reports whether t has the base type base, a list or a map. It accepts the type any as a
// list or a map of any.
func (t *Type) holds(base string) bool {
	if t.base == "" {
		*t = Type{base: base, elem: &Type{}}
	}
	return t.base == base
}
