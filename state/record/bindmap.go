package record

import (
	"maps"
	"slices"

	"github.com/weftrun/weft/state"
)

// bindMap binds to a Map. A null entry deletes its key, as in a JSON merge patch.
func bindMap(t *Type) (binding, bool) {
	ok := t.holds("map")
	b := bindingOf[state.Map[string, plain]]()
	b.get = func(c any) (any, bool) {
		m := c.(*state.Map[string, plain])
		out := make(map[string]any, m.Len())
		for k, p := range m.All() {
			out[k] = p.v
		}
		return out, true
	}
	b.write = func(c any, v any) *TypeError {
		put, del, err := entries(t, v)
		m := c.(*state.Map[string, plain])
		for _, k := range del {
			m.Delete(k)
		}
		for k, p := range put {
			m.Put(k, p)
		}
		return err
	}
	b.overwrite = func(c any, v any) *TypeError {
		put, _, err := entries(t, v)
		if err == nil {
			c.(*state.Map[string, plain]).Overwrite(put)
		}
		return err
	}
	return b, ok
}

// entries converts v to entries of the map type t, and the keys of its nulls.
func entries(t *Type, v any) (put map[string]plain, del []string, err *TypeError) {
	v, err = simplify(v)
	if err != nil || v == nil {
		return nil, nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, nil, t.mismatch(v)
	}
	put = make(map[string]plain, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if err := checkKey(k); err != nil {
			return nil, nil, err
		}
		if m[k] == nil {
			del = append(del, k)
			continue
		}
		c, err := t.elem.convert(m[k], 0)
		if err != nil {
			return nil, nil, err.under(keyPath(k))
		}
		put[k] = plain{c}
	}
	return put, del, nil
}
