package nodes

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes/react"
	"github.com/weftrun/weft/state/message"
)

// Tool calls a tool of the program.
//
//	pay:
//	  tool: {name: refund, args: {id: "${{ state.order }}", amount: 12.5}}
//	  on_error: {if: error.code == "tool_rejected", to: END}
//	  output: {receipt: "${{ result.text }}"}
//
// A tool that a person must permit, or whose result a person gives, is a question of the run. What the
// tool did is not done again after a crash.
type Tool struct {
	// Name is one that the program gave.
	Name string `json:"name"`
	// Args are the arguments by name.
	Args map[string]any `json:"args,omitempty"`

	set *tool.Set
}

// ToolResult is the result of a Tool.
type ToolResult struct {
	Text string `json:"text"`
	JSON any    `json:"json"` // of a text that is JSON
}

// ToolError is returned when a tool fails, or a person does not permit the call.
type ToolError struct {
	Message  string
	Rejected bool
}

func (e *ToolError) Error() string { return e.Message }

// Code is tool_failed, or tool_rejected where a person said no.
func (e *ToolError) Code() string {
	if e.Rejected {
		return "tool_rejected"
	}
	return "tool_failed"
}

// Retryable reports whether another attempt may go better: a no is a no, and what a tool did is kept.
func (e *ToolError) Retryable() bool { return false }

func toolKind(p Program) workflow.Kind {
	return workflow.Kind{
		About:   "calls a tool of the program",
		New:     func() workflow.Runner { return &Tool{set: p.Tools} },
		Result:  reflect.TypeFor[ToolResult](),
		Outside: true,
	}
}

// Check refuses a tool that the program does not have.
func (t *Tool) Check(given func(string) bool) error {
	if t.Name == "" {
		return written(given, map[string]bool{"name": true})
	}
	if !hasTool(t.set, t.Name) {
		return noTool(t.set, t.Name)
	}
	return nil
}

// Run calls the tool.
func (t *Tool) Run(ctx context.Context, _ workflow.Env) (any, error) {
	args := t.Args
	if args == nil {
		args = map[string]any{}
	}
	data, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	c := message.Call{ID: graph.ExecutionID(ctx), Name: t.Name, Arguments: data}
	if _, _, err := t.set.Check(ctx, c); err != nil {
		return nil, &refusal{err.Error()}
	}
	r, rejected, err := react.Call(ctx, t.set, c, tool.Limits{})
	if err != nil {
		return nil, err
	}
	if r.IsError {
		return nil, &ToolError{r.Text(), rejected}
	}
	res := ToolResult{Text: r.Text()}
	if err := unmarshal([]byte(res.Text), &res.JSON); err != nil {
		res.JSON = nil
	}
	return res, nil
}

var _ workflow.Checker = (*Tool)(nil)
