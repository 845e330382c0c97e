package exprs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// isNormal reports whether v is of a type that expressions work on.
func isNormal(v any) bool {
	switch v.(type) {
	case nil, bool, string, int64, float64, []any, map[string]any, map[any]any:
		return true
	}
	return false
}

// normal returns a variable, a member or an item as one of the types that expressions work on. It
// converts the outermost level of a list or map of other Go types.
func (m *meter) normal(v any) (any, error) {
	if isNormal(v) {
		return v, nil
	}
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case json.Number:
		return number(v)
	}
	r := reflect.ValueOf(v)
	switch {
	case r.Kind() == reflect.Slice || r.Kind() == reflect.Array:
		return m.normalList(r)
	case r.Kind() == reflect.Map:
		return m.normalMap(r)
	case r.Kind() == reflect.Pointer && !r.IsNil() && r.Elem().Kind() != reflect.Pointer:
		return m.normal(r.Elem().Interface())
	}
	return normalScalar(r)
}

func (m *meter) normalList(r reflect.Value) (any, error) {
	if err := m.spend(1 + r.Len()); err != nil {
		return nil, err
	}
	list := make([]any, r.Len())
	for i := range list {
		list[i] = r.Index(i).Interface()
	}
	return list, nil
}

func (m *meter) normalMap(r reflect.Value) (any, error) {
	if err := m.spend(1 + r.Len()); err != nil {
		return nil, err
	}
	texts, keyed := make(map[string]any, r.Len()), make(map[any]any)
	for key, value := range r.Seq2() {
		k, err := m.normal(key.Interface())
		if err != nil {
			return nil, err
		}
		if name, ok := k.(string); ok && len(keyed) == 0 {
			texts[name] = value.Interface()
			continue
		}
		if k, err = keyOf(k); err != nil {
			return nil, err
		}
		keyed[k] = value.Interface()
	}
	if len(keyed) == 0 {
		return texts, nil
	}
	for name, value := range texts {
		keyed[name] = value
	}
	return keyed, nil
}

// normalScalar converts values of named types and of other sizes.
func normalScalar(r reflect.Value) (any, error) {
	switch {
	case r.CanInt():
		return r.Int(), nil
	case r.CanUint() && r.Uint() <= math.MaxInt64:
		return int64(r.Uint()), nil
	case r.CanFloat():
		return r.Float(), nil
	case r.Kind() == reflect.String:
		return r.String(), nil
	case r.Kind() == reflect.Bool:
		return r.Bool(), nil
	case r.Kind() == reflect.Pointer && r.IsNil():
		return nil, nil
	}
	return nil, fmt.Errorf("an expression cannot use a value of type %s", r.Type())
}

// plain copies a value to the types of results: nil, bool, string, int64, float64, []any and
// map[string]any. A value that JSON cannot hold, such as NaN or a function, is an error.
func (m *meter) plain(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	v, err := m.normal(v)
	if err != nil {
		return nil, err
	}
	if err := m.charge(v); err != nil {
		return nil, err
	}
	switch x := v.(type) {
	case float64:
		return v, finite(x)
	case []any:
		return m.plainList(x, depth)
	case map[string]any:
		return m.plainMap(x, depth)
	case map[any]any:
		return m.plainKeyed(x, depth)
	}
	return v, nil
}

func (m *meter) plainList(items []any, depth int) (any, error) {
	list := make([]any, len(items))
	for i, item := range items {
		p, err := m.plain(item, depth+1)
		if err != nil {
			return nil, err
		}
		list[i] = p
	}
	return list, nil
}

func (m *meter) plainMap(from map[string]any, depth int) (any, error) {
	out := make(map[string]any, len(from))
	for _, key := range sortedKeys(from) {
		p, err := m.plain(from[key], depth+1)
		if err = errors.Join(err, m.charge(key)); err != nil {
			return nil, err
		}
		out[key] = p
	}
	return out, nil
}

// plainKeyed makes the keys of a map texts.
func (m *meter) plainKeyed(from map[any]any, depth int) (any, error) {
	out := make(map[string]any, len(from))
	for _, key := range sortedKeys(from) {
		name, err := m.toText(key)
		if err != nil {
			return nil, err
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("two keys of a map read as %q", name)
		}
		if out[name], err = m.plain(from[key], depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func finite(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("the result is %v, not a number that can be stored", f)
	}
	return nil
}

// number converts a JSON number to an int64 if it is an integer that fits, else to a float64.
func number(n json.Number) (any, error) {
	if i, err := n.Int64(); err == nil {
		return i, nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("number %s is out of range", n)
	}
	return f, nil
}

// toText converts a value to text: nil to "", numbers to the shortest form, lists and maps to
// compact JSON.
func (m *meter) toText(v any) (string, error) {
	p, err := m.plain(v, 0)
	if err != nil {
		return "", err
	}
	switch p := p.(type) {
	case nil:
		return "", nil
	case string:
		return p, nil
	case bool:
		return strconv.FormatBool(p), nil
	case int64:
		return strconv.FormatInt(p, 10), nil
	}
	return m.encode(p, "")
}

// toJSON encodes a value as JSON with sorted keys. It does not escape < > and &.
func (m *meter) toJSON(v any, indent string) (string, error) {
	p, err := m.plain(v, 0)
	if err != nil {
		return "", err
	}
	return m.encode(p, indent)
}

func (m *meter) encode(plain any, indent string) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(plain); err != nil {
		return "", err
	}
	s := strings.TrimSuffix(b.String(), "\n")
	return s, m.text(len(s))
}

// sortedKeys returns the keys of a map in order: nil, false, true, numbers by value, then texts.
func sortedKeys[K comparable](m map[K]any) []K {
	keys := slices.Collect(maps.Keys(m))
	if texts, ok := any(keys).([]string); ok {
		slices.Sort(texts)
		return keys
	}
	slices.SortFunc(keys, func(a, b K) int { return compareKeys(a, b) })
	return keys
}

func compareKeys(a, b any) int {
	if order := cmp.Compare(rank(a), rank(b)); order != 0 {
		return order
	}
	if s, ok := a.(string); ok {
		return strings.Compare(s, b.(string))
	}
	x, _ := asFloat(a)
	y, _ := asFloat(b)
	return cmp.Compare(x, y)
}

// rank returns the place of the kind of a key among those of other kinds.
func rank(key any) int {
	switch key := key.(type) {
	case nil:
		return 0
	case bool:
		if key {
			return 2
		}
		return 1
	case string:
		return 4
	}
	return 3
}

// asFloat returns a number as a float.
func asFloat(v any) (float64, bool) {
	switch x := v.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	}
	return 0, false
}

// asInt returns an integer, or a float that is one, because JSON does not distinguish 3 from 3.0.
func asInt(v any) (int64, bool) {
	switch x := v.(type) {
	case int64:
		return x, true
	case float64:
		return int64(x), x == math.Trunc(x) && x >= math.MinInt64 && x < math.MaxInt64
	}
	return 0, false
}
