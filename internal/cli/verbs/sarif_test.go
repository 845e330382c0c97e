package verbs_test

import (
	"encoding/json"
	"testing"
)

// required are the members that the schema of SARIF 2.1.0 requires, for the objects
// that validate writes, and the values that it allows where they are few.
var required = map[string][]string{
	"":                                       {"version", "runs"},
	"runs":                                   {"tool"},
	"runs.tool":                              {"driver"},
	"runs.tool.driver":                       {"name"},
	"runs.tool.driver.rules":                 {"id"},
	"runs.invocations":                       {"executionSuccessful"},
	"runs.results":                           {"message"},
	"runs.results.message":                   {"text"},
	"runs.tool.driver.rules.fullDescription": {"text"},
	"runs.tool.driver.rules.shortDescription": {"text"},
}

func checkRequired(t *testing.T, path string, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			checkRequired(t, path, item)
		}
	case map[string]any:
		for _, name := range required[path] {
			if v[name] == nil {
				t.Errorf("%q has no %s: %v", path, name, v)
			}
		}
		for name, member := range v {
			inside := name
			if path != "" {
				inside = path + "." + name
			}
			checkRequired(t, inside, member)
		}
	}
}

func TestSARIF_HasWhatItsSchemaRequires(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("good.yaml", "version: 1\nnodes: {a: {set: {}, next: END}}\n")
	p.write("ä b.yaml", "version: 1\nnodes: {a: {set: {}, next: nowhere}}\n")
	for _, c := range []struct {
		code    int
		args    []string
		results int
		whole   bool
	}{
		{0, []string{"good.yaml"}, 0, true},
		{3, []string{"good.yaml", "ä b.yaml"}, 1, true},
		{2, []string{"missing.yaml", "ä b.yaml"}, 1, false},
	} {
		e := p.must(c.code, append([]string{"validate", "--format", "sarif"}, c.args...)...)
		var all any
		var doc struct {
			Version string
			Runs    []struct {
				Invocations []struct{ ExecutionSuccessful bool }
				ColumnKind  string
				Tool        struct {
					Driver struct{ Rules []struct{ ID string } }
				}
				Results []struct {
					RuleID    string
					RuleIndex int
					Level     string
					Locations []struct {
						PhysicalLocation struct {
							ArtifactLocation struct{ URI string }
							Region           struct{ StartLine, StartColumn, EndColumn int }
						}
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(e.stdout), &all); err != nil {
			t.Fatal(err)
		}
		checkRequired(t, "", all)
		if err := json.Unmarshal([]byte(e.stdout), &doc); err != nil {
			t.Fatal(err)
		}
		run := doc.Runs[0]
		if doc.Version != "2.1.0" || run.ColumnKind != "unicodeCodePoints" || run.Results == nil || len(run.Results) != c.results || run.Invocations[0].ExecutionSuccessful != c.whole {
			t.Fatalf("%v: got %s", c.args, e.stdout)
		}
		for _, r := range run.Results {
			at := r.Locations[0].PhysicalLocation
			if r.RuleID != "WF304" || run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || r.Level != "error" ||
				at.ArtifactLocation.URI != "%C3%A4%20b.yaml" || at.Region.StartLine != 2 || at.Region.StartColumn != 28 || at.Region.EndColumn != 35 {
				t.Errorf("%v: got %+v", c.args, r)
			}
		}
	}
}
