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
// A tool that needs a person's permission or answer is a question of the run. A call whose result
// is stored does not run again after a crash.
type Tool struct {
	// Name is the name of a tool of the program.
	Name string `json:"name"`
	// Args are the arguments by name.
	Args map[string]any `json:"args,omitempty"`

	program Program
}

// ToolResult is the result of a Tool.
type ToolResult struct {
	Text string `json:"text"`
	JSON any    `json:"json"` // set if the text is JSON
	// Args are the arguments that the tool ran with. Edited is true if a person changed them, and
	// EditedBy is the person's name as given with the answer.
	Args     any    `json:"args"`
	Edited   bool   `json:"edited"`
	EditedBy string `json:"edited_by"`
}

// ToolError is returned if a tool fails or a person does not permit the call.
type ToolError struct {
	Message  string
	Rejected bool
}

func (e *ToolError) Error() string { return e.Message }

// Code returns tool_failed, or tool_rejected after a rejection.
func (e *ToolError) Code() string {
	if e.Rejected {
		return "tool_rejected"
	}
	return "tool_failed"
}

// Retryable reports whether another attempt may succeed. A rejection and a stored result are final.
func (e *ToolError) Retryable() bool { return false }

func toolKind(p Program) workflow.Kind {
	return workflow.Kind{
		About:   "calls a tool of the program",
		New:     func() workflow.Runner { return &Tool{program: p} },
		Result:  reflect.TypeFor[ToolResult](),
		Outside: true,
	}
}

// Check refuses an unknown tool.
func (t *Tool) Check(given func(string) bool) error {
	if t.Name == "" {
		return written(given, map[string]bool{"name": true})
	}
	set, err := t.program.tools()
	if err == nil && !hasTool(set, t.Name) {
		err = noTool(set, t.Name)
	}
	return err
}

// Recordable is true: it calls models and tools.
func (t *Tool) Recordable() bool { return true }

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
	set, err := t.program.tools()
	if err != nil {
		return nil, err
	}
	c := message.Call{ID: graph.ExecutionID(ctx), Name: t.Name, Arguments: data}
	if _, _, err := set.Check(ctx, c); err != nil {
		return nil, &refusal{err.Error()}
	}
	done, err := react.Call(ctx, set, c, tool.Limits{})
	if err != nil {
		return nil, err
	}
	if done.Result.IsError {
		return nil, &ToolError{done.Result.Text(), done.Rejected}
	}
	res := ToolResult{Text: done.Result.Text()}
	if err := unmarshal(done.Call.Arguments, &res.Args); err != nil {
		return nil, err
	}
	if e := done.Call.Edited; e != nil {
		res.Edited, res.EditedBy = true, e.By
	}
	if err := unmarshal([]byte(res.Text), &res.JSON); err != nil {
		res.JSON = nil
	}
	return res, nil
}

var (
	_ workflow.Checker    = (*Tool)(nil)
	_ workflow.Recordable = (*Tool)(nil)
)
