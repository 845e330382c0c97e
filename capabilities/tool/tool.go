package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// Tool is a function that a model may call. It must be safe for concurrent use.
type Tool interface {
	// Info describes the tool; it returns the same each time.
	Info() Info
	// Call runs the tool. Its error is sent to the model. It must end when ctx ends.
	Call(ctx context.Context, in Input) (Output, error)
}

// Input is the input of a call.
type Input struct {
	// ID is the same in every attempt of this call, and differs from that of every other call. It
	// is an idempotency key for other systems.
	ID string
	// Arguments are an object that matches the schema.
	Arguments json.RawMessage
}

// Output is the result of a tool.
type Output []message.Part

// Text is the Output of a text.
func Text(s string) Output { return Output{message.Text(s)} }

// Info describes a tool for a model, a person and a caller.
type Info struct {
	// Name consists of at most 64 letters, digits, _ and -.
	Name        string
	Description string
	// Schema is the JSON Schema of the arguments, an object; nil is no arguments. Func sets it.
	Schema json.RawMessage
	// Mode is what a person must do.
	Mode Mode
	// Prompt is the question to a person; "" names the tool.
	Prompt string
	// Answer is the JSON Schema of a person's answer, in the mode Answer; nil is anything.
	Answer json.RawMessage
	// Within limits the wait for a person; 0 is no limit.
	Within time.Duration
	// Timeout limits one call; 0 is that of Limits.
	Timeout time.Duration
	// MaxResult limits the result, in bytes; 0 is that of Limits.
	MaxResult int
	// Direct is true if the result of the tool is the final answer.
	Direct bool
}

// Mode is what a person must do about a call.
type Mode string

// The modes.
const (
	Free   Mode = ""       // nothing
	Permit Mode = "permit" // it runs after a person has approved it
	Answer Mode = "answer" // it does not run: a person's answer is the result
)

// Func returns a Tool that calls a function. The schema of the arguments is that of A, a struct,
// unless info has one: its fields by their json tags, with the descriptions in their jsonschema
// tags. A result that is a string or an Output is used unchanged; any other is converted to JSON.
// An A without a schema is an error of [NewSet].
func Func[A, R any](info Info, call func(ctx context.Context, args A) (R, error)) Tool {
	f := function{info: info}
	if info.Schema == nil {
		f.info.Schema, f.err = schemaOf[A]()
	}
	if call == nil {
		f.err = fmt.Errorf("tool %q: there is no function", info.Name)
	}
	f.call = func(ctx context.Context, in Input) (Output, error) {
		var args A
		if err := json.Unmarshal(in.Arguments, &args); err != nil {
			return nil, fmt.Errorf("the arguments cannot be read: %w", err)
		}
		r, err := call(ctx, args)
		if err != nil {
			return nil, err
		}
		return output(r)
	}
	return f
}

// Ask returns a Tool whose result is a person's answer: see [Answer]. The schemas are those of A
// and R.
func Ask[A, R any](info Info) Tool {
	f := function{info: info}
	f.info.Mode = Answer
	f.info.Schema, f.err = schemaOf[A]()
	if answer, err := jsonschema.For[R](nil); err != nil {
		f.err = err
	} else {
		f.info.Answer, f.err = json.Marshal(answer)
	}
	f.call = func(context.Context, Input) (Output, error) { return nil, errAnswer }
	return f
}

type function struct {
	info Info
	call func(context.Context, Input) (Output, error)
	err  error // why it cannot be called
}

func (f function) Info() Info { return f.info }

func (f function) Call(ctx context.Context, in Input) (Output, error) { return f.call(ctx, in) }

func (f function) broken() error { return f.err }

func schemaOf[A any]() (json.RawMessage, error) {
	s, err := jsonschema.For[A](nil)
	if err != nil {
		return nil, err
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("the arguments must be a struct (got %s)", reflect.TypeFor[A]())
	}
	return json.Marshal(s)
}

func output(r any) (Output, error) {
	switch r := r.(type) {
	case Output:
		return r, nil
	case string:
		return Text(r), nil
	}
	if err := state.CheckText(r); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("the result has no JSON: %w", err)
	}
	return Text(string(bytes.TrimSpace(text.Bytes()))), nil
}

type idKey struct{}

// ID returns the ID of the call that a tool runs in: see [Input]. It is "" outside a call.
func ID(ctx context.Context) string {
	id, _ := ctx.Value(idKey{}).(string)
	return id
}
