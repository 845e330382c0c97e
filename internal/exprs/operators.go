package exprs

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// errOperands is the error of an operator that does not exist for its operands. The caller names
// their kinds.
var errOperands = errors.New("invalid operation")

func add(m *meter, a, b any) (any, error) {
	switch x := a.(type) {
	case int64:
		if y, ok := b.(int64); ok {
			return fitting(x+y, (x+y > x) == (y > 0))
		}
	case string:
		if y, ok := b.(string); ok {
			if err := m.text(len(x) + len(y)); err != nil {
				return nil, err
			}
			return x + y, nil
		}
	}
	x, y, err := numbers(a, b)
	return x + y, err
}

func subtract(a, b any) (any, error) {
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return fitting(x-y, (x-y < x) == (y > 0))
		}
	}
	x, y, err := numbers(a, b)
	return x - y, err
}

func multiply(_ *meter, a, b any) (any, error) {
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			high, low := bits.Mul64(magnitude(x), magnitude(y))
			limit := uint64(math.MaxInt64)
			if (x < 0) != (y < 0) {
				limit++
			}
			return fitting(x*y, high == 0 && low <= limit)
		}
	}
	x, y, err := numbers(a, b)
	return x * y, err
}

func divide(_ *meter, a, b any) (any, error) {
	x, y, err := numbers(a, b)
	if err == nil && y == 0 {
		err = errors.New("divide by zero")
	}
	return x / y, err
}

func power(_ *meter, a, b any) (any, error) {
	x, y, err := numbers(a, b)
	return math.Pow(x, y), err
}

func modulo(_ *meter, a, b any) (any, error) {
	x, y, err := wholeNumbers(a, b)
	switch {
	case err != nil:
		return nil, err
	case y == 0:
		return nil, errors.New("integer divide by zero")
	}
	return x % y, nil
}

// span returns the integers from a to b.
func span(m *meter, a, b any) (any, error) {
	from, to, err := wholeNumbers(a, b)
	if err != nil {
		return nil, err
	}
	if to < from {
		return []any{}, nil
	}
	count := uint64(to) - uint64(from)
	if count >= MaxWork {
		return nil, m.spend(MaxWork + 1)
	}
	if err := m.spend(int(count) + 1); err != nil {
		return nil, err
	}
	list := make([]any, count+1)
	for i := range list {
		list[i] = from + int64(i)
	}
	return list, nil
}

// magnitude returns n without its sign.
func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// fitting returns the result of integer arithmetic, or an error if it overflowed.
func fitting(n int64, fits bool) (any, error) {
	if !fits {
		return nil, errInteger
	}
	return n, nil
}

// numbers returns two numbers as floats.
func numbers(a, b any) (x, y float64, err error) {
	x, ok := asFloat(a)
	y, also := asFloat(b)
	if !ok || !also {
		return 0, 0, errOperands
	}
	return x, y, nil
}

// wholeNumbers returns two integers.
func wholeNumbers(a, b any) (x, y int64, err error) {
	x, ok := asInt(a)
	y, also := asInt(b)
	if !ok || !also {
		return 0, 0, errOperands
	}
	return x, y, nil
}

// less compares with < <= > or >=.
func (m *meter) less(op string, a, b any) (bool, error) {
	order, err := m.compare(a, b)
	if err != nil {
		if errors.Is(err, errOperands) {
			err = fmt.Errorf("invalid operation: %s %s %s", kindName(a), op, kindName(b))
		}
		return false, err
	}
	switch op {
	case "<":
		return order < 0, nil
	case "<=":
		return order <= 0, nil
	case ">":
		return order > 0 && order != unordered, nil
	}
	return order >= 0 && order != unordered, nil
}

// unordered is the order of NaN and another number.
const unordered = 2

// compare returns the order of two numbers or two texts: negative, 0, positive, or unordered.
func (m *meter) compare(a, b any) (int, error) {
	switch x := a.(type) {
	case int64:
		switch y := b.(type) {
		case int64:
			return cmp.Compare(x, y), nil
		case float64:
			return compareInt(x, y), nil
		}
	case float64:
		if y, ok := b.(int64); ok {
			order := compareInt(y, x)
			if order == unordered {
				return order, nil
			}
			return -order, nil
		}
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), m.charge(a)
		}
	}
	x, y, err := numbers(a, b)
	if x != x || y != y {
		return unordered, err
	}
	return cmp.Compare(x, y), err
}

// compareInt returns the order of an integer and another number, exactly: not every integer is a
// float.
func compareInt(x int64, y float64) int {
	switch {
	case math.IsNaN(y):
		return unordered
	case y >= 1<<63:
		return -1
	case y < -1<<63:
		return 1
	}
	whole, fraction := math.Modf(y)
	return cmp.Or(cmp.Compare(x, int64(whole)), cmp.Compare(0, fraction))
}

// in reports whether a list has an item, or a map has a key.
func in(m *meter, needle, of any) (bool, error) {
	if err := m.charge(needle); err != nil {
		return false, err
	}
	switch of := of.(type) {
	case nil:
		return false, nil
	case []any:
		for _, item := range of {
			item, err := m.normal(item)
			if err != nil {
				return false, err
			}
			if same, err := m.equal(item, needle, 0); same || err != nil {
				return same, err
			}
		}
		return false, nil
	case map[string]any:
		key, ok := needle.(string)
		if !ok {
			return false, nil
		}
		_, ok = of[key]
		return ok, nil
	case map[any]any:
		key, err := keyOf(needle)
		if err != nil {
			return false, err
		}
		_, ok := of[key]
		return ok, nil
	}
	return false, errOperands
}

// textTest returns the test of two texts. It is false if one of them is nil.
func textTest(test func(s, part string) bool) func(m *meter, a, b any) (bool, error) {
	return func(m *meter, a, b any) (bool, error) {
		if a == nil || b == nil {
			return false, nil
		}
		s, ok := a.(string)
		part, also := b.(string)
		if !ok || !also {
			return false, errOperands
		}
		if err := errors.Join(m.charge(a), m.charge(b)); err != nil {
			return false, err
		}
		return test(s, part), nil
	}
}

// fetch returns a member of a map, or an item of a list. A missing member is nil; a negative index
// counts from the end.
func (m *meter) fetch(base, key any) (any, error) {
	switch base := base.(type) {
	case map[string]any:
		if key == nil {
			return nil, nil
		}
		name, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("the keys of a map are strings, this is %s", kindName(key))
		}
		return base[name], nil
	case map[any]any:
		k, err := keyOf(key)
		if err != nil {
			return nil, err
		}
		return base[k], nil
	case []any:
		i, ok := asInt(key)
		if !ok {
			return nil, fmt.Errorf("the index of a list is an integer, not %s", kindName(key))
		}
		at := i
		if at < 0 {
			at += int64(len(base))
		}
		if at < 0 || at >= int64(len(base)) {
			return nil, fmt.Errorf("index out of range: %d (list length is %d)", i, len(base))
		}
		return base[at], nil
	}
	return nil, fmt.Errorf("cannot fetch %v from %s", key, kindName(base))
}

// keyOf returns a key of a map that is the same for equal numbers of different types.
func keyOf(v any) (any, error) {
	switch x := v.(type) {
	case nil, bool, string, int64:
		return v, nil
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1<<63 {
			return int64(x), nil
		}
		return v, finite(x)
	}
	return nil, fmt.Errorf("a key of a map is text, a number, true or false, not %s", kindName(v))
}
