package nodes

import (
	"context"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// Approval pauses the run until a person has said yes or no.
//
//	approve:
//	  approval:
//	    title: Publish the report?
//	    show: ${{ state.report }}
//	  next:
//	    - if: result.approved
//	      to: publish
//	    - else: END
//
// The answer to give on resume is true or false. The question survives the process:
// it may be answered in another one, days later.
type Approval struct {
	// Title is one line: what is asked.
	Title string `json:"title"`
	// Show is what to read before answering.
	Show string `json:"show,omitempty"`
	// Data is for programs that show the question, such as a form.
	Data any `json:"data,omitempty"`
}

// ApprovalResult is the result of an Approval.
type ApprovalResult struct {
	Approved bool `json:"approved"`
}

// Run asks.
func (a *Approval) Run(ctx context.Context, _ workflow.Env) (any, error) {
	ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: a.Title, Detail: a.Show, Data: a.Data})
	if err != nil {
		return nil, err
	}
	return ApprovalResult{ok}, nil
}
