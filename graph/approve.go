package graph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Approval asks a person to decide about an action, for [Approve].
type Approval[T any] struct {
	// Question is what is asked. Its Schema is that of edited arguments; nil means the schema of T.
	Question
	// Action is the name of the action, such as that of a tool; "" means the name of the node.
	Action string
	// Args are the arguments of the action. They must survive JSON.
	Args T
	// Allow lists the decisions that the person can make. nil means approve and reject, and edit if
	// the JSON form of Args is not null.
	Allow []DecisionType
	// Check returns why edited arguments cannot be approved. The question is then asked again, with
	// the reason in its detail. nil approves all arguments that match the schema.
	Check func(T) error
}

// Action is what an open question asks to approve.
type Action struct {
	Name string `json:"name"`
	// Args are the arguments as JSON. nil means that there are none.
	Args json.RawMessage `json:"args,omitempty"`
	// Schema is the JSON Schema of edited arguments. nil means that any will do.
	Schema json.RawMessage `json:"args_schema,omitempty"`
	// Allow lists the decisions that answer the question.
	Allow []DecisionType `json:"allow"`
}

// Approve asks a person to decide about an action, and returns the decision and the approved
// arguments. These are those of the edit if the decision is an edit, else Approval.Args:
//
//	q := graph.Question{Prompt: "Refund?"}
//	order, d, err := graph.Approve(ctx, graph.Approval[Order]{Question: q, Args: order})
//	if err != nil || !d.Approved() {
//		return err
//	}
//
// It pauses the run as [Ask] does, with the same errors. Resume refuses a decision that
// Approval.Allow does not list, and an edit whose arguments do not match the schema.
func Approve[T any](ctx context.Context, a Approval[T]) (T, Decision, error) {
	action, err := a.action()
	if err != nil {
		return a.Args, Decision{}, fmt.Errorf("graph: the approval %q: %w", a.Prompt, err)
	}
	q, args := a.Question, a.Args
	q.Schema = action.decisionSchema()
	d, given, err := ask(ctx, q, &terms[Decision]{action: action, check: func(d Decision) (err error) {
		args, err = a.approved(action, d)
		return err
	}})
	if err != nil {
		return a.Args, given.decided(err), err
	}
	by := given.decided(nil)
	d.By, d.Via, d.Time = by.By, by.Via, by.Time
	return args, d, nil
}

// action returns the action as an open question shows it.
func (a Approval[T]) action() (*Action, error) {
	args, err := encode(a.Args)
	if err != nil {
		return nil, fmt.Errorf("its arguments: %w", err)
	}
	action := &Action{Name: a.Action, Args: args, Schema: a.Schema, Allow: slices.Clone(a.Allow)}
	if string(args) == "null" {
		action.Args = nil
	}
	if len(action.Allow) == 0 {
		action.Allow = []DecisionType{DecisionApprove, DecisionReject}
		if action.Args != nil {
			action.Allow = []DecisionType{DecisionApprove, DecisionEdit, DecisionReject}
		}
	}
	for i, t := range action.Allow {
		if !slices.Contains([]DecisionType{DecisionApprove, DecisionEdit, DecisionReject, DecisionRespond}, t) {
			return nil, fmt.Errorf("its Allow must list approve, edit, reject or respond (got %q)", t)
		}
		if slices.Contains(action.Allow[:i], t) {
			return nil, fmt.Errorf("its Allow lists %q twice", t)
		}
	}
	if _, raw := any(a.Args).(json.RawMessage); action.Schema == nil && !raw && action.allows(DecisionEdit) {
		if action.Schema, err = schemaOf[T](); string(action.Schema) == "true" || string(action.Schema) == "{}" {
			action.Schema = nil
		}
	}
	return action, err
}

