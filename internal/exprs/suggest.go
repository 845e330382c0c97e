package exprs

import (
	"regexp"
	"strings"
)

var closureMap = regexp.MustCompile(`(\(|,)\s*\{\s*("[^"]*"|'[^']*'|\w+)\s*$`)

// hint returns a hint for a frequent syntax error. before is the text up to the error.
func hint(msg, before string) string {
	token, ok := strings.CutPrefix(msg, "unexpected token (")
	switch {
	case !ok:
		return ""
	case strings.HasPrefix(token, `":"`) && closureMap.MatchString(before):
		return "a map inside map(), filter() and the like needs double braces: map({{url: .link}})"
	case strings.HasPrefix(token, `"="`):
		return "compare with =="
	case strings.HasPrefix(token, `"&"`):
		return "write && or and"
	}
	return ""
}
