package workflow

import (
	"fmt"
	"strings"
	"unicode"
)

// maxShown is how many characters of a line an excerpt shows.
const maxShown = 120

// Excerpt returns the problem as people read it: what is wrong, the line of the file
// with what is meant underlined, and how to write it instead. It ends without a new
// line, and has no excerpt where Text is "".
//
//	review.yaml:41:23: error[WF203]: unknown field sorces; did you mean "sources"?
//	   41 |       - if: len(state.sorces) == 0
//	      |                       ^^^^^^
//	   help: known are draft, sources
func (p Problem) Excerpt() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s[%s]: %s", p.File, p.Line, p.Col, p.Severity(), p.Code, p.Msg)
	if strings.TrimSpace(p.Text) != "" {
		line, under := p.underlined()
		number := fmt.Sprint(p.Line)
		fmt.Fprintf(&b, "\n   %s | %s\n   %*s | %s", number, line, len(number), "", under)
	}
	if p.Hint != "" {
		fmt.Fprintf(&b, "\n   help: %s", p.Hint)
	}
	return b.String()
}

// underlined returns the line, cut around the place where it is long, and carets
// below what is meant. A tab stays a tab in both, so that they line up.
func (p Problem) underlined() (line, under string) {
	all, from := []rune(p.Text), min(p.Col-1, len([]rune(p.Text)))
	width := min(p.Width, maxShown/2)
	cut := ""
	if len(all) > maxShown && from > maxShown/3 {
		skip := from - maxShown/3
		all, from, cut = all[skip:], maxShown/3, "…"
	}
	if len(all) > maxShown {
		all = append(all[:maxShown:maxShown], '…')
	}
	var space strings.Builder
	space.WriteString(strings.Repeat(" ", len([]rune(cut))))
	for _, r := range all[:min(from, len(all))] {
		if r == '\t' {
			space.WriteRune(r)
		} else {
			space.WriteByte(' ')
		}
	}
	shown := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, string(all))
	return cut + shown, space.String() + strings.Repeat("^", max(width, 1))
}

// Excerpts returns the excerpts of all problems, one after the other.
func (e *Error) Excerpts() string {
	all := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		all[i] = p.Excerpt()
	}
	return strings.Join(all, "\n")
}
