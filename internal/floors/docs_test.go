package floors

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	declared = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w*)\(`)
	named    = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*…?`)
	law      = regexp.MustCompile(`(?m)^(\d+)\. `)
	reason   = regexp.MustCompile(`(?m)^\| (\d+) \| .+ \| .+ \|$`)
)

// words returns the documents by name, and the names of all tests.
func words(t *testing.T) (docs map[string]string, tests []string) {
	docs = map[string]string{}
	walk(t, func(name string, text []byte) {
		switch {
		case path.Ext(name) == ".md":
			docs[name] = string(text)
		case strings.HasSuffix(name, "_test.go"):
			for _, m := range declared.FindAllSubmatch(text, -1) {
				tests = append(tests, string(m[1]))
			}
		}
	})
	return docs, tests
}

// A test that is skipped where a server is missing, or anything else, says that something was tested which was not.
func TestNoTestIsSkipped(t *testing.T) {
	skips := regexp.MustCompile(`\b(t|b|tb)\.Skip(f|Now)?\(`)
	walk(t, func(name string, text []byte) {
		if strings.HasSuffix(name, "_test.go") {
			if at := skips.FindIndex(text); at != nil {
				t.Errorf("%s:%d skips a test: what it needs is installed by .ci/setup, or it fails", name, 1+strings.Count(string(text[:at[0]]), "\n"))
			}
		}
	})
}

func TestTestsNamedInDocumentsExist(t *testing.T) {
	docs, tests := words(t)
	for name, text := range docs {
		for _, test := range named.FindAllString(text, -1) {
			begin, open := strings.CutSuffix(test, "…")
			if !slices.ContainsFunc(tests, func(s string) bool { return s == begin || open && strings.HasPrefix(s, begin) }) {
				t.Errorf("%s names %s, which is not there", name, test)
			}
		}
	}
}

func TestEachLawNamesItsTests(t *testing.T) {
	docs, _ := words(t)
	sections := strings.Split(docs["docs/semantics.md"], "\n## ")
	held := 0
	for _, section := range sections[1:] {
		title, text, _ := strings.Cut(section, "\n")
		if strings.Contains(title, "LangGraph") {
			continue
		}
		parts := []string{text}
		if title == "Laws" {
			parts = nil
			for i, at := range law.FindAllStringIndex(text, -1) {
				if !strings.HasPrefix(text[at[0]:], fmt.Sprint(i+1, ". ")) {
					t.Errorf("law %d is not numbered so: %s", i+1, text[at[0]:at[1]])
				}
				rest := text[at[1]:]
				if next := law.FindStringIndex(rest); next != nil {
					rest = rest[:next[0]]
				}
				parts = append(parts, rest)
			}
		}
		for i, part := range parts {
			if held++; !strings.Contains(part, "*Held by* `Test") {
				t.Errorf("docs/semantics.md: %s, part %d names no test that holds it", title, i+1)
			}
		}
	}
	if held < 20 {
		t.Errorf("found %d laws, which cannot be all", held)
	}
}

// rows are the numbers of the specification's rows of LangGraph's tests, and cases those
// of the peers' failures, as spans.
var (
	rows = [][2]int{{1, 6}, {10, 15}, {17, 27}, {29, 30}, {32, 33}, {35, 35}, {37, 38}, {40, 47}, {49, 51}, {53, 62}, {64, 69},
		{71, 72}, {74, 75}, {78, 87}, {89, 90}, {92, 104}, {106, 109}, {111, 111}, {114, 115}, {117, 117}, {119, 126}, {128, 129}}
	cases = [][2]int{{1, 1}, {3, 5}, {7, 7}, {11, 12}, {14, 14}, {17, 18}, {20, 21}, {23, 24}}
)

func TestEachRowHasATestOrAReason(t *testing.T) {
	docs, tests := words(t)
	_, table, _ := strings.Cut(docs["docs/semantics.md"], "\n## Rows of LangGraph's tests")
	var reasons []string
	for _, m := range reason.FindAllStringSubmatch(table, -1) {
		reasons = append(reasons, m[1])
	}
	has := func(prefix string) bool {
		return slices.ContainsFunc(tests, func(s string) bool {
			rest, ok := strings.CutPrefix(s, prefix)
			return ok && rest != "" && (rest[0] < '0' || rest[0] > '9')
		})
	}
	for _, span := range rows {
		for n := span[0]; n <= span[1]; n++ {
			tested, excused := has(fmt.Sprintf("TestRow%03d", n)), slices.Contains(reasons, fmt.Sprint(n))
			if tested == excused {
				t.Errorf("row %d: has a test: %t; docs/semantics.md says why not: %t", n, tested, excused)
			}
		}
	}
	for _, span := range cases {
		for n := span[0]; n <= span[1]; n++ {
			if !has(fmt.Sprintf("TestPeer%02d", n)) {
				t.Errorf("case %d of the peers has no test", n)
			}
		}
	}
	if len(reasons) == 0 {
		t.Error("docs/semantics.md has no table of rows that do not apply")
	}
}
