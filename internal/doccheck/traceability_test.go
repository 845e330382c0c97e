package doccheck

import (
	"flag"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/traceability.md")

func TestTraceability_EveryRequirementHasTests(t *testing.T) {
	text, err := os.ReadFile("requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, err := parseRequirements(string(text))
	if err != nil {
		t.Fatal(err)
	}
	byWords := map[string]*requirement{}
	for _, r := range all {
		byWords[r.words] = r
	}
	walk(t, func(name string, text []byte) {
		if path.Ext(name) != ".go" || strings.HasPrefix(name, "internal/doccheck/") {
			return
		}
		pkg := strings.TrimPrefix(path.Dir(name), "internal/")
		for _, c := range claims(string(text)) {
			switch r := byWords[c.words]; {
			case r == nil:
				t.Errorf("%s:%d: requirement %q is not in internal/doccheck/requirements.txt", name, c.line, c.words)
			case c.test == "":
				t.Errorf("%s:%d: no test follows the requirement %q", name, c.line, c.words)
			default:
				r.tests = append(r.tests, pkg+"."+c.test)
			}
		}
	})
	for _, r := range all {
		if len(r.tests) == 0 {
			t.Errorf("no test names the requirement %q", r.words)
		}
	}
	page := filepath.Join("..", "..", "docs", "traceability.md")
	want := table(all)
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != want {
		t.Errorf("docs/traceability.md is not that of the tests (%v): run go test ./internal/doccheck -update", err)
	}
}

func TestClaims_NameTheTestBelow(t *testing.T) {
	got := claims(`
// TestA does.
//
// Requirement: one
// Requirement: two
func TestA(t *testing.T) {
	// Requirement: in a body
	x()
}
var rules = []rule{
	// Requirement: three
	{"Head", head, nil},
}
`)
	want := []claim{{5, "one", "TestA"}, {6, "two", "TestA"}, {8, "in a body", ""}, {12, "three", "Head"}}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i].words != want[i].words || got[i].test != want[i].test {
			t.Errorf("claim %d: got %v, want %v", i, got[i], want[i])
		}
	}
}

func TestParseRequirements_RefusesMistakes(t *testing.T) {
	for _, text := range []string{"words before a section\n", "# A\none\n# B\none\n"} {
		if _, err := parseRequirements(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
