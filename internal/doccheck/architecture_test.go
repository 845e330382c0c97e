package doccheck

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// decided is a row of the table of docs/architecture.md that names where something is decided: a
// file and its functions.
var decided = regexp.MustCompile("(?m)^\\|[^|]*\\| `([a-z/]+\\.go)`: (`[^|]*`)")

func TestArchitecture_NamesFunctionsThatExist(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := decided.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 15 {
		t.Errorf("the page names %d places, want 15 or more", len(rows))
	}
	for _, row := range rows {
		source, err := os.ReadFile(filepath.Join(root, row[1]))
		if err != nil {
			t.Errorf("docs/architecture.md: %v", err)
			continue
		}
		for _, name := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(row[2], -1) {
			if declares := regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name[1] + `[([]`); !declares.Match(source) {
				t.Errorf("docs/architecture.md: %s has no function %s", row[1], name[1])
			}
		}
	}
}

func TestArchitecture_ReadsTheRowsOfTheTable(t *testing.T) {
	rows := decided.FindAllStringSubmatch(strings.Join([]string{"| law | `graph/run.go`: `plan`, `gone` |", "| other | text |"}, "\n"), -1)
	if len(rows) != 1 || rows[0][1] != "graph/run.go" || rows[0][2] != "`plan`, `gone`" {
		t.Errorf("got %q", rows)
	}
}
