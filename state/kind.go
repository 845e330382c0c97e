package state

import (
	"reflect"
	"slices"
	"strings"
)

// Kind names a channel of this package that a field without a Go type can have too, as the fields
// of package record do.
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

var kinds = []Kind{
	KindDeepMerge, KindEphemeral, KindLatest, KindList, KindMap, KindMax, KindMin, KindOnce, KindSet, KindStack,
	KindSum, KindTopic, KindUntracked, KindValue,
}

// Kinds returns all kinds, sorted.
func Kinds() []Kind { return slices.Clone(kinds) }

// kindOf returns the kind of a channel of this package; "" for any other.
func kindOf(t reflect.Type) Kind {
	name, _, _ := strings.Cut(t.Name(), "[")
	kind := Kind(strings.ToLower(name))
	if !slices.Contains(kinds, kind) || t.PkgPath() != reflect.TypeFor[Schema]().PkgPath() {
		return ""
	}
	return kind
}
