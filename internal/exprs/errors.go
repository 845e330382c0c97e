package exprs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
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

// mistake returns the error of a mistake in the expression.
func (s source) mistake(m *mistake) *Error {
	e := s.errorAt(s.from+m.pos, utf8.RuneCountInString(s.text()[m.pos:m.end]), m.msg)
	e.Class, e.Suggest, e.Known, e.Hint = m.class, m.suggest, m.known, m.hint
	if e.Hint == "" {
		e.Hint = hint(m.msg, s.whole[s.from:e.Offset])
	}
	return e
}

// failure returns the error of an evaluation.
func (s source) failure(err error) *Error {
	at, ok := errors.AsType[*placed](err)
	if !ok {
		return s.errorAt(s.start(), 1, firstLine(err))
	}
	e := s.errorAt(s.from+at.pos, utf8.RuneCountInString(s.text()[at.pos:at.end]), firstLine(at.err))
	e.Hint = at.hint
	return e
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
