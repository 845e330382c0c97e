package exprs

import (
	"math"
	"math/bits"
	"reflect"

	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/vm/runtime"
)

func subtract(_ *meter, args []any) (any, error) {
	if a, b, ok := integers(args); ok {
		return fitting(a-b, (a-b < a) == (b > 0))
	}
	return runtime.Subtract(args[0], args[1]), nil
}

func multiply(_ *meter, args []any) (any, error) {
	a, b, ok := integers(args)
	if !ok {
		return runtime.Multiply(args[0], args[1]), nil
	}
	high, low := bits.Mul64(magnitude(a), magnitude(b))
	limit := uint64(math.MaxInt64)
	if (a < 0) != (b < 0) {
		limit++
	}
	return fitting(a*b, high == 0 && low <= limit)
}

// magnitude returns n without its sign.
func magnitude(n int) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// toInt rejects numbers that do not fit in 64 bits; the engine would return an arbitrary integer.
func toInt(_ *meter, args []any) (any, error) {
	if v := reflect.ValueOf(args[0]); v.CanFloat() && !(v.Float() >= math.MinInt64 && v.Float() < math.MaxInt64) {
		return nil, errInteger
	}
	return builtin.Int(args[0]), nil
}

// integers returns both arguments. ok is false if they are not both integers.
func integers(args []any) (a, b int, ok bool) {
	x, y := reflect.ValueOf(args[0]), reflect.ValueOf(args[1])
	if !x.CanInt() || !y.CanInt() {
		return 0, 0, false
	}
	return int(x.Int()), int(y.Int()), true
}

// fitting returns the result of integer arithmetic, or an error if it overflowed.
func fitting(n int, fits bool) (any, error) {
	if !fits {
		return nil, errInteger
	}
	return n, nil
}
