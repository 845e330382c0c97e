package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/state/record"
)

// flow is a loaded workflow with a store, for tests that run it.
type flow struct {
	*testing.T
	*workflow.Workflow
	*graph.Graph[record.Record]
}

var thread = graph.RunOptions{Thread: "t"}

// load writes files into a new folder, and loads the one called main.yaml.
func load(t *testing.T, files map[string]string, extra map[string]workflow.Kind) flow {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	all := kinds()
	for name, k := range extra {
		all[name] = k
	}
	w, err := workflow.Load(filepath.Join(dir, "main.yaml"), workflow.Options{Kinds: all})
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	return flow{t, w, g}
}

// parse is load for one file.
func parse(t *testing.T, text string) flow {
	t.Helper()
	return load(t, map[string]string{"main.yaml": text}, nil)
}

// start begins a turn with an input as JSON.
func (f flow) start(input string) (graph.Result[record.Record], error) {
	f.Helper()
	var values map[string]json.RawMessage
	if err := json.Unmarshal([]byte(input), &values); err != nil {
		f.Fatal(err)
	}
	rec, err := f.Input(values)
	if err != nil {
		f.Fatal(err)
	}
	return f.Invoke(context.Background(), rec, thread)
}

// gives runs with an input and compares the output as JSON.
func (f flow) gives(input, want string) {
	f.Helper()
	res, err := f.start(input)
	if err != nil {
		f.Fatal(err)
	}
	f.ended(res, want)
}

// ended compares the output of a run that is done.
func (f flow) ended(res graph.Result[record.Record], want string) {
	f.Helper()
	if res.Status != graph.Done {
		f.Fatalf("status %q, want done; open are %v", res.Status, res.Interrupts)
	}
	got, err := json.Marshal(f.Output(&res.State))
	if err != nil || string(got) != want {
		f.Errorf("output %s (%v)\n  want %s", got, err, want)
	}
}

func check(_ context.Context, in struct {
	URL string `json:"url"`
}) (bool, error) {
	return in.URL != "", nil
}
