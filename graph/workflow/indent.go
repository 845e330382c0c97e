package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// misindented returns the first line whose indentation YAML cannot place, and what to do: one that
// a tab indents, or one that goes back to a column at which nothing above it begins. It is a guess
// for text that the parser has refused, whose own account is often of the line where the block
// began.
func (s *source) misindented() (line, col int, hint string) {
	open, block := []int{0}, -1
	for i := range s.lines {
		text := s.line(i + 1)
		rest := strings.TrimLeft(text, " ")
		in := len(text) - len(rest)
		if rest == "" || rest[0] == '#' || block >= 0 && in > block {
			continue
		}
		if rest[0] == '\t' {
			return i + 1, in + 1, "indent with spaces, not with tabs"
		}
		block = -1
		up := slices.IndexFunc(open, func(at int) bool { return at >= in })
		if up >= 0 && open[up] != in {
			return i + 1, in + 1, fmt.Sprintf("the line begins in column %d; the lines above begin in column %s", in+1, columns(open))
		}
		if up >= 0 {
			open = open[:up]
		}
		open = append(open, in)
		for strings.HasPrefix(rest, "- ") {
			rest = strings.TrimLeft(rest[1:], " ")
			open = append(open, len(text)-len(rest))
		}
		if opensBlock(rest) {
			block = in
		}
	}
	return 0, 0, ""
}

// columns lists columns, of which the first is 1.
func columns(from0 []int) string {
	var all []string
	for _, at := range from0 {
		all = append(all, fmt.Sprint(at+1))
	}
	return strings.Join(all, ", ")
}

// opensBlock reports whether the lines below a line are its text, as after "show: |".
func opensBlock(line string) bool {
	words := strings.Fields(line)
	if len(words) < 2 {
		return false
	}
	last := words[len(words)-1]
	return strings.ContainsAny(last[:1], "|>") && strings.Trim(last[1:], "+-0123456789") == ""
}
