// Package exprs implements the expression language of workflow files: conditions, and values that
// contain ${{ expression }}.
//
// The main types are:
//
//   - Env: the names that an expression may use, each with its Type.
//   - Condition: an expression that yields true or false.
//   - Value: a scalar that yields text, or keeps the type of its only expression.
//   - Error: a mistake and its place.
//
// A short example:
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
// The language is that of expr-lang/expr: arithmetic, and or not, ?: and ??, in, contains,
// startsWith, endsWith, matches, ranges 1..3, slices, let, if else, closures, and pipes such as
// list | map(.url) | join(", "). The compiler checks names, fields, and the types of operands and
// arguments. Division yields a float, even 4/2; int(x) converts it. A missing key of a map reads as
// nil, a missing group of groupBy as an empty list.
//
// An expression is compiled to Go closures. A value in an expression is nil, a bool, a string, an
// int64, a float64, a []any or a map[string]any; other Go types are converted when they are read.
//
// Functions on lists: all, any, none, one, filter, map, find, findIndex, findLast, findLastIndex,
// count, sum, mean, median, min, max, reduce, groupBy, sortBy, sort, reverse, uniq, concat,
// flatten, first, last, take, join, len. On maps: keys, values, toPairs, fromPairs, get, len. On
// text: upper, lower, trim, trimPrefix, trimSuffix, split, splitAfter, replace, repeat, indexOf,
// lastIndexOf, hasPrefix, hasSuffix, format, len. On numbers: abs, ceil, floor, round, bitand,
// bitor, bitxor, bitnand, bitnot, bitshl, bitshr, bitushr. To other kinds: int, float, string,
// type, json, toJSON, fromJSON, toBase64, fromBase64.
//
// Two functions are additions of this package. json(x) is compact JSON with sorted keys; toJSON is
// the same with indentation. format(text, args...) is fmt.Sprintf with the verbs d x X f e g s v q
// t. A verb that does not match its argument is an error.
//
// # Differences from expr-lang/expr
//
//   - Evaluation is deterministic: keys, values and toPairs use the order of the keys, and sort and
//     sortBy are stable. The functions now, date, duration and timezone, and $env, do not exist.
//     ISO dates compare and slice as text.
//   - Slices of text count characters, as len does, not bytes. string(x) and join write values as
//     ${{ }} does.
//   - Integer + - * and int(x) return an error if the result does not fit in 64 bits, instead of
//     another number. Division by zero is an error too.
//   - fromJSON decodes integers as integers. Values have no methods. There are no bytes b"…".
//   - and, or, not and the closures of filter and the like want true or false at run time too, and
//     functions what their parameters say. The middle operand of a < b < c is evaluated once.
//   - The work of an evaluation (MaxWork) and the size of its texts (MaxText) are bounded.
//
// A [Compiler] bounds the total size of the expressions of a file.
//
// # Traps
//
//   - A map inside a closure needs double braces, map({{url: .link}}), because one pair belongs to
//     the closure. An expression may thus contain }}. Its end is found by parsing, not by a search
//     for }}.
//   - A // comment inside ${{ }} hides the }} on its line.
//   - $${{ is a literal ${{.
//   - YAML gives {, [, # and : a meaning of its own. Quote a scalar that contains them.
//
// # Guarantees
//
//  1. An expression cannot read a clock, a file, the network or the environment, and cannot modify
//     its variables.
//  2. Compilation and evaluation terminate within bounded memory for every input, without a panic.
//  3. All mistakes of a scalar are reported at once, each with its place and the most similar known
//     name.
//  4. Integers remain integers. Results are plain values that JSON can hold, and share no memory
//     with the variables.
package exprs

// The bounds. A step is an iteration of a loop, an item read, 64 bytes of text read, or 256 bytes
// of text written.
const (
	MaxSource = 8 << 10   // bytes of one expression
	MaxNodes  = 1000      // parts of one expression
	MaxWork   = 1_000_000 // steps of one evaluation, its result included
	MaxText   = 1 << 20   // bytes of any result or intermediate text

	maxDepth    = 500 // levels of lists and maps within each other
	maxMistakes = 256 // mistakes of one scalar that are reported
)
