package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/internal/exprs"
)

// Error is returned when a workflow cannot be used as it is written, or was given an
// input that it does not take. It holds every mistake, by file, line and column.
type Error struct{ Problems []Problem }

// Problem is one mistake and its place.
type Problem struct {
	File      string // as it was named when loading, with slashes
	Line, Col int    // from 1; Col counts characters
	Msg       string // what is wrong, one line
	Hint      string // how to write it instead, or ""
}

func (p Problem) String() string {
	s := fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Msg)
	if p.Hint != "" {
		s += " (" + p.Hint + ")"
	}
	return s
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// problems collects the mistakes of a file and of those it names.
type problems struct{ found []Problem }

// err returns the problems in order, each once, or nil if there are none.
func (ps *problems) err() error {
	if len(ps.found) == 0 {
		return nil
	}
	slices.SortStableFunc(ps.found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return &Error{slices.Compact(ps.found)}
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

// didYouMean returns a suffix that names what was probably meant, or "".
func didYouMean(word string, known []string) string {
	best, least := "", max(1, (len(word)+1)/3)+1
	for _, name := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(name)); d < least && d < len(name) {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance returns how many bytes must change to turn a into b.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, change)
		}
	}
	return row[len(b)]
}

// message returns what an expression's error says, without its place.
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
