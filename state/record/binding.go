package record

import (
	"reflect"

	"github.com/weftrun/weft/state"
)

// binding lets fields of a Record use a channel type. Its functions make and copy channels, and
// read and write them with plain values; c, dst and src are pointers to channels. A write converts
// the whole value before it changes the channel.
//
// make makes the channels of the given fields of n records, in one allocation. All these fields
// have the channel type. make stores the pointer to each channel in cells, and the channel as the
// runtime sees it in channels: field f of record i has the index i*stride+f.
type binding struct {
	channel   reflect.Type
	make      func(n int, fields []int, cells []any, channels []state.Channel, stride int)
	assign    func(dst, src any)
	get       func(c any) (v any, ok bool)
	write     func(c any, v any) *TypeError
	overwrite func(c any, v any) *TypeError
}

// pointer is the type of pointers to a channel type C.
type pointer[C any] interface {
	*C
	state.Channeler
}

// bindingOf returns a binding to C. The caller sets its functions for plain values: get, write and
// overwrite.
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

// writer returns a function of a binding that writes one value of type t, whose Go type is T. It
// writes nothing for nil.
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

// kinds describes for each kind of channel the types that it holds, and has the function that binds
// a type to it. ok is false if the kind does not hold the type.
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

// holds reports whether t has the base type base, which is "list" or "map". If t is any, holds
// first makes it a list or a map of any.
func (t *Type) holds(base string) bool {
	if t.base == "" {
		*t = Type{base: base, elem: &Type{}}
	}
	return t.base == base
}
