package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/weftrun/weft/state/message"
)

// OutputError is returned for an answer that does not have the requested form.
type OutputError struct {
	Raw string // the last answer of the model
	Err error  // the mistake
}

func (e *OutputError) Error() string {
	return fmt.Sprintf("model: the answer does not have the requested form: %v", e.Err)
}

// Unwrap returns the mistake.
func (e *OutputError) Unwrap() error { return e.Err }

// Code returns the error code, which is stored with the failure.
func (e *OutputError) Code() string { return "model_bad_output" }

// Temporary reports that another attempt may succeed.
func (e *OutputError) Temporary() bool { return true }

// Decode asks a model for a T. The schema is that of r.Output, or of T: its fields by their json
// tags, with the descriptions in their jsonschema tags. A T that is not an object is requested as
// {"value": T}.
//
// Decode repairs an invalid answer once, by sending the mistake to the model. An answer is invalid
// if it is not JSON, does not match the schema, cannot be decoded into a T, or calls a tool that
// was not offered. If the second answer is invalid too, the error is an [*OutputError]. The JSON
// may be in a Markdown code fence or between words.
func Decode[T any](ctx context.Context, m Model, r Request) (T, error) {
	v, _, err := DecodeResponse[T](ctx, m, r)
	return v, err
}

// DecodeResponse is [Decode] that also returns the decoded answer. Its Usage is the sum of both
// attempts.
func DecodeResponse[T any](ctx context.Context, m Model, r Request) (T, Response, error) {
	var v T
	f, err := formOf[T](r.Output)
	if err != nil {
		return v, Response{}, err
	}
	r.Output = &f.Schema
	said, err := Generate(ctx, m, r)
	wrong := err
	switch called := len(said.Message.Calls) > 0; {
	case err == nil:
		if v, wrong = decode[T](f, said); wrong == nil {
			return v, said, nil
		}
	case !called || KindOf(err) != BadAnswer:
		return v, said, err
	}
	first := said.Usage
	if said, err = Generate(ctx, m, Repair(r, said, wrong)); err != nil {
		return v, said, err
	}
	said.Usage.Input += first.Input
	said.Usage.Output += first.Output
	said.Usage.Cached += first.Cached
	if v, wrong = decode[T](f, said); wrong != nil {
		return v, said, &OutputError{Raw: said.Message.Text(), Err: wrong}
	}
	return v, said, nil
}

// Repair returns the request that sends a mistake in an answer back to the model.
func Repair(r Request, said Response, wrong error) Request {
	text := said.Message.Text()
	if text == "" {
		text = "(nothing)"
	}
	r.Messages = append(r.Messages[:len(r.Messages):len(r.Messages)], message.Assistant(text), message.User(fmt.Sprintf(
		"This is not what was asked for: %v\nAnswer again, with one JSON value that fits this JSON Schema, and nothing else:\n%s",
		wrong, r.Output.JSON)))
	if r.ID != "" {
		r.ID += "-again"
	}
	return r
}

// Form is a schema that answers must match.
type Form struct {
	Schema
	resolved *jsonschema.Resolved
	wrapped  bool // the value is requested as {"value": …}
}

// NewForm returns a form, or an error for an invalid schema.
func NewForm(s Schema) (*Form, error) {
	var parsed jsonschema.Schema
	if err := json.Unmarshal(s.JSON, &parsed); err != nil {
		return nil, fmt.Errorf("model: the schema of the answer: %w", err)
	}
	resolved, err := parsed.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("model: the schema of the answer: %w", err)
	}
	return &Form{Schema: s, resolved: resolved}, nil
}

// FormOf returns the form of a T: see [Decode].
func FormOf[T any]() (*Form, error) { return formOf[T](nil) }

// Read returns the JSON in a text, if it matches the form.
func (f *Form) Read(text string) (json.RawMessage, error) {
	data, err := findJSON(text)
	if err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	if err := f.resolved.Validate(v); err != nil {
		return nil, fmt.Errorf("it does not fit the schema: %w", err)
	}
	return data, nil
}

func formOf[T any](given *Schema) (*Form, error) {
	if given != nil {
		return NewForm(*given)
	}
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, fmt.Errorf("model: no schema for %s: %w", reflect.TypeFor[T](), err)
	}
	wrapped := s.Type != "object"
	if wrapped {
		s = &jsonschema.Schema{
			Type: "object", Properties: map[string]*jsonschema.Schema{"value": s}, Required: []string{"value"},
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		}
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("model: no schema for %s: %w", reflect.TypeFor[T](), err)
	}
	f, err := NewForm(Schema{JSON: data})
	if err == nil {
		f.wrapped = wrapped
	}
	return f, err
}

func decode[T any](f *Form, said Response) (v T, err error) {
	data, err := f.Read(said.Message.Text())
	switch {
	case err != nil && said.Stop == StopLength:
		return v, fmt.Errorf("it was cut off at the limit of tokens: %w", err)
	case err != nil:
		return v, err
	case f.wrapped:
		err = json.Unmarshal(data, &struct {
			Value *T `json:"value"`
		}{&v})
	default:
		err = json.Unmarshal(data, &v)
	}
	return v, err
}

var errNoJSON = errors.New("there is no JSON object in it")

// findJSON returns the JSON value that a text is, or the first object in it after the model's
// reasoning. An incomplete object is an error.
func findJSON(text string) (json.RawMessage, error) {
	if whole := json.RawMessage(strings.TrimSpace(text)); json.Valid(whole) {
		return whole, nil // whatever it quotes
	}
	if _, after, ok := strings.Cut(text, "</think>"); ok {
		text = strings.TrimSpace(after)
		if whole := json.RawMessage(text); json.Valid(whole) {
			return whole, nil
		}
	}
	begin := strings.IndexByte(text, '{')
	if begin < 0 {
		return nil, errNoJSON
	}
	var v json.RawMessage
	if err := json.NewDecoder(strings.NewReader(text[begin:])).Decode(&v); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	return v, nil
}
