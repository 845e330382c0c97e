package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/state/message"
)

// LLM returns the kind llm: a model answers a prompt. Files use the models by these names.
//
//	kinds := nodes.Kinds()
//	kinds["llm"] = nodes.LLM(map[string]model.Model{"small": small})
//
//	write:
//	  llm:
//	    model: small
//	    system: You write short sentences.
//	    prompt: About ${{ state.topic }}
//	    answer: Article            # a type of the file; without it the answer is text
//	  output: {draft: "${{ result.answer.body }}"}
//
// A text is streamed to subscribers of [graph.Messages]. A temporary failure may be retried. Its
// code, such as model_rate_limit, is that of package model.
func LLM(models map[string]model.Model) workflow.Kind {
	return llmKind(Program{Models: maps.Clone(models)})
}

func llmKind(p Program) workflow.Kind {
	return workflow.Kind{
		About:   "lets a model answer a prompt",
		New:     func() workflow.Runner { return &Prompt{program: p} },
		Result:  reflect.TypeFor[PromptResult](),
		Outside: true,
	}
}

// Prompt is a node of the kind that LLM returns.
type Prompt struct {
	// Model is the name of a model of the program; it may be left out if there is one model.
	Model string `json:"model,omitempty"`
	// System is how to answer.
	System string `json:"system,omitempty"`
	// Prompt is the question.
	Prompt string `json:"prompt"`
	// Answer is the type that the answer must have, an object; "" is text.
	Answer workflow.TypeName `json:"answer,omitzero"`
	// Temperature is from 0, the most likely words, up; without it the model's own.
	Temperature *float64 `json:"temperature,omitempty"`
	// MaxTokens limits the answer; 0 is the model's own limit.
	MaxTokens int `json:"max_tokens,omitempty"`

	program Program
}

// PromptResult is the result of a Prompt.
type PromptResult struct {
	Text   string `json:"text"`
	Answer any    `json:"answer"` // of the requested type
	Stop   string `json:"stop"`   // why it ended: stop, or length if it was cut off
}

// Check refuses an unknown model.
func (p *Prompt) Check(given func(string) bool) error {
	if given("model") && p.Model == "" { // it is computed, and may be any
		_, err := p.program.allModels()
		return err
	}
	_, err := p.program.model(p.Model)
	return err
}

// Recordable is true: it calls models and tools.
func (p *Prompt) Recordable() bool { return true }

// Run asks the model.
func (p *Prompt) Run(ctx context.Context, env workflow.Env) (any, error) {
	m, err := p.program.model(p.Model)
	if err != nil {
		return nil, err
	}
	r := model.Request{ID: graph.ExecutionID(ctx), Temperature: p.Temperature, MaxTokens: p.MaxTokens}
	if p.System != "" {
		r.Messages = append(r.Messages, message.System(p.System))
	}
	r.Messages = append(r.Messages, message.User(p.Prompt))
	var res PromptResult
	if p.Answer.IsZero() {
		res, err = stream(ctx, m, r)
	} else {
		res, err = p.typed(ctx, env, m, r)
	}
	if err != nil {
		return nil, modelError{err}
	}
	return res, nil
}

// stream requests a text and emits its pieces.
func stream(ctx context.Context, m model.Model, r model.Request) (PromptResult, error) {
	fold := model.Fold{Request: r}
	for c, err := range m.Stream(ctx, r) {
		if err == nil {
			err = fold.Add(c)
		}
		if err == nil && c.Text != "" && r.ID != "" {
			err = graph.EmitMessage(ctx, graph.Token{ID: r.ID, Role: "assistant", Delta: c.Text})
		}
		if err != nil {
			return PromptResult{}, err
		}
	}
	said, err := fold.Response()
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return PromptResult{}, err
	}
	res := PromptResult{Text: said.Message.Text(), Stop: string(said.Stop)}
	if r.ID != "" {
		err = graph.EmitMessage(ctx, graph.Token{ID: r.ID, Role: "assistant", Final: true, Text: res.Text})
	}
	return res, err
}

// typed requests a value of a type of the file.
func (p *Prompt) typed(ctx context.Context, env workflow.Env, m model.Model, r model.Request) (res PromptResult, err error) {
	schema, err := env.Schema(p.Answer)
	if err != nil {
		return res, err
	}
	var form struct{ Type string }
	if err := json.Unmarshal(schema, &form); err != nil || form.Type != "object" {
		return res, &refusal{fmt.Sprintf("the type of the answer must be an object (got %s)", p.Answer)}
	}
	r.Output = &model.Schema{JSON: schema}
	v, said, err := model.DecodeResponse[map[string]json.RawMessage](ctx, m, r)
	if err != nil {
		return res, err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return res, err
	}
	res = PromptResult{Text: said.Message.Text(), Stop: string(said.Stop)}
	res.Answer, err = env.Convert(p.Answer, data)
	return res, err
}

// modelError is a failure of a model that reports whether to retry.
type modelError struct{ error }

func (e modelError) Unwrap() error { return e.error }

// Retryable reports whether another attempt may succeed.
func (e modelError) Retryable() bool {
	var bad *model.OutputError
	return model.Retriable(e.error) || errors.As(e.error, &bad)
}
