package exprs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/file"
)

var (
	errWork  = fmt.Errorf("too much work for an expression (more than %d steps)", MaxWork)
	errText  = fmt.Errorf("text is too long (more than %d bytes)", MaxText)
	errDepth = fmt.Errorf("value is nested too deeply (more than %d levels)", maxDepth)

	errInteger = errors.New("the result is no integer of 64 bits")
)

// Error is one mistake and its place in the scalar.
type Error struct {
	Class   Class    // kind of mistake; Syntax for errors at run time
	Offset  int      // byte offset in the whole scalar, from 0
	Width   int      // runes to underline, at least 1
	Line    int      // line in the scalar, from 1
	Col     int      // column in that line in runes, from 1
	Msg     string   // what is wrong, one line
	Suggest string   // the most similar known name, or ""
	Known   []string // the valid names, sorted; set for unknown names only
	Hint    string   // how to correct it, or ""
}

// Class is the kind of a mistake.
type Class string

// The classes of the errors that CompileX functions return.
const (
	Syntax Class = ""      // not a valid expression
	Name   Class = "name"  // an unknown name
	Field  Class = "field" // an unknown field
	Types  Class = "types" // an operation on values of the wrong type
	Marks  Class = "marks" // ${{ without }}, or ${{ where it is not allowed
	Truth  Class = "truth" // a condition that is not true or false
	Size   Class = "size"  // an expression that is too large
	Total  Class = "total" // a file whose expressions are too large in total
)

// as sets the class of an error and returns it.
func (e *Error) as(c Class) *Error {
	e.Class = c
	return e
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:%d: %s", e.Line, e.Col, e.Msg)
	if e.Suggest != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Suggest)
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

// Errors holds all mistakes of one scalar, in order of their places. CompileX functions return no
// other type of error.
type Errors []*Error

func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the mistakes, so that errors.As finds the first *Error.
func (es Errors) Unwrap() []error {
	errs := make([]error, len(es))
	for i, e := range es {
		errs[i] = e
	}
	return errs
}

func (es Errors) sorted() Errors {
	slices.SortStableFunc(es, func(a, b *Error) int { return cmp.Compare(a.Offset, b.Offset) })
	return es
}

// orNil returns a nil error if there are no mistakes.
func (es Errors) orNil() error {
	if len(es) == 0 {
		return nil
	}
	return es
}

// source is an expression inside its scalar.
type source struct {
	whole    string
	from, to int   // bytes
	near     *mark // place of the previous mistake in the scalar; nil outside compilation
}

// mark is a place in a scalar. The line of a mistake is counted from the previous mistake, because
// a text may have hundreds of them.
type mark struct{ offset, line, col int }

// to returns the place of a byte at or after m.
func (m mark) to(whole string, offset int) mark {
	rest := whole[m.offset:offset]
	if n := strings.Count(rest, "\n"); n > 0 {
		m.line, m.col, rest = m.line+n, 1, rest[strings.LastIndexByte(rest, '\n')+1:]
	}
	return mark{offset, m.line, m.col + utf8.RuneCountInString(rest)}
}

func (s source) text() string { return s.whole[s.from:s.to] }

// errorAt returns an error at a byte offset of the whole scalar.
func (s source) errorAt(offset, width int, msg string) *Error {
	m := mark{line: 1, col: 1}
	offset = min(offset, len(s.whole))
	if s.near != nil && s.near.offset <= offset {
		m = *s.near
	}
	m = m.to(s.whole, offset)
	if s.near != nil {
		*s.near = m
	}
	return &Error{Offset: offset, Width: max(width, 1), Line: m.line, Col: m.col, Msg: msg}
}

// start returns the offset of the first character that is not a space.
func (s source) start() int {
	text := s.text()
	return s.from + len(text) - len(strings.TrimLeft(text, " \t\r\n"))
}

// locate returns an error at a location of the engine, which counts runes of the expression.
func (s source) locate(loc file.Location, msg string) *Error {
	offset, text := 0, s.text()
	for range max(loc.From, 0) {
		_, size := utf8.DecodeRuneInString(text[offset:])
		offset += size
	}
	return s.errorAt(s.from+offset, loc.To-loc.From, msg)
}

// translate converts an error of the engine to an *Error.
func (s source) translate(err error) *Error {
	msg := engineWords.Replace(err.Error())
	var at *file.Error
	if !errors.As(err, &at) {
		return s.errorAt(s.start(), 1, msg)
	}
	msg, _, _ = strings.Cut(engineWords.Replace(at.Message), "\n")
	e := s.locate(at.Location, msg)
	e.Hint = hint(msg, s.whole[s.from:e.Offset])
	return e
}

var engineWords = strings.NewReplacer(
	"compilation failed: expression exceeds maximum allowed nodes", fmt.Sprintf("expression is too long (more than %d parts)", MaxNodes),
	"memory budget exceeded", errWork.Error(),
	"map[interface {}][]interface {}", "map",
	"map[string]interface {}", "map",
	"[]interface {}", "list",
	"[]string", "list",
	"[]int", "list",
	"interface {}", "any",
	"float64", "number",
	"builtin ", "",
	"predicate should", "the condition in the parentheses should",
	"predicate with brackets", "the condition with brackets",
	"unexpected token EOF", "unexpected end of the expression",
	`unexpected token Operator(`, `unexpected token (`,
	`unexpected token Bracket(`, `unexpected token (`,
	`unexpected token Identifier(`, `unexpected token (`,
	`unexpected token Number(`, `unexpected token (`,
	`unexpected token String(`, `unexpected token (`,
)
