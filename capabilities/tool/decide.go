package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftrun/weft/internal/values"
	"github.com/weftrun/weft/state/message"
)

// Needed is a question for a person: whoever hosts the tools asks it. It has a JSON form.
type Needed struct {
	Mode   Mode            `json:"mode"`
	Call   message.Call    `json:"call"`
	Prompt string          `json:"prompt"`
	Answer json.RawMessage `json:"answer_schema,omitempty"` // of the mode Answer
}

// Needs returns the question that a call raises; ok is false where it raises none, because its tool is
// free or there is something wrong with it, which [Set.Do] tells.
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

// Decision is what a person says to a call that is to be permitted.
type Decision struct {
	Action Action `json:"action" jsonschema:"approve, edit or reject"`
	// Arguments are those to run it with, of an edit.
	Arguments map[string]any `json:"arguments,omitempty"`
	// Feedback is told to the model, of a rejection.
	Feedback string `json:"feedback,omitempty"`
}

// UnmarshalJSON reads a decision. One that contradicts itself is an error, so the question stays open. The numbers
// of arguments stay as they were written.
func (d *Decision) UnmarshalJSON(data []byte) error {
	type plain Decision
	var p plain
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&p); err != nil {
		return err
	}
	if err := Decision(p).sound(); err != nil {
		return err
	}
	*d = Decision(p)
	return nil
}

// sound returns why a decision is none.
func (d Decision) sound() error {
	switch {
	case d.Action == Edit && d.Arguments == nil:
		return errors.New("tool: an edit says with which arguments it is to run")
	case d.Action != Edit && d.Arguments != nil:
		return fmt.Errorf("tool: the decision %q edits nothing", d.Action)
	}
	return nil
}

// Action is what a person decides.
type Action string

// The actions.
const (
	Approve Action = "approve"
	Edit    Action = "edit"
	Reject  Action = "reject"
)

// UnmarshalJSON refuses actions that there are not.
func (a *Action) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	switch Action(s) {
	case Approve, Edit, Reject:
		*a = Action(s)
		return nil
	}
	return fmt.Errorf("tool: no action %q: approve, edit or reject", s)
}

// Apply returns the call as it is to run, or, where run is false, the result that stands in its place. A call that
// a person changed has an Edited with the arguments it came with.
// Arguments that a person edited and that do not fit the tool are an error: ask again.
func (s *Set) Apply(ctx context.Context, c message.Call, d Decision) (_ message.Call, no message.Result, run bool, err error) {
	if err := d.sound(); err != nil {
		return c, no, false, err
	}
	switch d.Action {
	case Approve:
		return c, no, true, nil
	case Edit:
		asked := c.Arguments
		if c.Arguments, err = json.Marshal(d.Arguments); err == nil {
			_, _, err = s.Check(ctx, c)
		}
		if err == nil && !sameArguments(asked, c.Arguments) {
			c.Edited = &message.Edit{Arguments: asked}
		}
		return c, no, err == nil, err
	case Reject:
		return c, Rejected(c.ID, d.Feedback), false, nil
	}
	return c, no, false, fmt.Errorf("tool: no action %q: approve, edit or reject", d.Action)
}

// sameArguments reports whether two texts are the same arguments. None are an empty object.
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
		why += " They say: " + feedback
	}
	return message.Failed(callID, why)
}

// Answered returns what a person answered as the result of a call; an answer that does not fit the tool's
// schema is an error: ask again.
func (s *Set) Answered(c message.Call, answer json.RawMessage) (message.Result, error) {
	if err := fits(s.tools[c.Name].answer, answer); err != nil {
		return message.Result{}, fmt.Errorf("tool: the answer to %q does not fit: %w", c.Name, err)
	}
	var text string
	if json.Unmarshal(answer, &text) != nil {
		text = string(answer)
	}
	return message.ResultOf(c.ID, text), nil
}
