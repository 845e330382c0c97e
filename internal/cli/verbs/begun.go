package verbs

import (
	"slices"
	"strings"

	"github.com/weftrun/weft/internal/cli/reports"
)

// begun returns the name that equals start, or the only name that begins with it. If several names
// begin with it, the error lists them. list is the command that lists all names.
func (a *app) begun(what, start string, names []string, list string) (string, error) {
	if slices.Contains(names, start) {
		return start, nil
	}
	var fit []string
	for _, name := range names {
		if start != "" && strings.HasPrefix(name, start) {
			fit = append(fit, name)
		}
	}
	switch len(fit) {
	case 0:
		return "", reports.Usage(list+" lists them", "there is no %s %q", what, start)
	case 1:
		return fit[0], nil
	}
	return "", reports.Usage("write more of the name; "+list+" lists all", "several %ss have a name that begins with %q: %s", what, start, candidates(fit))
}

// most is the number of candidates that an error names.
const most = 5

// candidates lists the names that a prefix matches.
func candidates(fit []string) string {
	words := make([]string, 0, most+1)
	for _, name := range fit[:min(len(fit), most)] {
		words = append(words, reports.Cell(name))
	}
	if len(fit) > most {
		words = append(words, "…")
	}
	return strings.Join(words, ", ")
}
