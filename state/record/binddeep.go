package record

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weftrun/weft/state"
)

// deepMerge is state.DeepMerge for the values of a Record.
type deepMerge struct{}

func (deepMerge) Reduce(acc, patch plain) plain {
	members, ok := patch.v.(map[string]any)
	if !ok { // only what another version of the shape stored
		return patch
	}
	old, _ := acc.v.(map[string]any)
	return plain{state.DeepMerge{}.Reduce(old, members)}
}

// bindDeepMerge binds to a channel whose writes are patches.
func bindDeepMerge(t *Type) (binding, bool) {
	if t.base == "" {
		t.holds("map")
	}
	type channel = state.Reduced[plain, deepMerge]
	b := bindingOf[channel]()
	b.get = func(c any) (any, bool) {
		v := c.(*channel).Get().v
		return v, v != nil
	}
	b.write = func(c any, v any) *TypeError {
		patch, err := t.convertPatch(v, 0)
		if patch != nil && err == nil {
			c.(*channel).Update(plain{patch})
		}
		return err
	}
	b.overwrite = func(c any, v any) *TypeError {
		whole, err := t.convert(v, 0)
		if err == nil {
			c.(*channel).Overwrite(plain{whole})
		}
		return err
	}
	return b, t.partial() && (t.base == "map" || t.base == "object")
}

// partial reports whether each object in t may lack all its members, so that every merge
// of patches is a value of t. What is in a list is replaced as a whole, and may be
// anything.
func (t *Type) partial() bool {
	if t.base == "map" {
		return t.elem.partial()
	}
	for i := range t.members {
		if m := &t.members[i]; !m.Optional || m.Default != nil || !m.Type.partial() {
			return false
		}
	}
	return true
}

// convertPatch is convert for a patch: members may be missing, and a null stays.
func (t *Type) convertPatch(v any, depth int) (any, *TypeError) {
	if depth > maxValueDepth {
		return nil, &TypeError{What: fmt.Sprintf("nested deeper than %d levels", maxValueDepth)}
	}
	v, err := simplify(v)
	m, ok := v.(map[string]any)
	switch {
	case err != nil:
		return nil, err
	case v == nil:
		return nil, nil
	case !ok && (t.base == "map" || t.base == "object"):
		return nil, t.mismatch(v)
	case !ok || t.base != "" && t.base != "map" && t.base != "object":
		return t.convert(v, depth)
	}
	out := make(map[string]any, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		member := t.inside(name)
		if member == nil {
			return nil, (&TypeError{What: "unknown member; the members are " + t.memberList()}).under(keyPath(name))
		}
		if err := checkKey(name); err != nil {
			return nil, err
		}
		if out[name], err = member.convertPatch(m[name], depth+1); err != nil {
			return nil, err.under(keyPath(name))
		}
	}
	return out, nil
}

// inside returns the type of what is under a name in a value of type t; nil if nothing can be.
func (t *Type) inside(name string) *Type {
	switch t.base {
	case "":
		return t
	case "map":
		return t.elem
	}
	for i := range t.members {
		if t.members[i].Name == name {
			return &t.members[i].Type
		}
	}
	return nil
}
