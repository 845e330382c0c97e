package exprs

import (
	"fmt"
	"unicode/utf8"
)

// skipped is the value of a member whose ?. found nil, up to the end of the chain of members.
var skipped any = new(struct{ int })

// member evaluates base.name and base[key].
func (n *node) member() evaluator {
	of, optional := n.args[0].evaluator(), n.optional
	inGroups := n.args[0].typ.isGroups()
	fetch := func(r *run, base, key any) (any, error) {
		v, err := r.meter.fetch(base, key)
		if err != nil {
			return nil, n.at(err)
		}
		if v == nil && inGroups {
			return []any{}, nil
		}
		v, err = r.meter.normal(v)
		return v, n.at(err)
	}
	if name, ok := n.args[1].isText(); ok {
		var key any = name
		if n.args[0].kind == variableNode {
			of = n.args[0].object()
		}
		return func(r *run) (any, error) {
			base, err := of(r)
			if err != nil || base == skipped {
				return base, err
			}
			if object, ok := base.(Members); ok {
				v, err := r.meter.normal(object.Member(name))
				return v, n.at(err)
			}
			if object, ok := base.(map[string]any); ok {
				if v := object[name]; isNormal(v) {
					return v, nil
				}
			}
			if base == nil {
				return n.ofNil(optional, name)
			}
			return fetch(r, base, key)
		}
	}
	key := n.args[1].evaluator()
	return func(r *run) (any, error) {
		base, err := of(r)
		if err != nil || base == skipped {
			return base, err
		}
		if base == nil && optional {
			return skipped, nil
		}
		k, err := key(r)
		if err != nil {
			return nil, err
		}
		if base == nil {
			return n.ofNil(false, k)
		}
		if err := r.meter.charge(k); err != nil {
			return nil, n.at(err)
		}
		return fetch(r, base, k)
	}
}

// object returns the evaluator of a variable of which one member is read.
func (n *node) object() evaluator {
	name, value := n.name, n.variable()
	return func(r *run) (any, error) {
		if object, ok := r.vars[name].(Members); ok {
			return object, nil
		}
		return value(r)
	}
}

// ofNil returns the value of a member of nil.
func (n *node) ofNil(optional bool, key any) (any, error) {
	if optional {
		return skipped, nil
	}
	return nil, &placed{pos: n.pos, end: n.end, err: fmt.Errorf("cannot fetch %v from nil", key),
		hint: "guard it with ?. or give a default with ??"}
}

func (n *node) slice() evaluator {
	of := n.args[0].evaluator()
	bounds := [2]evaluator{}
	for i, bound := range n.args[1:] {
		if bound != nil {
			bounds[i] = bound.evaluator()
		}
	}
	return func(r *run) (any, error) {
		v, err := of(r)
		if err != nil {
			return nil, err
		}
		var at [2]*int64
		for i, bound := range bounds {
			if bound == nil {
				continue
			}
			b, err := bound(r)
			if err != nil {
				return nil, err
			}
			index, ok := asInt(b)
			if !ok {
				return nil, n.args[i+1].errorf("the bound of a slice is an integer, not %s", kindName(b))
			}
			at[i] = &index
		}
		part, err := r.meter.slice(v, at[0], at[1])
		return part, n.at(err)
	}
}

// slice returns the items, or the characters, from one bound up to another one. A negative bound
// counts from the end.
func (m *meter) slice(v any, from, to *int64) (any, error) {
	if err := m.charge(v); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []any:
		a, b := limits(len(v), from, to)
		return v[a:b:b], nil
	case string:
		a, b := limits(utf8.RuneCountInString(v), from, to)
		return string([]rune(v)[a:b]), nil
	}
	return nil, fmt.Errorf("cannot slice %s", kindName(v))
}

func limits(length int, from, to *int64) (a, b int) {
	limit := func(bound *int64, missing int) int {
		switch {
		case bound == nil:
			return missing
		case *bound < 0:
			return int(max(0, int64(length)+max(*bound, -int64(length))))
		}
		return int(min(int64(length), *bound))
	}
	b = limit(to, length)
	return min(limit(from, 0), b), b
}
