package server

import (
	"encoding/json"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/values"
	"github.com/weftrun/weft/server/wire"
)

// tree is a decoded object.
type tree = map[string]any

// decoded returns stored metadata to compare them.
func decoded(o wire.Object) tree {
	t := make(tree, len(o))
	for key, raw := range o {
		v, err := values.Decode(raw)
		if err == nil {
			t[key] = v
		}
	}
	return t
}

// wanted returns the metadata that a client asks for. Numbers that are expensive to compare are an
// error.
func wanted(o wire.Object) (tree, error) {
	t := decoded(o)
	if n, found := values.Costly(t, document.MaxNumber); found {
		return nil, invalid("metadata must not have the number %.20s…", n)
	}
	return t, nil
}

// contains reports whether an object has all that a filter has: objects inside of it in part,
// everything else as a whole.
func contains(have, filter tree) bool {
	for key, want := range filter {
		got, found := have[key]
		if !found {
			return false
		}
		inner, nested := want.(tree)
		object, isObject := got.(tree)
		switch {
		case nested && isObject:
			if !contains(object, inner) {
				return false
			}
		case !values.Equal(got, want):
			return false
		}
	}
	return true
}

// Filter selects by metadata. A key has the value that it must be equal to, or an object with $eq
// or with $contains: a list that must have the value, or all values if it is a list too.
type Filter map[string]any

// accepts reports whether metadata pass the filter.
func (f Filter) accepts(metadata tree) bool {
	for key, want := range f {
		got := metadata[key]
		ops, isOps := want.(map[string]any)
		switch {
		case !isOps:
			if !values.Equal(got, plain(want)) {
				return false
			}
		case !acceptsAll(got, ops):
			return false
		}
	}
	return true
}

func acceptsAll(got any, ops map[string]any) bool {
	for op, want := range ops {
		switch op {
		case "$eq":
			if !values.Equal(got, plain(want)) {
				return false
			}
		case "$contains":
			if !containsAll(got, plain(want)) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// containsAll reports whether a list has a value, or all values of a list.
func containsAll(got, want any) bool {
	list, ok := got.([]any)
	if !ok {
		return false
	}
	wanted, ok := want.([]any)
	if !ok {
		wanted = []any{want}
	}
	for _, w := range wanted {
		found := false
		for _, g := range list {
			found = found || values.Equal(g, w)
		}
		if !found {
			return false
		}
	}
	return true
}

// plain returns a value of a Rule as it is decoded from JSON.
func plain(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return v
	}
	decoded, err := values.Decode(data)
	if err != nil {
		return v
	}
	return decoded
}
