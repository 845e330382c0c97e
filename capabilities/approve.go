package capabilities

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/validtext"
	"github.com/weftrun/weft/state/agent"
)

// Validator is a value with rules beyond its type, such as a file name without a folder. After an
// edit, [Approve] asks again, with the error, if Validate fails.
type Validator interface{ Validate() error }

// Approve asks a person about v and returns the approved value: v, or the edited one. An edit must
// match r.Schema, or else the JSON Schema of T; otherwise the question stays open. If T has a
// Validate that fails, the person is asked again. For the other fields of r and the errors see
// [Call.Approve].
//
//	request := agent.ApprovalRequest{Type: "export"}
//	to, err := capabilities.Approve(c, request, Target{File: "rain.csv"})
//	if err != nil {
//		return err // it is undecided or rejected
//	}
func Approve[T any](c *Call, r agent.ApprovalRequest, v T) (T, error) {
	if err := validate(&v); err != nil {
		return v, fmt.Errorf("the value to approve: %w", err)
	}
	var err error
	if r.Data, err = validtext.Marshal(v); err == nil && r.Schema == nil {
		r.Schema, err = schemaOf[T]()
	}
	if err != nil {
		return v, fmt.Errorf("the value to approve has no JSON Schema: %w", err)
	}
	var out T
	_, err = c.approve(r, func(data []byte) error {
		out = *new(T) // drop what a failed Unmarshal left
		if err := json.Unmarshal(data, &out); err != nil {
			return err
		}
		return validate(&out)
	})
	if err != nil {
		return v, err
	}
	return out, nil
}

// validate calls Validate of a value, or of a pointer to it.
func validate(at any) error {
	if v, ok := at.(Validator); ok {
		return v.Validate()
	}
	return nil
}

// schemaOf returns the JSON Schema of T.
func schemaOf[T any]() (json.RawMessage, error) {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// Approve asks a person. It returns their decision about this request, and each decision once.
// Without a decision it returns an [*ApprovalNeeded]. The capability must return it unchanged, and
// is run again from its beginning, with the decision. A rejection is an error too, a [*Rejected].
//
// A capability may call Approve several times in one run. Requests of one Type are numbered in
// order, so each run must make them in the same order. Since every run starts at the beginning,
// make all requests before the first side effect that must not be repeated.
//
// r.Schema is the JSON Schema of edited data. If it is nil, edited data must have the types of
// r.Data. Without data there is nothing to edit. The function [Approve] does the same for a Go
// type.
func (c *Call) Approve(r agent.ApprovalRequest) (graph.Decision, error) {
	return c.approve(r, func([]byte) error { return nil })
}

// approve asks until a person approves data that is valid, or rejects the request.
func (c *Call) approve(r agent.ApprovalRequest, accept func(data []byte) error) (graph.Decision, error) {
	r, err := c.request(r)
	if err != nil {
		return graph.Decision{}, err
	}
	id, said := c.number(r.Type+":"+r.Capability+":"+c.Step.ContextKey), r.Message
	for n := 1; ; n++ {
		d, ok := c.Decisions[nth(id, n)]
		switch {
		case !ok:
			return graph.Decision{}, &ApprovalNeeded{nth(id, n), r}
		case !d.Approved():
			return d, &Rejected{Request: r, Feedback: d.Message, Then: c.info.OnReject}
		case d.Args == nil:
			d.Args = r.Data
		}
		err := accept(d.Args)
		if err == nil {
			return d, nil
		}
		r.Message = fmt.Sprintf("That decision cannot be applied: %v.", err)
		if said != "" {
			r.Message += "\n\n" + said
		}
	}
}

// number returns the ID of a request: the base, and from the second request with this base on its
// number in this run. IDs are unique in a run, so a decision counts once.
func (c *Call) number(base string) string {
	c.asked = append(slices.Clone(c.asked), base) // so that a copy of the Call has its own numbers
	n := 0
	for _, id := range c.asked {
		if id == base {
			n++
		}
	}
	if n == 1 {
		return base
	}
	return fmt.Sprintf("%s, request %d", base, n)
}

// nth returns the key of the question when it is asked for the nth time.
func nth(id string, n int) string {
	if n == 1 {
		return id
	}
	return fmt.Sprintf("%s #%d", id, n)
}

// request sets the fields that the caller left empty. An invalid schema is an error.
func (c *Call) request(r agent.ApprovalRequest) (agent.ApprovalRequest, error) {
	if r.Capability == "" {
		r.Capability = c.info.Name
	}
	if r.Objective == "" {
		r.Objective = c.Step.Objective
	}
	if r.Type == "" {
		r.Type = "capability_operation"
	}
	if len(r.Data) == 0 {
		r.Schema = nil
		return r, nil
	}
	if r.Schema == nil {
		var err error
		if r.Schema, err = formOf(r.Data); err != nil {
			return r, fmt.Errorf("the data of the request %q: %w", r.Type, err)
		}
	}
	if err := resolves(r.Schema); err != nil {
		return r, fmt.Errorf("the schema of the request %q: %w", r.Type, err)
	}
	return r, nil
}

func resolves(schema json.RawMessage) error {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return err
	}
	_, err := s.Resolve(nil)
	return err
}

// formOf returns the schema of edited data: the same type, and for an object members of the same
// types. null may become any value.
func formOf(data []byte) (json.RawMessage, error) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	form := map[string]any{}
	if kind := kindOf(v); kind != "" {
		form["type"] = kind
	}
	if members, ok := v.(map[string]any); ok {
		properties := map[string]any{}
		for name, member := range members {
			if kind := kindOf(member); kind != "" {
				properties[name] = map[string]any{"type": kind}
			}
		}
		form["properties"] = properties
	}
	return json.Marshal(form)
}

// kindOf returns the type of a value in JSON Schema; "" for null.
func kindOf(v any) string {
	switch v.(type) {
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return ""
}

// ParametersApproval is the type of the request to run a capability with its parameters.
const ParametersApproval = "capability"

// permit asks whether the step may run with its parameters, and sets the approved ones.
func (c *Call) permit(why string) error {
	r := agent.ApprovalRequest{Type: ParametersApproval, Message: c.info.Description + "\n\n" + why, Schema: c.info.Parameters}
	if len(c.Step.Parameters) > 0 {
		var err error
		if r.Data, err = json.Marshal(c.Step.Parameters); err != nil {
			return fmt.Errorf("%w: %w", ErrArguments, err)
		}
	}
	_, err := c.approve(r, func(data []byte) (err error) {
		if len(data) > 0 {
			c.Step.Parameters, err = Parameters(data)
		}
		return err
	})
	return err
}

// Parameters parses the parameters of a step. Numbers are a float64 on every level, as in a stored
// plan. A whole number that a float64 cannot represent is a json.Number.
func Parameters(data []byte) (p map[string]any, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&p); err != nil {
		return nil, err
	}
	floats(p)
	return p, nil
}

// floats makes numbers in v a float64, and returns v.
func floats(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if whole := !strings.ContainsAny(v.String(), ".eE"); err != nil || whole && strconv.FormatFloat(f, 'f', -1, 64) != v.String() {
			return v
		}
		return f
	case []any:
		for i := range v {
			v[i] = floats(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = floats(v[name])
		}
	}
	return v
}
