package message

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Call is an assistant's request to run a tool.
//
// Models write arguments that are not JSON. Those are kept as they came: in JSON as
// the string arguments_text instead of arguments.
type Call struct {
	// ID pairs the call with its result. No other call of the conversation has it, so
	// it is better made by the program than by the model.
	ID        string
	Name      string
	Arguments json.RawMessage
	Extra     map[string]json.RawMessage
}

// Decode decodes the arguments; none are an empty object. What does not fit is an
// *ArgumentsError, fit to be told to the model.
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

// MarshalJSON returns {"id","name","arguments"}.
func (c Call) MarshalJSON() ([]byte, error) { return encoded(c) }

func (c Call) encode(o *object) {
	o.must("id", c.ID)
	o.must("name", c.Name)
	switch {
	case len(c.Arguments) == 0:
	case json.Valid(c.Arguments):
		o.field("arguments", c.Arguments)
	default:
		o.must("arguments_text", string(c.Arguments))
	}
	o.close(c.Extra)
}

// UnmarshalJSON reads the form that MarshalJSON writes.
func (c *Call) UnmarshalJSON(data []byte) error {
	f, err := fieldsOf(data)
	if err != nil {
		return err
	}
	var n Call
	f.take("id", &n.ID)
	f.take("name", &n.Name)
	var text string
	n.Arguments = f.raw("arguments")
	if f.take("arguments_text", &text); len(n.Arguments) == 0 && text != "" {
		n.Arguments = json.RawMessage(text)
	} else if text != "" {
		return fmt.Errorf("arguments and arguments_text are both there")
	}
	if n.Extra, err = f.rest(); err == nil {
		*c = n
	}
	return err
}

// Result is the answer to a call.
type Result struct {
	// CallID is the ID of the call.
	CallID  string
	Content []Part
	// IsError is true when the tool failed; Content says how.
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

// UnmarshalJSON reads the form that MarshalJSON writes.
func (r *Result) UnmarshalJSON(data []byte) error {
	f, err := fieldsOf(data)
	if err != nil {
		return err
	}
	var n Result
	f.take("tool_call_id", &n.CallID)
	n.Content = f.content()
	f.take("is_error", &n.IsError)
	if n.Extra, err = f.rest(); err == nil {
		*r = n
	}
	return err
}

// Usage is what a model said a message cost, in tokens.
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
