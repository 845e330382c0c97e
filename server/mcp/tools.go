package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The tools beside those of the assistants.
const (
	listTool   = "list_questions"
	answerTool = "answer_question"
)

// maxName is how long the name of a tool may be.
const maxName = 128

// maxQuestions is how many questions a result has at most.
const maxQuestions = 100

// names returns the names of the tools of assistants, each of its own.
func names(list []Assistant) []string {
	taken := map[string]bool{listTool: true, answerTool: true}
	all := make([]string, len(list))
	for i, a := range list {
		name := toolName(a.Name)
		if name == "" || taken[name] {
			name = toolName(name[:min(len(name), maxName-37)] + "_" + a.ID)
		}
		all[i], taken[name] = name, true
	}
	return all
}

// toolName returns a name with the letters that tools may have.
func toolName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.", r) {
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), maxName)]
}

// inputSchema returns a schema of objects.
func inputSchema(schema json.RawMessage) json.RawMessage {
	var s struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(schema, &s) != nil || s.Type != "object" {
		return json.RawMessage(`{"type":"object"}`)
	}
	return schema
}

// assistantTool returns the tool of an assistant.
func (s *service) assistantTool(name string, a Assistant) (*sdk.Tool, sdk.ToolHandler) {
	tool := &sdk.Tool{
		Name: name, Title: a.Name, Description: a.Description, InputSchema: inputSchema(a.Input),
		Annotations: &sdk.ToolAnnotations{OpenWorldHint: new(true)},
	}
	if tool.Description == "" {
		tool.Description = fmt.Sprintf("Runs the assistant %s and returns its state.", a.Name)
	}
	return tool, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		input := r.Params.Arguments
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		return s.run(ctx, r, func(ctx context.Context) (Result, error) { return s.backend.Run(ctx, a.ID, input) })
	}
}

// addQuestionTools adds the tools for open questions.
func (s *service) addQuestionTools() {
	s.sdk.AddTool(&sdk.Tool{
		Name: listTool, Description: "Lists the open questions that runs wait for.",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(false)},
		InputSchema: json.RawMessage(`{"type":"object","properties":{"thread_id":{"type":"string","description":"only those of this thread"}}}`),
	}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var q struct {
			Thread string `json:"thread_id"`
		}
		if err := arguments(r, &q); err != nil {
			return failed(err), nil
		}
		list, err := s.backend.Questions(ctx, q.Thread, maxQuestions)
		if err != nil {
			return failed(err), nil
		}
		return structured(questions{list})
	})
	s.sdk.AddTool(&sdk.Tool{
		Name: answerTool, Description: "Answers an open question. The run goes on, and its state is returned.",
		Annotations: &sdk.ToolAnnotations{OpenWorldHint: new(true)},
		InputSchema: json.RawMessage(`{"type":"object","required":["thread_id","question_id","answer"],"properties":{` +
			`"thread_id":{"type":"string"},"question_id":{"type":"string"},` +
			`"answer":{"description":"a value that fits the schema of the question"}}}`),
	}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var q struct {
			Thread   string          `json:"thread_id"`
			Question string          `json:"question_id"`
			Answer   json.RawMessage `json:"answer"`
		}
		if err := arguments(r, &q); err != nil {
			return failed(err), nil
		}
		if q.Thread == "" || q.Question == "" || q.Answer == nil {
			return failed(errors.New("thread_id, question_id and answer must be set")), nil
		}
		return s.run(ctx, r, func(ctx context.Context) (Result, error) {
			return s.backend.Answer(ctx, q.Thread, q.Question, q.Answer)
		})
	})
}

type questions struct {
	Questions []Question `json:"questions"`
}

func arguments(r *sdk.CallToolRequest, v any) error {
	if len(r.Params.Arguments) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.Params.Arguments, v); err != nil {
		return errors.New("the arguments must fit the schema of the tool")
	}
	return nil
}

// progressEvery is how often a client that asks for progress gets a notification.
const progressEvery = 5 * time.Second

// run makes a call that takes as long as a run.
func (s *service) run(ctx context.Context, r *sdk.CallToolRequest, call func(context.Context) (Result, error)) (*sdk.CallToolResult, error) {
	if token := r.Params.GetProgressToken(); token != nil {
		done := make(chan struct{})
		reported := make(chan struct{})
		defer func() { close(done); <-reported }()
		go func() {
			defer close(reported)
			report(ctx, r.Session, token, done)
		}()
	}
	result, err := call(ctx)
	if err != nil {
		return failed(err), nil
	}
	return result.tool()
}

// report reports progress until done is closed.
func report(ctx context.Context, to *sdk.ServerSession, token any, done <-chan struct{}) {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-tick.C:
			p := &sdk.ProgressNotificationParams{ProgressToken: token, Progress: float64(n), Message: "running"}
			if to.NotifyProgress(ctx, p) != nil {
				return // the client has gone
			}
		case <-done:
			return
		}
	}
}

// tool returns the result of a tool.
func (r Result) tool() (*sdk.CallToolResult, error) {
	switch {
	case r.Failure != "":
		return failed(errors.New(r.Failure)), nil
	case r.Waiting:
		out, err := structured(struct {
			Thread    string     `json:"thread_id"`
			Questions []Question `json:"questions"`
		}{r.Thread, append([]Question{}, r.Questions...)})
		if err != nil {
			return nil, err
		}
		text := fmt.Sprintf("The run waits at a breakpoint on thread %s.", r.Thread)
		if len(r.Questions) > 0 {
			text = fmt.Sprintf("The run waits for an answer on thread %s. Give it with the tool %s.", r.Thread, answerTool)
		}
		out.IsError, out.Content = true, append([]sdk.Content{&sdk.TextContent{Text: text}}, out.Content...)
		return out, nil
	}
	out, err := structured(r.Values)
	if err == nil && r.Ignored != "" {
		out.Content = append(out.Content, &sdk.TextContent{Text: "The assistant has no input named " + r.Ignored + "."})
	}
	return out, err
}

// structured returns a value as text and as it is.
func structured(v any) (*sdk.CallToolResult, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(data)}}, StructuredContent: json.RawMessage(data)}, nil
}

// failed returns an error that the model sees.
func failed(err error) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}}
}
