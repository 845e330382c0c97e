package exprs

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/vm/runtime"
)

// disabled lists builtins that read the clock or the time zones of the machine, or return times,
// which a state cannot hold.
var disabled = []string{"now", "date", "duration", "timezone"}

// free lists builtins whose cost does not depend on their arguments.
var free = []string{
	"abs", "bitand", "bitnand", "bitnot", "bitor", "bitshl", "bitshr", "bitushr", "bitxor",
	"ceil", "first", "floor", "last", "round", "take", "type",
}

// deep lists builtins that read nested lists. The others read their arguments once.
var deep = []string{"flatten", "max", "mean", "median", "min"}

// Functions returns the sorted names of all functions.
func Functions() []string {
	var names []string
	for _, name := range builtin.Names {
		if !slices.Contains(disabled, name) {
			names = append(names, name)
		}
	}
	for name := range ownFunctions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ownFunctions holds the functions that the engine does not have.
var ownFunctions = map[string]*builtin.Function{
	"format": function("format", format, new(func(string, ...any) string)),
	"json":   function("json", func(m *meter, args []any) (any, error) { return m.toJSON(args[0], "") }, new(func(any) string)),
}

// metered holds the functions that the rewriter calls: operators, and builtins of the engine that
// need bounds or an order. The checker has checked the number of arguments with the signatures of
// the engine.
var metered = map[string]*builtin.Function{
	"charge":      function("charge", func(m *meter, args []any) (any, error) { return args[0], m.charge(args[0]) }),
	"weigh":       function("weigh", func(m *meter, args []any) (any, error) { return args[0], m.weigh(args[0], 0) }),
	"tick":        function("tick", func(m *meter, args []any) (any, error) { return args[0], m.spend(1) }),
	"equal":       function("equal", func(m *meter, args []any) (any, error) { return m.equal(args[0], args[1], 0) }),
	"in":          function("in", in),
	"+":           function("+", add),
	"-":           function("-", subtract),
	"*":           function("*", multiply),
	"int":         function("int", toInt),
	"slice":       function("slice", slice),
	"matches":     function("matches", matches),
	"join":        function("join", join),
	"indexOf":     function("indexOf", func(m *meter, args []any) (any, error) { return place(m, args, strings.Index) }),
	"lastIndexOf": function("lastIndexOf", func(m *meter, args []any) (any, error) { return place(m, args, strings.LastIndex) }),
	"key":         function("key", key),
	"repeat":      function("repeat", repeat),
	"replace":     function("replace", replace),
	"string":      function("string", func(m *meter, args []any) (any, error) { return m.toText(args[0]) }),
	"toJSON":      function("toJSON", func(m *meter, args []any) (any, error) { return m.toJSON(args[0], "  ") }),
	"fromJSON":    function("fromJSON", fromJSON),
	"fromBase64":  function("fromBase64", fromBase64),
	"keys":        function("keys", keys),
	"values":      function("values", values),
	"toPairs":     function("toPairs", toPairs),
	"uniq":        function("uniq", uniq),
	"sort":        function("sort", sorted),
	"sortBy":      function("sortBy", sortedBy),
}

// function adapts fn to the engine. The first argument of each call is the meter of the evaluation.
func function(name string, fn func(m *meter, args []any) (any, error), signature ...any) *builtin.Function {
	f := &builtin.Function{Name: name, Func: func(args ...any) (any, error) {
		return fn(args[0].(*meter), args[1:])
	}}
	for _, s := range signature {
		f.Types = append(f.Types, reflect.TypeOf(s).Elem())
	}
	return f
}

func in(m *meter, args []any) (any, error) {
	needle, list := args[0], reflect.ValueOf(args[1])
	if !isList(list) {
		if err := m.charge(needle); err != nil {
			return nil, err
		}
		return runtime.In(needle, args[1]), nil
	}
	for item := range itemsOf(args[1]) {
		if same, err := m.equal(item, needle, 0); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

func add(m *meter, args []any) (any, error) {
	a, ok := args[0].(string)
	b, also := args[1].(string)
	if ok && also {
		return a + b, m.text(len(a) + len(b))
	}
	if a, b, ok := integers(args); ok {
		return fitting(a+b, (a+b > a) == (b > 0))
	}
	return runtime.Add(args[0], args[1]), nil
}

func slice(m *meter, args []any) (any, error) {
	s, ok := args[0].(string)
	if !ok {
		return sliceList(args)
	}
	if err := m.charge(s); err != nil {
		return nil, err
	}
	runes := []rune(s)
	return string(runtime.Slice(runes, bound(args[1], 0), bound(args[2], len(runes))).([]rune)), nil
}

func sliceList(args []any) (any, error) {
	v := reflect.ValueOf(args[0])
	if !isList(v) {
		return nil, fmt.Errorf("cannot slice %s", kindName(args[0]))
	}
	return runtime.Slice(args[0], bound(args[1], 0), bound(args[2], v.Len())), nil
}

func bound(v any, missing int) any {
	if v == nil {
		return missing
	}
	return v
}

func join(m *meter, args []any) (any, error) {
	glue := ""
	if len(args) > 1 {
		glue = args[1].(string)
	}
	if !isList(reflect.ValueOf(args[0])) {
		return nil, fmt.Errorf("cannot join %s", kindName(args[0]))
	}
	var parts []string
	size := 0
	for item := range itemsOf(args[0]) {
		s, err := m.toText(item)
		if err != nil {
			return nil, err
		}
		if size += len(s) + len(glue); size > MaxText+len(glue) {
			return nil, errText
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, glue), m.text(max(size-len(glue), 0))
}

// place returns the index of a text in another one, in characters, as slices and len count them, or
// -1.
func place(m *meter, args []any, index func(s, part string) int) (any, error) {
	s, part := args[0].(string), args[1].(string)
	if err := errors.Join(m.charge(s), m.charge(part)); err != nil {
		return nil, err
	}
	at := index(s, part)
	if at < 0 {
		return -1, nil
	}
	return utf8.RuneCountInString(s[:at]), nil
}

// key returns a key for groupBy that is the same for equal numbers of different types.
func key(m *meter, args []any) (any, error) {
	v := reflect.ValueOf(args[0])
	switch {
	case v.CanInt():
		return int(v.Int()), nil
	case v.CanFloat() && v.Float() == math.Trunc(v.Float()) && math.Abs(v.Float()) < 1<<63:
		return int(v.Float()), nil
	}
	return args[0], m.charge(args[0])
}

func repeat(m *meter, args []any) (any, error) {
	s, n := args[0].(string), runtime.ToInt(args[1])
	switch {
	case n < 0:
		return nil, fmt.Errorf("cannot repeat %d times", n)
	case n > MaxText || len(s)*n > MaxText:
		return nil, errText
	}
	return strings.Repeat(s, n), m.text(len(s) * n)
}

func replace(m *meter, args []any) (any, error) {
	s, old, with, n := args[0].(string), args[1].(string), args[2].(string), -1
	if len(args) > 3 {
		n = runtime.ToInt(args[3])
	}
	if err := m.text(len(s)); err != nil {
		return nil, err
	}
	found := strings.Count(s, old)
	if n >= 0 {
		found = min(found, n)
	}
	if len(with) > MaxText || len(s)+found*(len(with)-len(old)) > MaxText {
		return nil, errText
	}
	return strings.Replace(s, old, with, n), m.text(len(s) + found*max(len(with)-len(old), 0))
}

// fromJSON decodes integers as integers; the engine would decode them as floats.
func fromJSON(m *meter, args []any) (any, error) {
	s := args[0].(string)
	if err := m.spend(1 + len(s)/8); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("not JSON: there is text after the value")
	}
	return m.plain(v, 0)
}

// fromBase64 rejects bytes that are not UTF-8, because JSON would replace them.
func fromBase64(m *meter, args []any) (any, error) {
	s := args[0].(string)
	if err := m.text(len(s)); err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("not base64: %w", err)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("the bytes are not UTF-8 text")
	}
	return string(data), nil
}

func keys(m *meter, args []any) (any, error) {
	return mapItems(m, args[0], func(_ reflect.Value, key reflect.Value) any { return key.Interface() })
}

func values(m *meter, args []any) (any, error) {
	return mapItems(m, args[0], func(v, key reflect.Value) any { return v.MapIndex(key).Interface() })
}

func toPairs(m *meter, args []any) (any, error) {
	return mapItems(m, args[0], func(v, key reflect.Value) any {
		return []any{key.Interface(), v.MapIndex(key).Interface()}
	})
}

// mapItems calls item for each entry of a map, in the order of the keys, and returns the results.
func mapItems(m *meter, of any, item func(v, key reflect.Value) any) (any, error) {
	v := reflect.ValueOf(of)
	if v.Kind() != reflect.Map {
		return nil, fmt.Errorf("%s is not a map", kindName(of))
	}
	if err := m.charge(of); err != nil {
		return nil, err
	}
	list := make([]any, 0, v.Len())
	for _, key := range sortedKeys(v) {
		list = append(list, item(v, key))
	}
	return list, nil
}

// uniq returns the items without duplicates. It keeps the first of equal items.
func uniq(m *meter, args []any) (any, error) {
	if !isList(reflect.ValueOf(args[0])) {
		return nil, fmt.Errorf("uniq wants a list, not %s", kindName(args[0]))
	}
	list, seen := []any{}, map[string]bool{}
	for item := range itemsOf(args[0]) {
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

func sorted(m *meter, args []any) (any, error) {
	pairs := []any{}
	for item := range itemsOf(args[0]) {
		pairs = append(pairs, []any{item, item})
	}
	return sortedBy(m, append([]any{pairs}, args[1:]...))
}

// sortedBy sorts [item, key] pairs by key. The sort is stable.
func sortedBy(m *meter, args []any) (any, error) {
	down, err := descending(args[1:])
	if err != nil {
		return nil, err
	}
	pairs := slices.Clone(args[0].([]any))
	for _, p := range pairs {
		if err := m.spend(20); err != nil { // an item is compared about log2(n) times
			return nil, err
		}
		if err := m.charge(p.([]any)[1]); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(pairs, func(a, b any) int {
		x, y := a.([]any)[1], b.([]any)[1]
		if down {
			x, y = y, x
		}
		switch {
		case runtime.Less(x, y):
			return -1
		case runtime.Less(y, x):
			return 1
		}
		return 0
	})
	for i, p := range pairs {
		pairs[i] = p.([]any)[0]
	}
	return pairs, nil
}

func descending(order []any) (bool, error) {
	if len(order) == 0 || order[0] == "asc" {
		return false, nil
	}
	if order[0] == "desc" {
		return true, nil
	}
	return false, fmt.Errorf(`order is %v; it may be "asc" or "desc"`, order[0])
}

// kindName returns the kind of a value for error messages.
func kindName(v any) string {
	r := reflect.ValueOf(v)
	switch {
	case v == nil:
		return "nil"
	case isList(r):
		return "a list"
	case r.Kind() == reflect.Map:
		return "a map"
	}
	return fmt.Sprintf("%v", builtin.Type(v))
}
