package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/values"
	"github.com/weftrun/weft/state/message"
)

// Needed is a question for a person, which the caller asks. It has a JSON form.
type Needed struct {
	Mode   Mode            `json:"mode"`
	Call   message.Call    `json:"call"`
	Prompt string          `json:"prompt"`
	Answer json.RawMessage `json:"answer_schema,omitempty"` // for the mode Answer
}

// Needs returns the question that a call raises. ok is false if it raises none, because its tool is
// free or the call is invalid, which [Set.Do] reports.
func (s *Set) Needs(ctx context.Context, c message.Call) (n Needed, ok bool) {
	info, args, err := s.Check(ctx, c)
	if err != nil || info.Mode == Free {
		return n, false
	}
	c.Arguments = args
	n = Needed{Mode: info.Mode, Call: c, Prompt: info.Prompt, Answer: info.Answer}
	if n.Prompt == "" && info.Mode == Permit {
		n.Prompt = fmt.Sprintf("May the tool %q run?", c.Name)
	} else if n.Prompt == "" {
		n.Prompt = fmt.Sprintf("The agent asks: %s %s", c.Name, args)
	}
	return n, true
}

// Apply returns the call to run, or the result to use instead if run is false. An edited call has
// the original arguments in its field Edited. Edited arguments that do not match the tool are an
// error: ask again.
func (s *Set) Apply(ctx context.Context, c message.Call, d graph.Decision) (_ message.Call, no message.Result, run bool, err error) {
	switch d.Type {
	case graph.DecisionApprove:
		return c, no, true, nil
	case graph.DecisionEdit:
		asked := c.Arguments
		if c.Arguments, err = json.Marshal(d.Args); err == nil {
			_, _, err = s.Check(ctx, c)
		}
		if err == nil && !sameArguments(asked, c.Arguments) {
			c.Edited = &message.Edit{Arguments: asked, By: d.By}
		}
		return c, no, err == nil, err
	case graph.DecisionReject:
		return c, Rejected(c.ID, d.Message), false, nil
	case graph.DecisionRespond:
		return c, message.ResultOf(c.ID, d.Message), false, nil
	}
	return c, no, false, fmt.Errorf("tool: a decision must be approve, edit, reject or respond (got %q)", d.Type)
}

// sameArguments reports whether two texts are the same arguments. No arguments are an empty object.
func sameArguments(a, b json.RawMessage) bool {
	args := func(data json.RawMessage) any {
		v, err := values.Decode(data)
		if err != nil || v == nil {
			return map[string]any{}
		}
		return v
	}
	return values.Equal(args(a), args(b))
}

// Rejected returns the result of a call that a person did not permit.
func Rejected(callID, feedback string) message.Result {
	why := "A person rejected this call. It was not run; do not ask for it again."
	if feedback != "" {
		why += " The person's feedback: " + feedback
	}
	return message.Failed(callID, why)
}

// Answered returns a person's answer as the result of a call. An answer that does not match the
// tool's schema is an error: ask again.
func (s *Set) Answered(c message.Call, answer json.RawMessage) (message.Result, error) {
	t, _ := s.find(c.Name)
	if err := fits(t.answer, answer); err != nil {
		return message.Result{}, fmt.Errorf("tool: the answer to %q does not fit: %w", c.Name, err)
	}
	var text string
	if json.Unmarshal(answer, &text) != nil {
		text = string(answer)
	}
	return message.ResultOf(c.ID, text), nil
}
