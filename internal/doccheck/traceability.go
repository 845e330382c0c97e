package doccheck

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// requirement is what some tests check, in words.
type requirement struct {
	section string
	words   string
	tests   []string // as package.Test, sorted
}

// parseRequirements reads requirements.txt: a section begins with "# ", each other line is a requirement.
func parseRequirements(text string) (all []*requirement, err error) {
	section := ""
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		title, isSection := strings.CutPrefix(line, "# ")
		switch {
		case line == "":
		case isSection:
			section = title
		case section == "":
			return nil, fmt.Errorf("requirements.txt:%d: a requirement must be in a section", i+1)
		case seen[line]:
			return nil, fmt.Errorf("requirements.txt:%d: requirement %q is there twice", i+1, line)
		default:
			seen[line] = true
			all = append(all, &requirement{section: section, words: line})
		}
	}
	return all, nil
}

var (
	requirementLine = regexp.MustCompile(`^\t*// Requirement: (.+)$`)
	// testedBy matches the line after the comment of a test, or of a rule in the table of a public suite.
	testedBy = regexp.MustCompile(`^(?:func ((?:Test|Fuzz|Example)\w*)\(|\t\{"(\w+)", )`)
)

// claim is a comment of a test that names a requirement.
type claim struct {
	line  int
	words string
	test  string // "" if no test follows the comment
}

// claims returns the requirements that the comments of a file name.
func claims(text string) (found []claim) {
	open := 0 // the first claim of this comment
	for i, line := range strings.Split(text, "\n") {
		if m := requirementLine.FindStringSubmatch(line); m != nil {
			found = append(found, claim{line: i + 1, words: m[1]})
			continue
		}
		if strings.HasPrefix(strings.TrimLeft(line, "\t"), "//") {
			continue
		}
		if m := testedBy.FindStringSubmatch(line); m != nil {
			for j := open; j < len(found); j++ {
				found[j].test = m[1] + m[2]
			}
		}
		open = len(found)
	}
	return found
}

// table returns docs/traceability.md.
func table(all []*requirement) string {
	var b strings.Builder
	b.WriteString(`# Requirements and their tests

Generated from internal/doccheck/requirements.txt and the comments of the tests by
` + "`go test ./internal/doccheck -update`" + `. A test of a public suite, such as
` + "`checkpointtest.StaleHead`" + `, runs on every backend.
`)
	section := ""
	for _, r := range all {
		if r.section != section {
			section = r.section
			fmt.Fprintf(&b, "\n## %s\n\n| requirement | tests |\n|---|---|\n", section)
		}
		slices.Sort(r.tests)
		fmt.Fprintf(&b, "| %s | %s |\n", r.words, strings.Join(slices.Compact(r.tests), "<br>"))
	}
	return b.String()
}
