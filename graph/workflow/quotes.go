package workflow

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/internal/exprs"
)

// brokenByYAML reports whether a string of an expression is not closed because the scalar around it
// is in double quotes, where YAML makes a newline of \n.
func (s *source) brokenByYAML(n *yaml.Node, e *exprs.Error, line int) bool {
	if n.Style&yaml.DoubleQuotedStyle == 0 || e.Class != exprs.Syntax || !strings.Contains(s.line(line), `\n`) {
		return false
	}
	before, _, broken := strings.Cut(n.Value[max(0, strings.LastIndex(n.Value[:min(e.Offset, len(n.Value))], "${{")):], "\n")
	return broken && inQuotes(before)
}

// inQuotes reports whether an expression that begins so ends inside a string.
func inQuotes(text string) bool {
	open := rune(0)
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			escaped = false
		case open != 0 && r == '\\':
			escaped = true
		case r == open:
			open = 0
		case open == 0 && (r == '\'' || r == '"'):
			open = r
		}
	}
	return open != 0
}
