package state

import (
	"maps"
	"slices"
)

// Kind names the channel of a field of a [Record].
type Kind string

// The kinds are the channels of this package.
const (
	KindValue     Kind = "value" // Value, the default
	KindLatest    Kind = "latest"
	KindEphemeral Kind = "ephemeral"
	KindUntracked Kind = "untracked"
	KindList      Kind = "list"
	KindTopic     Kind = "topic"
	KindSum       Kind = "sum"
	KindMax       Kind = "max"
	KindMin       Kind = "min"
	KindMap       Kind = "map"
	KindSet       Kind = "set"
	KindOnce      Kind = "once"
	KindStack     Kind = "stack"
	KindDeepMerge Kind = "deep_merge" // Reduced with DeepMerge
)

// Kinds returns all kinds, sorted.
func Kinds() []Kind { return slices.Sorted(maps.Keys(kinds)) }

// kinds says what types each kind holds, and binds it to one; ok is false when
// the type is another.
var kinds = map[Kind]struct {
	holds string
	bind  func(*Type) (b binding, ok bool)
}{
	KindValue:     {"any type", bindScalar[Value[plain]]},
	KindLatest:    {"any type", bindScalar[Latest[plain]]},
	KindEphemeral: {"any type", bindScalar[Ephemeral[plain]]},
	KindUntracked: {"any type", bindUntracked},
	KindList:      {"a list<T>", bindList},
	KindTopic:     {"a list<T>", bindTopic},
	KindSum:       {"an int or a number", bindSum},
	KindMax:       {"an int, a number or a string", bindMax},
	KindMin:       {"an int, a number or a string", bindMin},
	KindMap:       {"a map<T>", bindMap},
	KindSet:       {"a list<T> of int, number or string", bindSet},
	KindOnce:      {"any type", bindOnce},
	KindStack:     {"a list<T>", bindStack},
	KindDeepMerge: {"a map<T>, or an object whose members are all optional", bindDeepMerge},
}

// holds reports whether t is a list or a map, whichever base says. It takes any
// for the one that holds any.
func (t *Type) holds(base string) bool {
	if t.base == "" {
		*t = Type{base: base, elem: &Type{}}
	}
	return t.base == base
}
