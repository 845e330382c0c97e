package values

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Depth returns the nesting depth of the brackets in a JSON text.
func Depth(data []byte) (deepest int) {
	open, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[', c == '{':
			open++
			deepest = max(deepest, open)
		case c == ']', c == '}':
			open--
		}
	}
	return deepest
}

// Decode decodes JSON into nil, bool, json.Number, string, []any and map[string]any. If a name
// occurs twice in an object, the last value is used.
func Decode(data []byte) (tree any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&tree)
	return tree, err
}

// Costly returns a number in tree whose text is longer than limit bytes or whose exponent is beyond
// ±limit. Such a number is expensive to compare.
func Costly(tree any, limit int) (n json.Number, found bool) {
	switch v := tree.(type) {
	case json.Number:
		_, exponent, _ := strings.Cut(strings.ToLower(string(v)), "e")
		e, bad := strconv.Atoi(cmp.Or(exponent, "0"))
		return v, bad != nil || len(v) > limit || e > limit || e < -limit
	case []any:
		for i := 0; i < len(v) && !found; i++ {
			n, found = Costly(v[i], limit)
		}
	case map[string]any:
		for _, e := range v {
			if n, found = Costly(e, limit); found {
				return n, found
			}
		}
	}
	return n, found
}

// Compare orders two numbers by their exact value, or two strings by their bytes. For other values,
// and for values of different types, ordered is false.
func Compare(a, b any) (order int, ordered bool) {
	switch a := a.(type) {
	case json.Number:
		if b, ok := b.(json.Number); ok {
			return compareNumbers(string(a), string(b)), true
		}
	case string:
		if b, ok := b.(string); ok {
			return strings.Compare(a, b), true
		}
	}
	return 0, false
}

// Equal reports whether two values are equal. It compares numbers by their exact value, and objects
// without regard to the order of their members.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && equalObjects(a, b)
	case json.Number, string:
		order, ordered := Compare(a, b)
		return ordered && order == 0
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

func equalObjects(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for name, v := range a {
		if w, ok := b[name]; !ok || !Equal(v, w) {
			return false
		}
	}
	return true
}

// Sort orders any two values: missing values (found is false), null, false, true, numbers, strings,
// then arrays and objects. Arrays and objects are all equal in this order.
func Sort(a, b any, foundA, foundB bool) int {
	if order, ordered := Compare(a, b); ordered && foundA && foundB {
		return order
	}
	return cmp.Compare(kind(a, foundA), kind(b, foundB))
}

func kind(v any, found bool) int {
	switch v := v.(type) {
	case nil:
		if !found {
			return 0
		}
		return 1
	case bool:
		if !v {
			return 2
		}
		return 3
	case json.Number:
		return 4
	case string:
		return 5
	}
	return 6
}
