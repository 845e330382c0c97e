package completions

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/server/chat"
	"github.com/weftrun/weft/server/wire"
)

// Done ends a stream.
const Done = "[DONE]"

// Reply makes the answer of a run from its events. Set the exported fields before the first.
type Reply struct {
	Run     string // the id
	Thread  string // the id of the thread, for an answer that waits
	Model   string // as the client has named it
	Created time.Time
	Usage   bool // a stream ends with the usage

	begun       bool            // a chunk has the role
	last        string          // the message that the text comes from
	text        strings.Builder // of the whole answer
	reasoning   strings.Builder
	calls       []toolCall // that have no result yet
	used        usage
	waits       bool
	questions   []question
	failed      *wire.RunError
	isOver      bool
	isCancelled bool
}

type toolCall struct {
	Index    *int     `json:"index,omitempty"` // in a stream
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

type question struct {
	ID     string          `json:"id"`
	Prompt string          `json:"prompt,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

// message is an answer, or a piece of one.
type message struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	Calls     []toolCall `json:"tool_calls,omitempty"`
}

type choice struct {
	Index   int      `json:"index"`
	Message *message `json:"message,omitempty"`
	Delta   *message `json:"delta,omitempty"`
	Finish  *string  `json:"finish_reason"`
}

// completion is an answer, or a chunk of one. Weft is what the API has no place for.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
	Weft    *waiting `json:"weft,omitempty"`
}

// waiting is an answer that waits for another one.
type waiting struct {
	Thread    string     `json:"thread_id"`
	Questions []question `json:"questions"` // none at a breakpoint
}

// Project adds an event to the answer, and returns the chunks of a stream that it makes.
func (r *Reply) Project(e chat.Event) []json.RawMessage {
	switch e.Kind {
	case chat.Text:
		return r.say(e.Message, e.Delta)
	case chat.Reasoning:
		r.reasoning.WriteString(e.Delta)
		return r.delta(message{Reasoning: e.Delta})
	case chat.Call:
		r.calls = append(r.calls, toolCall{ID: e.CallID, Type: "function", Function: function{Name: e.Name}})
	case chat.Arguments:
		if i := r.call(e.CallID); i >= 0 {
			r.calls[i].Function.Arguments += e.Delta
		}
	case chat.Result:
		if i := r.call(e.CallID); i >= 0 {
			r.calls = slices.Delete(r.calls, i, i+1)
		}
	case chat.End:
		if u := e.Usage; u != nil {
			r.used.Prompt += u.InputTokens
			r.used.Completion += u.OutputTokens
			r.used.Total += u.TotalTokens
		}
	case chat.Asked:
		return r.ask(e.Questions)
	case chat.Ended:
		r.isOver, r.failed, r.isCancelled = true, e.Error, e.Cancelled
		return r.finish()
	}
	return nil
}

// call returns the index of a call without a result, or -1.
func (r *Reply) call(id string) int {
	return slices.IndexFunc(r.calls, func(c toolCall) bool { return c.ID == id })
}

// say adds to the text. The texts of several messages are paragraphs.
func (r *Reply) say(from, text string) []json.RawMessage {
	if text == "" {
		return nil
	}
	if r.last != from && r.text.Len() > 0 {
		text = "\n\n" + text
	}
	r.last = from
	r.text.WriteString(text)
	return r.delta(message{Content: &text})
}

// ask adds questions to the answer, as a person reads them.
func (r *Reply) ask(list []wire.Interrupt) (out []json.RawMessage) {
	r.waits = true
	for _, in := range list {
		q := question{ID: in.ID, Value: in.Value}
		text := string(in.Value)
		if in.Weft != nil {
			q.Prompt, q.Schema = in.Weft.Prompt, in.Weft.Schema
		}
		if q.Prompt != "" {
			text = q.Prompt
		}
		r.questions = append(r.questions, q)
		out = append(out, r.say("question "+q.ID, text)...)
	}
	return out
}

// finish returns the last chunks.
func (r *Reply) finish() (out []json.RawMessage) {
	if failure := r.Failure(); failure != nil {
		return encoded(ErrorBody(failure))
	}
	if len(r.calls) > 0 {
		calls := slices.Clone(r.calls)
		for i := range calls {
			calls[i].Index = &i
		}
		out = r.delta(message{Calls: calls})
	}
	end := r.chunk(message{})
	end.Choices[0].Finish = r.reason()
	end.Weft = r.waiting()
	out = append(out, encoded(end)...)
	if r.Usage {
		last := r.chunk(message{})
		last.Choices, last.Usage = []choice{}, &r.used
		out = append(out, encoded(last)...)
	}
	return out
}

// reason returns why the answer ends.
func (r *Reply) reason() *string {
	reason := "stop"
	if len(r.calls) > 0 {
		reason = "tool_calls"
	}
	return &reason
}

func (r *Reply) waiting() *waiting {
	if !r.waits {
		return nil
	}
	return &waiting{Thread: r.Thread, Questions: append([]question{}, r.questions...)}
}

// delta returns a chunk that adds to the answer.
func (r *Reply) delta(m message) []json.RawMessage { return encoded(r.chunk(m)) }

func (r *Reply) chunk(m message) completion {
	if !r.begun {
		r.begun, m.Role = true, "assistant"
	}
	c := r.completion("chat.completion.chunk")
	c.Choices = []choice{{Delta: &m}}
	return c
}

func (r *Reply) completion(object string) completion {
	return completion{ID: "chatcmpl-" + r.Run, Object: object, Created: r.Created.Unix(), Model: r.Model}
}

// Failure returns why there is no answer: the run failed, was cancelled, or has not ended.
func (r *Reply) Failure() *wire.Error {
	switch {
	case r.failed != nil:
		return &wire.Error{Code: wire.Code(r.failed.Error), Detail: r.failed.Message}
	case r.isCancelled:
		return &wire.Error{Code: "cancelled", Detail: "the run was cancelled", Status: http.StatusConflict}
	case !r.isOver:
		return &wire.Error{Code: wire.NameLost, Detail: "the events of the run are lost"}
	}
	return nil
}

// Whole returns the answer that is not streamed.
func (r *Reply) Whole() any {
	c := r.completion("chat.completion")
	m := message{Role: "assistant", Reasoning: r.reasoning.String(), Calls: r.calls}
	if text := r.text.String(); text != "" || len(r.calls) == 0 {
		m.Content = &text
	}
	c.Choices = []choice{{Message: &m, Finish: r.reason()}}
	c.Usage, c.Weft = &r.used, r.waiting()
	return c
}

// ErrorBody returns an error as clients of the API read it, and as those of this server do.
func ErrorBody(e *wire.Error) any {
	kind := "invalid_request_error"
	switch status := e.HTTPStatus(wire.Python); {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		kind = "authentication_error"
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	return map[string]any{
		"error":  map[string]any{"message": e.Detail, "type": kind, "param": nil, "code": e.Code},
		"detail": e.Detail, "code": e.Code,
	}
}

// encoded returns a value as JSON.
func encoded(v any) []json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return nil // it is made of strings and JSON
	}
	return []json.RawMessage{data}
}

// Model is an assistant in the list of models.
type Model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Owner   string `json:"owned_by"`
}

// Models returns the list of models.
func Models(list []Model) any {
	return map[string]any{"object": "list", "data": append([]Model{}, list...)}
}
