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

// Tool is something a model may ask for. It is safe for concurrent use.
type Tool interface {
	// Info describes the tool; it returns the same each time.
	Info() Info
	// Call does it. Its error is told to the model. It ends when ctx does.
	Call(ctx context.Context, in Input) (Output, error)
}

// Input is what a tool is called with.
type Input struct {
	// ID is the same in every attempt of this call and differs from that of every other: a key for
	// the world outside.
	ID string
	// Arguments are an object that fits the schema.
	Arguments json.RawMessage
}

// Output is what a tool gives back.
type Output []message.Part

// Text is the Output of a text.
func Text(s string) Output { return Output{message.Text(s)} }

// Info is what a model, a person and a host need to know of a tool.
type Info struct {
	// Name is of letters, digits, _ and -, at most 64.
	Name        string
	Description string
	// Schema is the JSON Schema of the arguments, an object; nil is no arguments. Func fills it in.
	Schema json.RawMessage
	// Mode is what a person has to do with it.
	Mode Mode
	// Prompt is what a person is asked; "" names the tool.
	Prompt string
	// Answer is the JSON Schema of what a person answers, in the mode Answer; nil is anything.
	Answer json.RawMessage
	// Within is how long a person is waited for; 0 is for ever.
	Within time.Duration
	// Timeout bounds one call; 0 is that of Limits.
	Timeout time.Duration
	// MaxResult bounds the result, in bytes; 0 is that of Limits.
	MaxResult int
	// Direct tools have the last word: their result is the answer.
	Direct bool
}

// Mode is what a person has to do with a call.
type Mode string

// The modes.
const (
	Free   Mode = ""       // nothing
	Permit Mode = "permit" // it runs when a person has approved it
	Answer Mode = "answer" // it does not run: what a person answers is the result
)

// Func makes a Tool of a function. The schema of the arguments is that of A, a struct, unless info has
// one: fields by their json tags, each with the description in its jsonschema tag. A result that is a
// string or an Output is given back as it is, any other as JSON. An A without a schema is an error of [NewSet].
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

// Ask makes a Tool whose result is what a person answers: see [Answer]. The schemas are those of A and R.
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
	err  error // why it can never be called
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
		return nil, fmt.Errorf("the arguments are a %s, and no struct", reflect.TypeFor[A]())
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

// ID returns the id of the call that a tool runs in: see [Input]. It is "" outside a call.
func ID(ctx context.Context) string {
	id, _ := ctx.Value(idKey{}).(string)
	return id
}
