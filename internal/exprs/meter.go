package exprs

// meter counts the work of one evaluation.
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
	case map[any]any:
		return m.spend(1 + len(v))
	}
	return m.spend(1)
}

// weigh spends the steps of reading v and all nested lists and maps.
func (m *meter) weigh(v any, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	v, err := m.normal(v)
	if err != nil {
		return err
	}
	if err := m.charge(v); err != nil {
		return err
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if err := m.weigh(item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range v {
			if err := m.weigh(item, depth+1); err != nil {
				return err
			}
		}
	case map[any]any:
		for _, item := range v {
			if err := m.weigh(item, depth+1); err != nil {
				return err
			}
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
	switch x := a.(type) {
	case nil:
		return b == nil, nil
	case bool:
		y, ok := b.(bool)
		return ok && x == y, nil
	case int64:
		if y, ok := b.(int64); ok {
			return x == y, nil
		}
		y, ok := b.(float64)
		return ok && compareInt(x, y) == 0, nil
	case float64:
		if y, ok := b.(int64); ok {
			return compareInt(y, x) == 0, nil
		}
		y, ok := b.(float64)
		return ok && x == y, nil
	case string:
		y, ok := b.(string)
		if !ok || len(x) != len(y) {
			return false, nil
		}
		return x == y, m.spend(len(x) / 64)
	case []any:
		y, ok := b.([]any)
		return m.equalLists(x, y, ok, depth)
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			return equalMaps(m, x, y, depth)
		}
	}
	if x, y, ok := keyedMaps(a, b); ok {
		return equalMaps(m, x, y, depth)
	}
	return false, nil
}

func (m *meter) equalLists(x, y []any, list bool, depth int) (bool, error) {
	if !list || len(x) != len(y) {
		return false, nil
	}
	for i := range x {
		if same, err := m.equalItems(x[i], y[i], depth); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// equalMaps compares the entries in the order of the keys, so that the work is the same each time.
func equalMaps[K comparable](m *meter, x, y map[K]any, depth int) (bool, error) {
	if len(x) != len(y) {
		return false, nil
	}
	for _, key := range sortedKeys(x) {
		other, ok := y[key]
		if !ok {
			return false, nil
		}
		if same, err := m.equalItems(x[key], other, depth); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// equalItems compares items of lists and maps.
func (m *meter) equalItems(x, y any, depth int) (bool, error) {
	x, err := m.normal(x)
	if err != nil {
		return false, err
	}
	if y, err = m.normal(y); err != nil {
		return false, err
	}
	return m.equal(x, y, depth+1)
}

// keyedMaps returns two maps of which one is that of groupBy or fromPairs.
func keyedMaps(a, b any) (x, y map[any]any, ok bool) {
	x, ok = keyedMapOf(a)
	y, also := keyedMapOf(b)
	return x, y, ok && also
}

func keyedMapOf(v any) (map[any]any, bool) {
	switch v := v.(type) {
	case map[any]any:
		return v, true
	case map[string]any:
		out := make(map[any]any, len(v))
		for key, item := range v {
			out[key] = item
		}
		return out, true
	}
	return nil, false
}
