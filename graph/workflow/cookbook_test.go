package workflow_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/graph/workflow"
)

// TestCookbook_Runs runs the tests of every file in docs/cookbook.md, which must go
// through every node and every way.
func TestCookbook_Runs(t *testing.T) {
	text, err := os.ReadFile("../../docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	recipes := strings.Split(string(text), "\n## ")[1:]
	if len(recipes) != 13 {
		t.Errorf("there are %d recipes, want 13", len(recipes))
	}
	for _, recipe := range recipes {
		title, _, _ := strings.Cut(recipe, "\n")
		_, rest, _ := strings.Cut(recipe, "```yaml\n")
		src, _, ok := strings.Cut(rest, "```\n")
		t.Run(title, func(t *testing.T) {
			if !ok {
				t.Fatal("there is no file")
			}
			w, err := workflow.Parse("recipe.yaml", []byte(src), workflow.Options{Kinds: kinds(), Sections: sections()})
			if err != nil {
				t.Fatal(err)
			}
			for _, field := range carried(t, src) {
				t.Errorf("rule: a second turn of a recipe gives what a first one does\nthe output %s keeps the value of the turn before; want scope: turn", field)
			}
			report, err := w.RunTests(t.Context(), workflow.TestOptions{})
			if err != nil || len(report.Tests) == 0 {
				t.Fatalf("%d tests, %v", len(report.Tests), err)
			}
			for _, r := range report.Tests {
				if !r.Passed() {
					t.Errorf("%s: %v %v", r.Name, r.Failures, r.Err)
				}
			}
			for _, n := range report.Coverage.Nodes {
				if n.Runs == 0 {
					t.Errorf("node %s never ran", n.Node)
				}
			}
			for _, e := range report.Coverage.Edges {
				if e.Taken == 0 {
					t.Errorf("the edge from %s to %s was never taken", e.From, e.To)
				}
			}
			if formatted, err := workflow.Format("recipe.yaml", []byte(src)); err != nil || string(formatted) != src {
				t.Errorf("it is not formatted: %v", err)
			}
		})
	}
}

// carried returns the fields of the output that may show what an earlier turn wrote: those that the
// input does not set, that have a default or a reducer, and that do not start anew with each turn.
func carried(t *testing.T, src string) (fields []string) {
	t.Helper()
	var file struct {
		State  map[string]any
		Input  []string
		Output []string
	}
	if err := yaml.Unmarshal([]byte(src), &file); err != nil {
		t.Fatal(err)
	}
	for _, name := range file.Output {
		f, _ := file.State[name].(map[string]any)
		_, hasDefault := f["default"]
		_, hasReducer := f["reducer"]
		if !slices.Contains(file.Input, name) && (hasDefault || hasReducer) && f["scope"] != "turn" {
			fields = append(fields, name)
		}
	}
	return fields
}
