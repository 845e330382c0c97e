package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Call is an assistant's request to run a tool.
//
// Models may return arguments that are not JSON. These are stored unchanged: the JSON form of the
// call has the string arguments_text instead of arguments.
type Call struct {
	// ID pairs the call with its result. It is unique in the conversation, so the program, not the
	// model, should create it.
	ID        string
	Name      string
	Arguments json.RawMessage
	// Edited is set if a person changed the call before it ran. It is not sent to providers.
	Edited *Edit
	Extra  map[string]json.RawMessage
}

// Label returns the name and the arguments of the call, for people.
func (c Call) Label() string { return c.Name + " " + string(c.Arguments) }

// Edit records that a person changed a call before it ran. Its JSON is {"by","arguments"}, in the
// member edited of the call.
type Edit struct {
	By        string          // the person, as claimed by the answer; "" if unknown
	Arguments json.RawMessage // the original arguments of the model
}

// editField is the member of a call that holds its Edit.
const editField = "edited"

func (e Edit) encode(o *object) {
	o.text("by", e.By)
	o.arguments(e.Arguments)
	o.close(nil)
}

// takeEdit moves the Edit of a call out of the members that are not known. A member of the same
// name that has another form is not one.
func (c *Call) takeEdit() {
	f, err := fieldsOf(c.Extra[editField])
	if err != nil {
		return
	}
	var e Edit
	f.take("by", &e.By)
	e.Arguments, err = f.arguments()
	if rest, bad := f.rest(); err != nil || bad != nil || len(rest) > 0 {
		return
	}
	c.Edited = &e
	delete(c.Extra, editField)
	if len(c.Extra) == 0 {
		c.Extra = nil
	}
}

// Decode decodes the arguments. Missing arguments are an empty object. The error is an
// *ArgumentsError whose text can be sent to the model.
func (c Call) Decode(into any) error {
	data := c.Arguments
	if len(data) == 0 {
		data = json.RawMessage("{}")
	}
	if err := json.Unmarshal(data, into); err != nil {
		return &ArgumentsError{ID: c.ID, Name: c.Name, Err: err}
	}
	return nil
}

// ArgumentsError is returned when the arguments of a call cannot be decoded.
type ArgumentsError struct {
	ID, Name string // of the call
	Err      error
}

func (e *ArgumentsError) Error() string {
	return fmt.Sprintf("message: call %q of tool %q: arguments: %v", e.ID, e.Name, e.Err)
}

func (e *ArgumentsError) Unwrap() error { return e.Err }

// MarshalJSON returns {"id","name","arguments","edited"}.
func (c Call) MarshalJSON() ([]byte, error) { return encoded(c) }

func (c Call) encode(o *object) {
	o.must("id", c.ID)
	o.must("name", c.Name)
	o.arguments(c.Arguments)
	if c.Edited != nil {
		o.inner(editField, *c.Edited)
	}
	o.close(c.Extra)
}

// arguments writes the arguments of a call.
func (o *object) arguments(data json.RawMessage) {
	switch {
	case len(data) == 0:
	case json.Valid(data):
		o.field("arguments", data)
	default:
		o.must("arguments_text", string(data))
	}
}

// arguments reads what object.arguments writes.
func (f *fields) arguments() (json.RawMessage, error) {
	var text string
	data := f.raw("arguments")
	f.take("arguments_text", &text)
	switch {
	case text == "":
		return data, nil
	case len(data) > 0:
		return nil, errors.New("arguments and arguments_text are both there")
	}
	return json.RawMessage(text), nil
}

// UnmarshalJSON reads the form that MarshalJSON writes, and args in the place of arguments.
func (c *Call) UnmarshalJSON(data []byte) error {
	f, err := fieldsOf(data)
	if err != nil {
		return err
	}
	var n Call
	f.take("id", &n.ID)
	f.take("name", &n.Name)
	if n.Arguments, err = f.arguments(); err != nil {
		return err
	}
	if len(n.Arguments) == 0 {
		n.Arguments = f.raw("args")
	}
	if n.Extra, err = f.rest(); err == nil {
		n.takeEdit()
		*c = n
	}
	return err
}

// Result is the answer to a call.
type Result struct {
	// CallID is the ID of the call.
	CallID  string
	Content []Part
	// IsError is true if the tool failed; Content describes the failure.
	IsError bool
	Extra   map[string]json.RawMessage
}

// ResultOf returns the result of a call as text.
func ResultOf(callID, text string) Result {
	return Result{CallID: callID, Content: []Part{Text(text)}}
}

// Failed returns the result of a call that failed.
func Failed(callID, why string) Result {
	r := ResultOf(callID, why)
	r.IsError = true
	return r
}

// Text returns the texts in the result, one after the other.
func (r Result) Text() string {
	var b strings.Builder
	for _, p := range r.Content {
		b.WriteString(p.Text)
	}
	return b.String()
}

// MarshalJSON returns {"tool_call_id","content","is_error"}.
func (r Result) MarshalJSON() ([]byte, error) { return encoded(r) }

func (r Result) encode(o *object) {
	o.must("tool_call_id", r.CallID)
	o.content(r.Content)
	if r.IsError {
		o.field("is_error", true)
	}
	o.close(r.Extra)
}

// UnmarshalJSON reads the form that MarshalJSON writes, and result in the place of content: a
// string is a text, null is nothing, and any other value is data.
func (r *Result) UnmarshalJSON(data []byte) error {
	f, err := fieldsOf(data)
	if err != nil {
		return err
	}
	var n Result
	f.take("tool_call_id", &n.CallID)
	n.Content = f.content()
	f.take("is_error", &n.IsError)
	if silent(n.Content) {
		n.Content = f.value("result")
	}
	if n.Extra, err = f.rest(); err == nil {
		*r = n
	}
	return err
}

// Usage is the number of tokens of a message that a model reported.
type Usage struct {
	Input, Output int
	Cached        int // of Input, read from the provider's cache
	Extra         map[string]json.RawMessage
}

// MarshalJSON returns {"input_tokens","output_tokens","cached_tokens"}.
func (u Usage) MarshalJSON() ([]byte, error) { return encoded(u) }

func (u Usage) encode(o *object) {
	o.field("input_tokens", u.Input)
	o.field("output_tokens", u.Output)
	if u.Cached != 0 {
		o.field("cached_tokens", u.Cached)
	}
	o.close(u.Extra)
}

// UnmarshalJSON reads the form that MarshalJSON writes.
func (u *Usage) UnmarshalJSON(data []byte) error {
	f, err := fieldsOf(data)
	if err != nil {
		return err
	}
	var n Usage
	f.take("input_tokens", &n.Input)
	f.take("output_tokens", &n.Output)
	f.take("cached_tokens", &n.Cached)
	if n.Extra, err = f.rest(); err == nil {
		*u = n
	}
	return err
}
