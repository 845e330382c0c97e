package temporal

import (
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// The histories in testdata were recorded on a server. A workflow that decides otherwise than it
// did then would break the turns that are under way at a deployment.
func TestReplay_RecordedHistories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are %d histories, %v; want some", len(files), err)
	}
	for _, file := range files {
		r := worker.NewWorkflowReplayer()
		r.RegisterWorkflowWithOptions(turnWorkflow, workflow.RegisterOptions{Name: TurnWorkflow})
		r.RegisterWorkflowWithOptions(childWorkflow, workflow.RegisterOptions{Name: ChildWorkflow})
		if err := r.ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
			t.Errorf("%s: %v; give the change a workflow.GetVersion", file, err)
		}
	}
}

// A workflow that begins otherwise replays none of them.
func TestReplay_FindsAChange(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are %d histories, %v; want some", len(files), err)
	}
	for _, file := range files {
		r := worker.NewWorkflowReplayer()
		r.RegisterWorkflowWithOptions(func(ctx workflow.Context, in turnInput) (*end, error) {
			if err := workflow.Sleep(ctx, 1); err != nil {
				return nil, err
			}
			return turnWorkflow(ctx, in)
		}, workflow.RegisterOptions{Name: TurnWorkflow})
		r.RegisterWorkflowWithOptions(func(ctx workflow.Context, in childInput) (*taskResult, error) {
			in.Task += "/again" // another id of the activity
			return childWorkflow(ctx, in)
		}, workflow.RegisterOptions{Name: ChildWorkflow})
		if err := r.ReplayWorkflowHistoryFromJSONFile(nil, file); err == nil {
			t.Errorf("a changed workflow replays %s, want an error", file)
		}
	}
}
