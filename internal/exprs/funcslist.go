package exprs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

func length(_ *meter, args []any) (any, error) {
	switch v := args[0].(type) {
	case string:
		return int64(utf8.RuneCountInString(v)), nil
	case []any:
		return int64(len(v)), nil
	case map[string]any:
		return int64(len(v)), nil
	}
	return int64(len(args[0].(map[any]any))), nil
}

// typeName returns the name that the language has for the kind of a value.
func typeName(v any) string {
	switch kindOf(v) {
	case NumberKind:
		return "float"
	case ListKind:
		return "array"
	}
	return string(kindOf(v))
}

// get is fetch that yields nil where there is no such member.
func get(m *meter, args []any) (any, error) {
	if args[0] == nil {
		return nil, nil
	}
	if list, ok := args[0].([]any); ok {
		i, ok := asInt(args[1])
		if !ok {
			return nil, fmt.Errorf("the index of a list is an integer, not %s", kindName(args[1]))
		}
		if i < -int64(len(list)) || i >= int64(len(list)) {
			return nil, nil
		}
	}
	v, err := m.fetch(args[0], args[1])
	if err != nil {
		return nil, err
	}
	return m.normal(v)
}

// itemAt returns the first item (0) or the last one (-1), or nil.
func itemAt(list any, at int) (any, error) {
	items, _ := list.([]any)
	if len(items) == 0 {
		return nil, nil
	}
	if at < 0 {
		at += len(items)
	}
	return (&meter{left: MaxWork}).normal(items[at])
}

func keys(_ *meter, args []any) (any, error) {
	return entries(args[0], func(key, _ any) any { return key }), nil
}

func values(_ *meter, args []any) (any, error) {
	return entries(args[0], func(_, value any) any { return value }), nil
}

func toPairs(_ *meter, args []any) (any, error) {
	return entries(args[0], func(key, value any) any { return []any{key, value} }), nil
}

// entries returns the results of pick for the entries of a map, in the order of the keys.
func entries(of any, pick func(key, value any) any) []any {
	out := []any{}
	if m, ok := of.(map[string]any); ok {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			out = append(out, pick(key, m[key]))
		}
		return out
	}
	m := of.(map[any]any)
	for _, key := range sortedKeys(m) {
		out = append(out, pick(key, m[key]))
	}
	return out
}

func fromPairs(m *meter, args []any) (any, error) {
	out := map[any]any{}
	for _, item := range args[0].([]any) {
		item, err := m.normal(item)
		if err != nil {
			return nil, err
		}
		pair, ok := item.([]any)
		if !ok || len(pair) != 2 {
			return nil, errors.New("fromPairs wants lists of two items, a key and a value")
		}
		first, err := m.normal(pair[0])
		if err != nil {
			return nil, err
		}
		key, err := keyOf(first)
		if err = errors.Join(err, m.charge(key)); err != nil {
			return nil, err
		}
		out[key] = pair[1]
	}
	return out, nil
}

func take(_ *meter, args []any) (any, error) {
	list := args[0].([]any)
	n, _ := asInt(args[1])
	if n < 0 {
		return nil, fmt.Errorf("cannot take %d items", n)
	}
	n = min(n, int64(len(list)))
	return list[:n:n], nil
}

func reverse(_ *meter, args []any) (any, error) {
	list := slices.Clone(args[0].([]any))
	slices.Reverse(list)
	return list, nil
}

// uniq returns the items without duplicates. It keeps the first of equal items.
func uniq(m *meter, args []any) (any, error) {
	list, seen := []any{}, map[string]bool{}
	for _, item := range args[0].([]any) {
		key, err := m.toJSON(item, "")
		if err != nil {
			return nil, err
		}
		if !seen[key] {
			seen[key] = true
			list = append(list, item)
		}
	}
	return list, nil
}

func concat(_ *meter, args []any) (any, error) {
	out := []any{}
	for _, list := range args {
		out = append(out, list.([]any)...)
	}
	return out, nil
}

func flatten(m *meter, args []any) (any, error) { return m.flat(args[0].([]any), []any{}) }

func (m *meter) flat(list, out []any) ([]any, error) {
	for _, item := range list {
		item, err := m.normal(item)
		if err != nil {
			return nil, err
		}
		if nested, ok := item.([]any); ok {
			if out, err = m.flat(nested, out); err != nil {
				return nil, err
			}
			continue
		}
		out = append(out, item)
	}
	return out, nil
}

func sorted(m *meter, args []any) (any, error) {
	down := false
	if len(args) > 1 {
		var err error
		if down, err = descending(args[1]); err != nil {
			return nil, err
		}
	}
	items, _ := args[0].([]any)
	list := make([]keyed, len(items))
	for i, item := range items {
		key, err := m.normal(item)
		if err != nil {
			return nil, err
		}
		list[i] = keyed{key: key, item: key}
	}
	return m.sort(list, down)
}
