package temporal

import (
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"
)

// childWorkflow is the workflow ChildWorkflow: one task, whose node runs a graph. The graph goes on
// from its last commit if a worker dies, and its questions are those of the thread: the task ends
// with them, and another child goes on after the answers.
func childWorkflow(ctx workflow.Context, in childInput) (*taskResult, error) {
	ctx = withActivity(ctx, in.Task, in.Longest, in.Heartbeat)
	if in.Queue != "" {
		ctx = workflow.WithTaskQueue(ctx, in.Queue)
	}
	var res taskResult
	if err := workflow.ExecuteActivity(ctx, taskActivity, in.Do).Get(ctx, &res); err != nil {
		return nil, err
	}
	return &res, nil
}

// childID returns the id of the workflow of a task, below that of its thread.
func childID(in childInput) string {
	return workflowID(in.Do.Graph, in.Do.Thread) + "/" + in.Task
}

// child begins the workflow of a task. It is cancelled with ctx, and when the turn ends without it.
func (t *turn) child(ctx workflow.Context, in childInput) workflow.Future {
	if in.Heartbeat = t.in.Heartbeat; in.Longest <= 0 {
		in.Longest = t.in.Longest
	}
	o := workflow.ChildWorkflowOptions{
		WorkflowID: childID(in), WaitForCancellation: true, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowTaskTimeout:   workflow.GetInfo(ctx).WorkflowTaskTimeout, StaticSummary: in.Node,
	}
	return workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, o), ChildWorkflow, in)
}
