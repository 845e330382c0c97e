package exprs

import (
	"reflect"

	"github.com/expr-lang/expr/vm/runtime"
)

// meter counts the work of one evaluation. The engine bounds the lists that it allocates, but
// neither loops nor text. The rewriter adds calls of the meter to both.
type meter struct {
	left int
}

func (m *meter) spend(n int) error {
	if n < 0 || m.left < n {
		m.left = 0
		return errWork
	}
	m.left -= n
	return nil
}

// text spends the steps of writing n bytes of text, 256 bytes a step.
func (m *meter) text(n int) error {
	if n < 0 || n > MaxText {
		return errText
	}
	return m.spend(1 + n/256)
}

// charge spends the steps of reading v once, text at 64 bytes a step. It does not count nested
// items.
func (m *meter) charge(v any) error {
	switch v := v.(type) {
	case string:
		return m.spend(1 + len(v)/64)
	case []any:
		return m.spend(1 + len(v))
	case map[string]any:
		return m.spend(1 + len(v))
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return m.spend(1 + r.Len())
	}
	return m.spend(1)
}

// weigh spends the steps of reading v and all nested items.
func (m *meter) weigh(v any, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	if err := m.charge(v); err != nil {
		return err
	}
	for item := range itemsOf(v) {
		if err := m.weigh(item, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// equal compares by value: numbers of any type, lists item by item, maps key by key.
func (m *meter) equal(a, b any, depth int) (bool, error) {
	if depth > maxDepth {
		return false, errDepth
	}
	if err := m.spend(1); err != nil {
		return false, err
	}
	if s, ok := a.(string); ok {
		t, ok := b.(string)
		if !ok || len(s) != len(t) {
			return false, nil
		}
		return s == t, m.spend(len(s) / 64)
	}
	switch x, y := reflect.ValueOf(a), reflect.ValueOf(b); {
	case isList(x) && isList(y):
		return m.equalLists(x, y, depth)
	case x.Kind() == reflect.Map && y.Kind() == reflect.Map:
		return m.equalMaps(x, y, depth)
	}
	return runtime.Equal(a, b), nil
}

func (m *meter) equalLists(x, y reflect.Value, depth int) (bool, error) {
	if x.Len() != y.Len() {
		return false, nil
	}
	for i := range x.Len() {
		same, err := m.equal(x.Index(i).Interface(), y.Index(i).Interface(), depth+1)
		if err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func (m *meter) equalMaps(x, y reflect.Value, depth int) (bool, error) {
	if x.Len() != y.Len() || x.Type().Key() != y.Type().Key() {
		return false, nil
	}
	for _, key := range sortedKeys(x) {
		other := y.MapIndex(key)
		if !other.IsValid() {
			return false, nil
		}
		same, err := m.equal(x.MapIndex(key).Interface(), other.Interface(), depth+1)
		if err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func isList(v reflect.Value) bool { return v.Kind() == reflect.Slice || v.Kind() == reflect.Array }

// itemsOf yields the items of a list, or the values of a map in the order of its keys. It yields
// nothing for other values.
func itemsOf(v any) func(yield func(any) bool) {
	return func(yield func(any) bool) {
		if list, ok := v.([]any); ok {
			for _, item := range list {
				if !yield(item) {
					return
				}
			}
			return
		}
		r := reflect.ValueOf(v)
		switch {
		case isList(r):
			for i := range r.Len() {
				if !yield(r.Index(i).Interface()) {
					return
				}
			}
		case r.Kind() == reflect.Map:
			for _, key := range sortedKeys(r) {
				if !yield(r.MapIndex(key).Interface()) {
					return
				}
			}
		}
	}
}
