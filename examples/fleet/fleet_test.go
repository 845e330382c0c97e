package fleet_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/weftrun/weft/examples/fleet"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

func TestFile_PassesItsTests(t *testing.T) {
	w, err := fleet.Load()
	if err != nil {
		t.Fatal(err)
	}
	report, err := w.RunTests(t.Context(), workflow.TestOptions{})
	if err != nil || !report.Passed() {
		t.Errorf("%+v, %v", report.Tests, err)
	}
}

func TestOpen_NotesTheProcessOfEachPage(t *testing.T) {
	g, err := fleet.Open(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var end struct {
		ReadBy []int `json:"read_by"`
	}
	if err := json.Unmarshal(res.State, &end); err != nil || !slices.Equal(end.ReadBy, slices.Repeat([]int{os.Getpid()}, 40)) {
		t.Errorf("the pages were read by %v (%v), want 40 times by this process", end.ReadBy, err)
	}
}
