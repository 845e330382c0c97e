// Package exprs holds the small language of workflow files: conditions, and values with ${{
// expression }} in them.
//
// The nouns are Env (the names an expression may use, each with its Type), Condition (true or
// false), Value (a scalar that yields text or keeps the type of its one expression) and Error (one
// mistake and its place).
//
//	env := exprs.Env{"state": exprs.Object(map[string]exprs.Type{
//		"topic":   exprs.String,
//		"sources": exprs.List(exprs.Object(map[string]exprs.Type{"url": exprs.String})),
//	})}
//	enough, err := exprs.CompileCondition(`len(state.sources) >= 3`, env)
//	title, err := exprs.CompileValue(`About ${{ state.topic | upper() }}`, env)
//	text, err := title.Eval(map[string]any{"state": map[string]any{"topic": "go"}})
//
// # Language
//
// It is expr-lang/expr: arithmetic, and or not, ?: and ??, in, contains, startsWith, endsWith,
// matches, ranges 1..3, slices, let, pipes (list | map(.url) | join(", ")) and closures. Names and
// fields are checked when compiling. Division gives a number with a fraction, even 4/2; int(x)
// makes it whole. A missing key of a map reads as nil.
//
// Functions on lists: all, any, none, one, filter, map, find, findIndex, findLast, findLastIndex,
// count, sum, mean, median, min, max, reduce, groupBy, sortBy, sort, reverse, uniq, concat,
// flatten, first, last, take, join, len. On maps: keys, values, toPairs, fromPairs, get, len. On
// text: upper, lower, trim, trimPrefix, trimSuffix, split, splitAfter, replace, repeat, indexOf,
// lastIndexOf, hasPrefix, hasSuffix, format, len. On numbers: abs, ceil, floor, round, bitand,
// bitor, bitxor, bitnand, bitnot, bitshl, bitshr, bitushr. To other kinds: int, float, string,
// type, json, toJSON, fromJSON, toBase64, fromBase64.
//
// Two are ours. json(x) is compact JSON with sorted keys (toJSON is the same, indented).
// format(text, args...) is fmt.Sprintf with the verbs d x X f e g s v q t; a verb that does not fit
// its argument is an error.
//
// # Differences from the engine
//
//   - The same input gives the same result, always: keys, values and toPairs go in the order of the keys, sort and
//     sortBy are stable, and now, date, duration, timezone and $env do not exist. ISO dates compare and slice as text.
//   - Text is cut by characters, as len counts them, not by bytes; string(x) and join write values as ${{ }} does.
//   - Integer + - * and int(x) whose result does not fit in 64 bits are errors; the engine wraps around.
//   - fromJSON keeps integers integers. Values have no methods.
//   - One evaluation does a bounded amount of work (MaxWork) and makes bounded text (MaxText). The engine itself
//     bounds neither loops nor text: a line of nested loops or doubled strings would stop the process.
//
// A [Compiler] bounds the expressions of a file in all, and [Prepared] a type that many of them
// use.
//
// # Traps
//
//   - A map inside a closure needs double braces, map({{url: .link}}); one pair belongs to the closure. So }} may
//     stand inside an expression, and its end is found by reading it, not by searching for }}.
//   - A // comment inside ${{ }} hides the }} on its line.
//   - $${{ is a literal ${{.
//   - YAML reads {, [, #, : before this package does; quote a scalar that holds them.
//
// # Duties
//
//  1. An expression cannot read a clock, a file, the network or the environment, and cannot change its variables.
//  2. Compiling and evaluating end, within bounded memory, for every input; neither panics.
//  3. All mistakes of a scalar are reported at once, each at its place, with the name that was probably meant.
//  4. Integers stay integers; results are plain values that JSON can hold, and share no memory with the variables.
//
// The package is the one door of github.com/expr-lang/expr.
package exprs

// The bounds. A step is one turn of a loop, one item read, 64 bytes of text read or 256 bytes made.
const (
	MaxSource = 8 << 10   // bytes of one expression
	MaxNodes  = 1000      // parts of one expression
	MaxWork   = 1_000_000 // steps of one evaluation, its result included
	MaxText   = 1 << 20   // bytes of any text made on the way

	maxDepth    = 500 // levels of lists and maps within each other
	maxMistakes = 256 // mistakes of one scalar that are reported
)
