package exprs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// plain copies a value to the types of results: nil, bool, string, int64, float64, []any and
// map[string]any. A value that JSON cannot hold, such as NaN or a function, is an error.
func (m *meter) plain(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	if err := m.charge(v); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case nil, bool, string, int64:
		return v, nil
	case int:
		return int64(v), nil
	case float64:
		return v, finite(v)
	case json.Number:
		return number(v)
	}
	r := reflect.ValueOf(v)
	switch {
	case isList(r):
		return m.plainList(r, depth)
	case r.Kind() == reflect.Map:
		return m.plainMap(r, depth)
	case r.Kind() == reflect.Pointer && !r.IsNil():
		return m.plain(r.Elem().Interface(), depth+1)
	}
	return plainScalar(r)
}

func (m *meter) plainList(r reflect.Value, depth int) (any, error) {
	list := make([]any, 0, r.Len())
	for item := range itemsOf(r.Interface()) {
		p, err := m.plain(item, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

func (m *meter) plainMap(r reflect.Value, depth int) (any, error) {
	out := make(map[string]any, r.Len())
	for _, key := range sortedKeys(r) {
		name, err := m.toText(key.Interface())
		if err != nil {
			return nil, err
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("two keys of a map read as %q", name)
		}
		if out[name], err = m.plain(r.MapIndex(key).Interface(), depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// plainScalar converts values of named types and of other sizes.
func plainScalar(r reflect.Value) (any, error) {
	switch {
	case r.CanInt():
		return r.Int(), nil
	case r.CanUint() && r.Uint() <= math.MaxInt64:
		return int64(r.Uint()), nil
	case r.CanFloat():
		return r.Float(), finite(r.Float())
	case r.Kind() == reflect.String:
		return r.String(), nil
	case r.Kind() == reflect.Bool:
		return r.Bool(), nil
	case r.Kind() == reflect.Pointer:
		return nil, nil
	}
	return nil, fmt.Errorf("a value of type %s cannot leave an expression", r.Type())
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

// sortedKeys returns the keys of a map in order: numbers by value, then all others by their text.
func sortedKeys(r reflect.Value) []reflect.Value {
	keys := r.MapKeys()
	if r.Type().Key().Kind() == reflect.String {
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		return keys
	}
	slices.SortFunc(keys, func(a, b reflect.Value) int { return compareKeys(a.Interface(), b.Interface()) })
	return keys
}

func compareKeys(a, b any) int {
	x, xNumber := asFloat(a)
	y, yNumber := asFloat(b)
	switch {
	case xNumber && yNumber && x != y:
		return cmp.Compare(x, y)
	case xNumber != yNumber:
		return cmp.Compare(rank(xNumber), rank(yNumber))
	}
	return cmp.Compare(fmt.Sprintf("%T %v", a, a), fmt.Sprintf("%T %v", b, b))
}

func rank(number bool) int {
	if number {
		return 0
	}
	return 1
}

func asFloat(v any) (float64, bool) {
	r := reflect.ValueOf(v)
	switch {
	case r.CanInt():
		return float64(r.Int()), true
	case r.CanUint():
		return float64(r.Uint()), true
	case r.CanFloat():
		return r.Float(), true
	}
	return 0, false
}