// approved returns the arguments that a decision approves, or why it cannot be applied.
func (a Approval[T]) approved(action *Action, d Decision) (T, error) {
	if !action.allows(d.Type) {
		return a.Args, action.refuse(d.Type)
	}
	if d.Type != DecisionEdit {
		return a.Args, nil
	}
	var edited T
	if err := json.Unmarshal(d.Args, &edited); err != nil {
		return a.Args, err
	}
	if a.Check != nil {
		if err := a.Check(edited); err != nil {
			return a.Args, err
		}
	}
	return edited, nil
}

func (a *Action) allows(t DecisionType) bool { return slices.Contains(a.Allow, t) }

// refuse returns the error for a decision that the action does not allow.
func (a *Action) refuse(t DecisionType) error {
	words := make([]string, len(a.Allow))
	for i, allowed := range a.Allow {
		words[i] = string(allowed)
	}
	return fmt.Errorf("the decision must be %s (got %q)", strings.Join(words, ", "), t)
}

// decisionSchema returns the JSON Schema of the decisions about the action.
func (a *Action) decisionSchema() json.RawMessage {
	type schema = map[string]any
	properties := schema{
		"type":    schema{"enum": a.Allow},
		"message": schema{"type": "string"},
	}
	if a.allows(DecisionEdit) {
		properties["args"] = a.embedded()
	}
	data, _ := json.Marshal(schema{ // of plain values
		"type": "object", "properties": properties, "required": []string{"type"}, "additionalProperties": false,
	})
	return data
}

// embedded returns the schema of the arguments with its own base, since its references are relative
// to itself.
func (a *Action) embedded() any {
	var members map[string]json.RawMessage
	if json.Unmarshal(a.Schema, &members) != nil || members == nil {
		return !bytes.Equal(a.Schema, []byte("false"))
	}
	if _, named := members["$id"]; !named && (members["$defs"] != nil || members["definitions"] != nil || bytes.Contains(a.Schema, []byte(`"$ref"`))) {
		members["$id"] = json.RawMessage(`"urn:weft:args"`)
	}
	return members
}

// normalize returns an answer as the JSON form of a [Decision] that the action allows.
func (a *Action) normalize(data json.RawMessage) (json.RawMessage, error) {
	d, name, err := readDecision(data)
	switch {
	case err != nil:
		return nil, errors.New(strings.TrimPrefix(err.Error(), "graph: "))
	case !a.allows(d.Type):
		return nil, a.refuse(d.Type)
	case name != "" && name != a.Name:
		return nil, fmt.Errorf("the edited action must be %q (got %q)", a.Name, name)
	}
	return json.Marshal(Decision{Type: d.Type, Args: d.Args, Message: d.Message})
}

// EditTo returns the answer to an approval that approves args in place of the arguments of the
// action:
//
//	graph.Answer(id, graph.EditTo(Order{Amount: 5}))
func EditTo(args any) any {
	return struct {
		Type DecisionType `json:"type"`
		Args any          `json:"args"`
	}{DecisionEdit, args}
}

// InboxValue returns the question in the form that LangChain's inboxes show: an approval as
// {"action_requests": [{"name", "args", "description"}], "review_configs": [{"action_name",
// "allowed_decisions", "args_schema"}]}, any other question as its Data, or else as its prompt, or
// as {"question", "detail"}. The answers of these inboxes are forms of a [Decision].
func (i Interrupt) InboxValue() (json.RawMessage, error) {
	switch {
	case i.Action != nil:
		request := map[string]any{"name": i.Action.Name, "args": i.Action.Args, "description": strings.TrimSpace(i.Prompt + "\n\n" + i.Detail)}
		review := map[string]any{"action_name": i.Action.Name, "allowed_decisions": i.Action.Allow}
		if i.Action.Args == nil {
			request["args"] = map[string]any{}
		}
		if i.Action.Schema != nil {
			review["args_schema"] = i.Action.Schema
		}
		return json.Marshal(map[string]any{"action_requests": []any{request}, "review_configs": []any{review}})
	case i.Data != nil:
		return i.Data, nil
	case i.Detail != "":
		return json.Marshal(map[string]any{"question": i.Prompt, "detail": i.Detail})
	}
	return json.Marshal(i.Prompt)
}
