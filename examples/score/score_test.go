package score_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
)

func load(t *testing.T, allow bool) *workflow.Workflow {
	t.Helper()
	w, err := workflow.Load("score.yaml", workflow.Options{Kinds: nodes.Kinds(), AllowExec: allow, Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestFile_ScoresTexts(t *testing.T) {
	w := load(t, true)
	g, err := w.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	in, err := w.Input(map[string]json.RawMessage{"texts": []byte(`["abcd", "ab..", "", "a..."]`)})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), in, graph.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(w.Output(&res.State))
	if want := `{"scores":[1,0.5,0,0.25],"best":1}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestFile_NeedsPermission(t *testing.T) {
	if err := load(t, false).CheckEnv(); err == nil || !strings.Contains(err.Error(), "--allow-exec") {
		t.Errorf("error %v, want one that names --allow-exec", err)
	}
}

func TestFile_PassesItsTests(t *testing.T) {
	report, err := load(t, false).RunTests(t.Context(), workflow.TestOptions{})
	if err != nil || !report.Passed() {
		t.Errorf("%+v, %v", report.Tests, err)
	}
}
