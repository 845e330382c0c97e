package exprs

import (
	"math"
	"slices"
	"strings"
)

// function is a function without a closure.
type function struct {
	params []param
	least  int  // the fewest arguments
	more   bool // the last parameter may repeat
	cost   cost
	result func(args []Type) Type
	call   func(m *meter, args []any) (any, error)
}

// param returns the parameter of argument i.
func (f *function) param(i int) param { return f.params[min(i, len(f.params)-1)] }

// param names the values that a parameter takes, in the words of errors.
type param string

const (
	anything   param = "a value"
	text       param = "a string"
	integer    param = "an integer"
	aNumber    param = "a number"
	aList      param = "a list"
	listOrNil  param = "a list or nil"
	aMap       param = "a map"
	numberList param = "numbers or lists of numbers"
	sized      param = "a list, a map or a string"
	collection param = "a list or a map"
	scalar     param = "a number or a string"
)

// kindsOf has the kinds of each param, except anything, which takes all.
var kindsOf = map[param][]Kind{
	text: {StringKind}, integer: {IntKind}, aNumber: {IntKind, NumberKind}, aList: {ListKind}, listOrNil: {ListKind, NilKind},
	aMap: {MapKind}, numberList: {IntKind, NumberKind, ListKind, NilKind}, sized: {ListKind, MapKind, StringKind},
	collection: {ListKind, MapKind, NilKind}, scalar: {IntKind, NumberKind, StringKind},
}

// takes reports whether a value of type t may be an argument.
func (p param) takes(t Type) bool { return p == anything || t.mayBe(kindsOf[p]...) }

// takesValue reports whether v may be an argument. A whole float is an integer, because JSON does
// not distinguish 3 from 3.0.
func (p param) takesValue(v any) bool {
	if p == anything || slices.Contains(kindsOf[p], kindOf(v)) {
		return true
	}
	if p == integer {
		_, ok := asInt(v)
		return ok
	}
	return false
}

// cost is how the cost of a call depends on its arguments.
type cost uint8

const (
	shallow cost = iota // each argument is read once
	free                // the cost does not depend on the arguments
	deep                // nested lists are read too
)

func (c cost) pay(m *meter, v any) error {
	switch c {
	case free:
		return nil
	case deep:
		return m.weigh(v, 0)
	}
	return m.charge(v)
}

// Functions returns the sorted names of all functions.
func Functions() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name := range functions {
			if !yield(name) {
				return
			}
		}
		for name := range loops {
			if !yield(name) {
				return
			}
		}
	})
}

func isFunction(name string) bool {
	_, is := functions[name]
	_, isLoop := loops[name]
	return is || isLoop
}

// gives returns the function.result of a function whose results are always of type t.
func gives(t Type) func([]Type) Type { return func([]Type) Type { return t } }

func sameAsFirst(args []Type) Type { return args[0] }
func itemOfFirst(args []Type) Type { return args[0].items() }
func listOfFirst(args []Type) Type { return List(args[0].items()) }

