package workflow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// TestManual_IsUpToDate compiles the file that doc.go and docs/workflow.md show.
func TestManual_IsUpToDate(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "workflow.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(doc), "//	version: 1")
	text, _, _ = strings.Cut("version: 1"+text, "// Reducers")
	text = regexp.MustCompile(`(?m)^//\t?`).ReplaceAllString(text, "")
	if !strings.Contains(string(page), "```yaml\n"+strings.TrimSpace(text)+"\n```") {
		t.Error("docs/workflow.md shows another file than doc.go")
	}
	f := load(t, map[string]string{"main.yaml": text, "write.yaml": `
version: 1
state: {sources: list<any>, text: string}
input: [sources]
output: [text]
nodes: {write: {set: {text: "${{ len(state.sources) }} sources"}, next: END}}
`}, map[string]workflow.Kind{"go:check": workflow.Go(check)})
	report, err := f.RunTests(t.Context(), workflow.TestOptions{})
	if err != nil || len(report.Tests) != 1 || !report.Passed() {
		t.Errorf("the test of the manual: %+v, %v", report, err)
	}
}

func TestInput_ReportsEveryMistake(t *testing.T) {
	f := parse(t, `version: 1
state:
  topic: {type: string, required: true}
  n: {type: int, required: true}
  list: {type: list<int>, reducer: append}
  secret: string
input: [topic, n, list]
nodes: {a: {set: {}, next: END}}
`)
	values := map[string]json.RawMessage{
		"topik": []byte(`"x"`), "n": []byte(`"3"`), "list": []byte(`[1, "b"]`), "secret": []byte(`"x"`),
	}
	_, err := f.Input(values)
	want := `main.yaml:3:3: error[WF803]: input topic is missing; want string
main.yaml:4:3: error[WF802]: input n: want int, got string
main.yaml:5:3: error[WF802]: input list[1]: want int, got string
main.yaml:7:9: error[WF801]: there is no input "secret" (its inputs are topic, n, list)
main.yaml:7:9: error[WF801]: there is no input "topik"; did you mean "topic"? (its inputs are topic, n, list)`
	var e *workflow.Error
	if !errors.As(err, &e) || strings.ReplaceAll(err.Error(), filepath.Dir(f.Path)+"/", "") != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	values = map[string]json.RawMessage{"topic": []byte(`"x"`), "n": []byte(`{`)}
	if _, err = f.Input(values); err == nil {
		t.Error("a value that is not JSON was taken")
	}
}

func TestFields_InOrder(t *testing.T) {
	f := parse(t, `
version: 1
state: {a: int, b: {type: list<string>, required: true}, c: {type: string, default: x}}
input: [c, b]
nodes: {n: {set: {}, next: END}}
`)
	want := "[{c string false \"x\"} {b list<string> true }] [{a int false } {b list<string> true } {c string false \"x\"}]"
	if got := fmt.Sprintf("%s %s", show(f.Inputs()), show(f.Outputs())); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func show(fs []workflow.Field) string {
	parts := make([]string, len(fs))
	for i, f := range fs {
		parts[i] = fmt.Sprintf("{%s %s %v %s}", f.Name, f.Type, f.Required, f.Default)
	}
	return "[" + strings.Join(parts, " ") + "]"
}

func TestHash_CoversNamedFiles(t *testing.T) {
	const main = "version: 1\nnodes: {a: {workflow: child.yaml, next: END}}\n"
	const child = "version: 1\nnodes: {a: {set: {}, next: END}}\n"
	a := load(t, map[string]string{"main.yaml": main, "child.yaml": child}, nil)
	b := load(t, map[string]string{"main.yaml": main, "child.yaml": child}, nil)
	c := load(t, map[string]string{"main.yaml": main, "child.yaml": child + "# changed\n"}, nil)
	if a.Hash != b.Hash || a.Hash == c.Hash || len(a.Hash) != 32 {
		t.Errorf("hashes %s, %s, %s; want the first two equal and the third another", a.Hash, b.Hash, c.Hash)
	}
	if a.Workflow.Name != "main" {
		t.Errorf("the name is %q, want that of the file", a.Workflow.Name)
	}
}

func TestSubWorkflow_StaysBelowTheRoot(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	const child = "version: 1\nnodes: {a: {set: {}, next: END}}\n"
	err := errors.Join(
		os.WriteFile(filepath.Join(outside, "child.yaml"), []byte(child), 0o644),
		os.Symlink(filepath.Join(outside, "child.yaml"), filepath.Join(dir, "link.yaml")),
		os.Symlink(outside, filepath.Join(dir, "dir")),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"link.yaml", "dir/child.yaml", filepath.Join(outside, "child.yaml"), "../" + filepath.Base(outside) + "/child.yaml"} {
		src := "version: 1\nnodes: {a: {workflow: " + path + ", next: END}}\n"
		_, err := workflow.Parse(filepath.Join(dir, "in.yaml"), []byte(src), workflow.Options{Kinds: kinds(), Sections: sections()})
		var e *workflow.Error
		if !errors.As(err, &e) || strings.Contains(err.Error(), "version") {
			t.Errorf("%s: got %v, want it refused", path, err)
		}
	}
	_, err = workflow.Load(filepath.Join(outside, "child.yaml"), workflow.Options{Root: dir})
	if err == nil || !strings.Contains(err.Error(), "is not below the root") {
		t.Errorf("a file outside of the root: %v", err)
	}
	if _, err = workflow.Load(filepath.Join(dir, "nothing.yaml"), workflow.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestLoad_ReadsEachFileOnce(t *testing.T) {
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("f%d.yaml", i)] = fmt.Sprintf(
			"version: 1\nnodes:\n  a: {workflow: f%d.yaml, next: b}\n  b: {workflow: f%d.yaml, next: END}\n", i+1, i+1)
	}
	files["main.yaml"] = files["f0.yaml"]
	files["f30.yaml"] = "version: 1\nnodes: {a: {set: {}, next: END}}\n"
	begun := time.Now()
	load(t, files, nil)
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestLimits_GraphConfigOverridesFile(t *testing.T) {
	f := parse(t, `
version: 1
state: {n: {type: int, reducer: add}}
limits: {steps: 7}
nodes:
  a: {set: {n: 1}, next: [{if: state.n > 100, to: END}, {else: a}]}
`)
	g, err := f.Compile(graph.Config{MaxSteps: 3, InterruptBefore: []string{"a"}, Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), f.NewState(), thread)
	if err != nil || res.Status != graph.Interrupted {
		t.Fatal(res.Status, err)
	}
	if _, err = f.Compile(graph.Config{InterruptBefore: []string{"b"}}); err == nil {
		t.Error("an interrupt before no node was taken")
	}
}

func TestOptions_AreChecked(t *testing.T) {
	for name, k := range map[string]workflow.Kind{"set": kinds()["wait"], "next": kinds()["wait"], "empty": {}} {
		_, err := workflow.Parse("in.yaml", nil, workflow.Options{Kinds: map[string]workflow.Kind{name: k}})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
			t.Errorf("kind %s: got %v, want an error that names it", name, err)
		}
	}
}
