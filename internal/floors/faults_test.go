package floors

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// table returns what stands below a heading of docs/operations.md, as the cells of its
// first table.
func table(t *testing.T, heading string) (rows [][]string) {
	t.Helper()
	docs, _ := words(t)
	_, text, found := strings.Cut(docs["docs/operations.md"], "\n"+heading+"\n")
	if !found {
		t.Fatalf("docs/operations.md has no %q", heading)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "| "):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		case strings.HasPrefix(line, "|---"):
			rows = nil // that was the head
		case len(rows) > 0:
			return rows
		}
	}
	return rows
}

// rules returns the names of the rules of checkpointtest.
func rules(t *testing.T) (names []string) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^\t\{"([A-Z]\w+)", \w+, `)
	walk(t, func(name string, text []byte) {
		if name == "checkpoint/checkpointtest/run.go" || name == "checkpoint/checkpointtest/chain.go" {
			for _, m := range line.FindAllSubmatch(text, -1) {
				names = append(names, string(m[1]))
			}
		}
	})
	return names
}

func TestEachFaultHasATest(t *testing.T) {
	list := table(t, "## What happens when something fails")
	if len(list) != 24 {
		t.Errorf("docs/operations.md has %d faults, want 24", len(list))
	}
	for i, cells := range list {
		if len(cells) != 7 || cells[0] != fmt.Sprint(i+1) || slices.Contains(cells, "") {
			t.Errorf("fault %d has the cells %q; want its number, its name, what each of four stores does, and what holds it", i+1, cells)
		} else if !strings.Contains(cells[6], "`Test") {
			t.Errorf("fault %d names no test: %s", i+1, cells[6])
		}
	}
}

func TestEachPromiseHasATest(t *testing.T) {
	list := table(t, "## Which promise holds on which store")
	if len(list) < 12 {
		t.Errorf("docs/operations.md has %d promises, which cannot be all", len(list))
	}
	for _, cells := range list {
		if len(cells) != 6 || slices.Contains(cells, "") || !strings.Contains(cells[5], "`Test") {
			t.Errorf("a promise has the cells %q; want its name, what each of four stores does, and the tests", cells)
		}
	}
}

func TestRulesNamedInDocumentsExist(t *testing.T) {
	docs, _ := words(t)
	there := rules(t)
	if len(there) < 60 {
		t.Fatalf("found %d rules of checkpointtest, which cannot be all", len(there))
	}
	for name, text := range docs {
		for _, m := range regexp.MustCompile("`Test(?:Store|Memory)/(\\w+)`").FindAllStringSubmatch(text, -1) {
			if !slices.Contains(there, m[1]) {
				t.Errorf("%s names the rule %s, which checkpointtest does not have", name, m[1])
			}
		}
	}
}