// functions has the functions without a closure, by name.
var functions = map[string]*function{
	"len":   {params: []param{sized}, least: 1, result: gives(Int), call: length},
	"type":  {params: []param{anything}, least: 1, cost: free, result: gives(String), call: func(_ *meter, a []any) (any, error) { return typeName(a[0]), nil }},
	"get":   {params: []param{collection, anything}, least: 2, result: itemOfFirst, call: get},
	"first": {params: []param{listOrNil}, least: 1, cost: free, result: itemOfFirst, call: func(_ *meter, a []any) (any, error) { return itemAt(a[0], 0) }},
	"last":  {params: []param{listOrNil}, least: 1, cost: free, result: itemOfFirst, call: func(_ *meter, a []any) (any, error) { return itemAt(a[0], -1) }},

	"abs":   {params: []param{aNumber}, least: 1, cost: free, result: sameAsFirst, call: abs},
	"ceil":  rounding(math.Ceil),
	"floor": rounding(math.Floor),
	"round": rounding(math.Round),
	"int":   {params: []param{scalar}, least: 1, result: gives(Int), call: toInt},
	"float": {params: []param{scalar}, least: 1, result: gives(Number), call: toFloat},
	"max":   {params: []param{numberList}, least: 1, more: true, cost: deep, result: extremeType, call: extreme("max", 1)},
	"min":   {params: []param{numberList}, least: 1, more: true, cost: deep, result: extremeType, call: extreme("min", -1)},
	"mean": {params: []param{numberList}, least: 1, more: true, cost: deep, result: gives(Number), call: func(_ *meter, a []any) (any, error) {
		return average("mean", a, mean)
	}},
	"median": {params: []param{numberList}, least: 1, more: true, cost: deep, result: gives(Number), call: func(_ *meter, a []any) (any, error) {
		return average("median", a, median)
	}},

	"bitand":  bits2(func(x, y int64) (int64, error) { return x & y, nil }),
	"bitor":   bits2(func(x, y int64) (int64, error) { return x | y, nil }),
	"bitxor":  bits2(func(x, y int64) (int64, error) { return x ^ y, nil }),
	"bitnand": bits2(func(x, y int64) (int64, error) { return x &^ y, nil }),
	"bitshl":  bits2(func(x, y int64) (int64, error) { return x << max(y, 0), shift(y) }),
	"bitshr":  bits2(func(x, y int64) (int64, error) { return x >> max(y, 0), shift(y) }),
	"bitushr": bits2(func(x, y int64) (int64, error) { return int64(uint64(x) >> max(y, 0)), shift(y) }),
	"bitnot": {params: []param{integer}, least: 1, cost: free, result: gives(Int), call: func(_ *meter, a []any) (any, error) {
		x, _ := asInt(a[0])
		return ^x, nil
	}},

	"upper":       changed(strings.ToUpper),
	"lower":       changed(strings.ToLower),
	"trim":        trimmed(strings.TrimSpace, strings.Trim),
	"trimPrefix":  trimmed(func(s string) string { return strings.TrimPrefix(s, " ") }, strings.TrimPrefix),
	"trimSuffix":  trimmed(func(s string) string { return strings.TrimSuffix(s, " ") }, strings.TrimSuffix),
	"split":       splitting(strings.SplitN),
	"splitAfter":  splitting(strings.SplitAfterN),
	"replace":     {params: []param{text, text, text, integer}, least: 3, result: gives(String), call: replace},
	"repeat":      {params: []param{text, integer}, least: 2, result: gives(String), call: repeat},
	"join":        {params: []param{aList, text}, least: 1, result: gives(String), call: join},
	"indexOf":     searching(strings.Index),
	"lastIndexOf": searching(strings.LastIndex),
	"hasPrefix":   testing2(strings.HasPrefix),
	"hasSuffix":   testing2(strings.HasSuffix),
	"format":      {params: []param{text, anything}, least: 1, more: true, result: gives(String), call: format},

	"string":     {params: []param{anything}, least: 1, result: gives(String), call: func(m *meter, a []any) (any, error) { return m.toText(a[0]) }},
	"json":       {params: []param{anything}, least: 1, result: gives(String), call: func(m *meter, a []any) (any, error) { return m.toJSON(a[0], "") }},
	"toJSON":     {params: []param{anything}, least: 1, result: gives(String), call: func(m *meter, a []any) (any, error) { return m.toJSON(a[0], "  ") }},
	"fromJSON":   {params: []param{text}, least: 1, result: gives(Any), call: fromJSON},
	"toBase64":   {params: []param{text}, least: 1, result: gives(String), call: toBase64},
	"fromBase64": {params: []param{text}, least: 1, result: gives(String), call: fromBase64},

	"keys":      {params: []param{aMap}, least: 1, result: gives(list), call: keys},
	"values":    {params: []param{aMap}, least: 1, result: listOfFirst, call: values},
	"toPairs":   {params: []param{aMap}, least: 1, result: gives(list), call: toPairs},
	"fromPairs": {params: []param{aList}, least: 1, result: gives(keyedMap(Any)), call: fromPairs},
	"take":      {params: []param{aList, integer}, least: 2, cost: free, result: sameAsFirst, call: take},
	"reverse":   {params: []param{aList}, least: 1, result: listOfFirst, call: reverse},
	"uniq":      {params: []param{aList}, least: 1, result: listOfFirst, call: uniq},
	"concat":    {params: []param{aList}, least: 1, more: true, result: gives(list), call: concat},
	"flatten":   {params: []param{aList}, least: 1, cost: deep, result: gives(list), call: flatten},
	"sort":      {params: []param{listOrNil, text}, least: 1, result: listOfFirst, call: sorted},
}

// kindOf returns the kind of a value.
func kindOf(v any) Kind {
	switch v.(type) {
	case nil:
		return NilKind
	case bool:
		return BoolKind
	case int64:
		return IntKind
	case float64:
		return NumberKind
	case string:
		return StringKind
	case []any:
		return ListKind
	}
	return MapKind
}

// kindName returns the kind of a value for error messages.
func kindName(v any) string {
	switch k := kindOf(v); k {
	case ListKind, MapKind:
		return "a " + string(k)
	case NumberKind:
		return "float"
	default:
		return string(k)
	}
}
