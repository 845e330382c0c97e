package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/internal/exprs"
	"github.com/weftrun/weft/internal/suggest"
)

// Error is returned when a workflow cannot be used as it is written, or was given an
// input that it does not take. It holds every mistake, by file, line and column.
type Error struct{ Problems []Problem }

// Problem is one mistake and its place.
type Problem struct {
	Code      Code   // what kind of mistake it is; see Explain
	File      string // as it was named when loading, with slashes
	Line, Col int    // from 1; Col counts characters
	Width     int    // characters from Col on that are meant, at least 1; all in one line
	Msg       string // what is wrong, one line
	Hint      string // how to write it instead, or ""
	Text      string // the line of the file; "" where there is none, or a very long one
	Fix       Fix    // what was probably meant; zero if it is not known
	// Warning marks a problem that is not a mistake but is probably not intended.
	// Options.Strict makes it a mistake.
	Warning bool
}

// Fix is what to write in place of some characters in the line of a problem.
type Fix struct {
	Col, Width int // as in Problem
	Text       string
}

// String returns the problem in one line; Excerpt shows the place too.
func (p Problem) String() string {
	s := fmt.Sprintf("%s:%d:%d: %s[%s]: %s", p.File, p.Line, p.Col, p.Severity(), p.Code, p.Msg)
	if p.Hint != "" {
		s += " (" + p.Hint + ")"
	}
	return s
}

// Severity is "error" or "warning".
func (p Problem) Severity() string {
	if p.Warning {
		return "warning"
	}
	return "error"
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems is how many mistakes, and how many warnings, of a file and of those it names are
// gathered.
const maxProblems = 200

// problems collects the mistakes of a file and of those it names.
type problems struct {
	found []Problem
	most  int  // so many mistakes and so many warnings; 0 means all
	more  bool // there are more
}

// tooMany ends the reading of files by a panic: what was not read yet is not looked at. See enough.
type tooMany struct{}

// add takes a problem. One mistake more than ps takes ends the reading.
func (ps *problems) add(p Problem) {
	same := ps.mistakes()
	if p.Warning {
		same = len(ps.found) - same
	}
	if ps.most == 0 || same < ps.most {
		ps.found = append(ps.found, p)
		return
	}
	ps.more = true
	if !p.Warning {
		panic(tooMany{})
	}
}

// enough returns what read returns, or nil when it was ended by too many mistakes.
func enough[T any](read func() *T) (t *T) {
	defer func() {
		switch r := recover().(type) {
		case nil, tooMany:
		default:
			panic(r)
		}
	}()
	return read()
}

// err returns the problems in order, each once, or nil if there are none.
func (ps *problems) err() error {
	if !slices.ContainsFunc(ps.found, func(p Problem) bool { return !p.Warning }) {
		return nil
	}
	return &Error{ps.sorted()}
}

// mistakes counts the problems that are no warnings.
func (ps *problems) mistakes() (n int) {
	for _, p := range ps.found {
		if !p.Warning {
			n++
		}
	}
	return n
}

// sorted returns the problems in order, each once.
func (ps *problems) sorted() []Problem {
	slices.SortStableFunc(ps.found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	all := slices.Compact(ps.found)
	if ps.more {
		p := all[len(all)-1]
		p.Code, p.Width, p.Msg, p.Hint, p.Text = "WF607", 1, fmt.Sprintf("there are more problems; the first %d are shown", ps.most), "", ""
		p.Warning = !slices.ContainsFunc(all, func(p Problem) bool { return !p.Warning })
		all = append(all, p)
	}
	return all
}

// RunError is an expression of the file that failed while the workflow ran, or a
// value of it that does not fit where it goes. Running it again gives the same, so
// it is never retried.
type RunError struct {
	Pos  string // file:line:col
	What string
}

func (e *RunError) Error() string { return e.Pos + ": " + e.What }

// Retryable reports false.
func (e *RunError) Retryable() bool { return false }

// synonyms are the words of other languages for types and reducers.
var synonyms = map[string]string{
	"integer": "int", "long": "int", "int64": "int", "float": "number", "float64": "number", "double": "number", "decimal": "number",
	"boolean": "bool", "str": "string", "text": "string", "json": "any", "array": "list", "dict": "map",
	"sum": "add", "count": "add", "concat": "append", "extend": "append", "overwrite": "replace", "last": "latest", "first": "once",
	"add_messages": "messages", "maximum": "max", "minimum": "min", "set": "replace",
}

// guess is a word and what was probably meant by it, with a zero byte between them; "" if that is
// not known. In the arguments of a message it is a suffix, and the problem has it as its Fix.
type guess string

func (g guess) parts() (word, best string) {
	word, best, _ = strings.Cut(string(g), "\x00")
	return word, best
}

func (g guess) String() string {
	_, best := g.parts()
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// fix returns the replacement of the word in a line, from column col on.
func (g guess) fix(line string, col int) (f Fix) {
	meant, best := g.parts()
	runes, word := []rune(line), []rune(meant)
	for i := col - 1; best != "" && i+len(word) <= len(runes); i++ {
		if slices.Equal(runes[i:i+len(word)], word) {
			return Fix{i + 1, len(word), best}
		}
	}
	return f
}

// fixOf returns what a guess among the arguments of a message replaces.
func (p *Problem) fixOf(args []any) (f Fix) {
	for _, a := range args {
		if g, ok := a.(guess); ok {
			f = g.fix(p.Text, p.Col)
		}
	}
	return f
}

func didYouMean(word string, known []string) guess { return guessOf(word, meant(word, known)) }

func guessOf(word, best string) guess {
	if best == "" {
		return ""
	}
	return guess(word + "\x00" + best)
}

// meant returns the known word that was probably meant, or "".
func meant(word string, known []string) string {
	if best := synonyms[strings.ToLower(word)]; slices.Contains(known, best) {
		return best
	}
	return suggest.Nearest(word, known)
}

// message returns the text of an expression's error, without its place.
func message(e *exprs.Error) (msg, hint string) {
	msg, hint = e.Msg, e.Hint
	if e.Suggest != "" {
		msg += fmt.Sprintf("; did you mean %q?", e.Suggest)
	}
	if hint == "" && len(e.Known) > 0 {
		hint = "known are " + strings.Join(e.Known, ", ")
	}
	return msg, hint
}
