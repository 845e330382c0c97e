package exprs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

func abs(_ *meter, args []any) (any, error) {
	switch x := args[0].(type) {
	case int64:
		if x < 0 {
			return subtract(int64(0), x)
		}
	case float64:
		return math.Abs(x), nil
	}
	return args[0], nil
}

func rounding(round func(float64) float64) *function {
	return &function{params: []param{aNumber}, least: 1, cost: free, result: gives(Number), call: func(_ *meter, args []any) (any, error) {
		f, _ := asFloat(args[0])
		return round(f), nil
	}}
}

// toInt rejects numbers that do not fit in 64 bits.
func toInt(_ *meter, args []any) (any, error) {
	switch x := args[0].(type) {
	case float64:
		if !(x >= math.MinInt64 && x < math.MaxInt64) {
			return nil, errInteger
		}
		return int64(x), nil
	case string:
		i, err := strconv.ParseInt(x, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("int cannot read %s", excerpt(x))
		}
		return i, nil
	}
	return args[0], nil
}

func toFloat(_ *meter, args []any) (any, error) {
	if s, ok := args[0].(string); ok {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || finite(f) != nil {
			return nil, fmt.Errorf("float cannot read %s", excerpt(s))
		}
		return f, nil
	}
	f, _ := asFloat(args[0])
	return f, nil
}

// excerpt returns the beginning of a text, quoted.
func excerpt(s string) string {
	if runes := []rune(s[:min(len(s), 160)]); len(runes) > 40 {
		s = string(runes[:40]) + "…"
	}
	return strconv.Quote(s)
}

// flatNumbers calls visit for the numbers in args and in their lists.
func flatNumbers(name string, args []any, visit func(v any, f float64) error) error {
	for _, arg := range args {
		if list, ok := arg.([]any); ok {
			if err := flatNumbers(name, list, visit); err != nil {
				return err
			}
			continue
		}
		v, err := (&meter{left: MaxWork}).normal(arg)
		if err != nil {
			return err
		}
		if list, ok := v.([]any); ok {
			if err := flatNumbers(name, list, visit); err != nil {
				return err
			}
			continue
		}
		f, ok := asFloat(v)
		if !ok {
			return fmt.Errorf("%s wants numbers or lists of numbers, not %s", name, kindName(v))
		}
		if err := visit(v, f); err != nil {
			return err
		}
	}
	return nil
}

// extremeType returns the type of the largest or smallest argument.
func extremeType(args []Type) Type {
	of := args[0]
	for _, t := range args {
		if !t.isNumber() {
			return Any
		}
		of = arithmetic(of, t)
	}
	return of
}

// extreme returns the function that finds the largest number (sign 1) or the smallest one (-1). It
// is nil for no number.
func extreme(name string, sign int) func(m *meter, args []any) (any, error) {
	return func(m *meter, args []any) (any, error) {
		if len(args) == 1 && args[0] == nil {
			return nil, nil
		}
		var best any
		err := flatNumbers(name, args, func(v any, _ float64) error {
			if best == nil {
				best = v
				return nil
			}
			order, err := m.compare(v, best)
			if order == sign {
				best = v
			}
			return err
		})
		return best, err
	}
}

// average applies a mean to all numbers in the arguments. It is 0 for no number.
func average(name string, args []any, of func([]float64) float64) (any, error) {
	var all []float64
	err := flatNumbers(name, args, func(_ any, f float64) error {
		all = append(all, f)
		return nil
	})
	if len(all) == 0 || err != nil {
		return 0.0, err
	}
	return of(all), nil
}

func mean(all []float64) float64 {
	total := 0.0
	for _, f := range all {
		total += f
	}
	return total / float64(len(all))
}

func median(all []float64) float64 {
	slices.Sort(all)
	n := len(all)
	if n%2 == 1 {
		return all[n/2]
	}
	return (all[n/2-1] + all[n/2]) / 2
}

// bits2 returns a function of two integers.
func bits2(f func(x, y int64) (int64, error)) *function {
	return &function{params: []param{integer, integer}, least: 2, cost: free, result: gives(Int), call: func(_ *meter, args []any) (any, error) {
		x, _ := asInt(args[0])
		y, _ := asInt(args[1])
		return f(x, y)
	}}
}

// shift returns an error for a negative number of bits.
func shift(by int64) error {
	if by < 0 {
		return fmt.Errorf("cannot shift by %d bits", by)
	}
	return nil
}
