package migrate_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The programs of the page are the examples of this package, in their order.
func TestPage_HasTheExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/migrate.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	programs := func(pattern string, text []byte) (all []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			all = append(all, string(m[1]))
		}
		return all
	}
	onPage := programs("(?s)\nWeft:\n\n```go\n(.*?)\n```\n", page)
	examples := programs(`(?s)\nfunc Example_\w+\(\) \{\n(.*?)\n\}\n`, source)
	for i, text := range examples {
		examples[i] = strings.TrimPrefix(strings.ReplaceAll(text, "\n\t", "\n"), "\t")
	}
	slices.Sort(onPage)
	slices.Sort(examples)
	if len(examples) != 10 || !slices.Equal(onPage, examples) {
		t.Errorf("the page has %d programs, and the package has %d, or they differ", len(onPage), len(examples))
	}
}
