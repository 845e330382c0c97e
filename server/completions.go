package server

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/chat"
	"github.com/weftrun/weft/server/completions"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
)

// completionsPath begins the paths of the API of OpenAI. Its clients read errors in a form of their
// own.
const completionsPath = "/v1/"

// listModels answers with the assistants that have messages.
func listModels(c *call) error {
	list, err := c.models()
	if err != nil {
		return err
	}
	return c.answer(completions.Models(list))
}

// getModel answers with one of them.
func getModel(c *call) error {
	a, err := c.runnable(c.PathValue("assistant_id"))
	if err != nil {
		return err
	}
	list, err := c.models()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(m completions.Model) bool { return m.ID == c.modelName(a) })
	if i < 0 {
		return noAssistant()
	}
	return c.answer(list[i])
}

func (c *call) models() ([]completions.Model, error) {
	list, err := c.runnables()
	if err != nil {
		return nil, err
	}
	var models []completions.Model
	for _, a := range list {
		g, err := c.graphOf(a)
		if err != nil {
			return nil, err
		}
		if len(g.messages) > 0 {
			models = append(models, completions.Model{ID: c.modelName(a.Assistant), Object: "model", Created: a.CreatedAt.Unix(), Owner: "weft"})
		}
	}
	return models, nil
}

// modelName returns the name by which a client chooses an assistant.
func (c *call) modelName(a wire.Assistant) string {
	if c.server.isSystem(a.AssistantID) {
		return a.GraphID
	}
	return a.AssistantID
}

// completionCall is a request of a chat completion. Without a thread the messages are all of the
// conversation, and the thread of the run stays only if it asks.
type completionCall struct {
	chatCall
	in completions.Request
}

// postCompletion runs an assistant for a client of the Chat Completions API.
func postCompletion(c *call) error {
	data, err := c.readJSON(c.server.limits.Body)
	if err != nil {
		return err
	}
	in, err := completions.Read(data)
	if err != nil {
		return malformed(err)
	}
	t := completionCall{in: in}
	c.SetPathValue("assistant_id", in.Model)
	if in.Thread != "" {
		t.chatCall, err = c.chat(in.Thread)
	} else {
		t.chatCall, err = c.chatAlone()
	}
	if err != nil {
		return err
	}
	q, err := t.runRequest()
	if err != nil {
		return err
	}
	made, leave, err := t.begin(q, in.Leave != "continue")
	if err != nil {
		return err
	}
	defer leave()
	reply := &completions.Reply{Run: made.run.ID, Thread: made.run.Thread, Model: in.Model, Created: made.run.Created,
		Usage: in.Options != nil && in.Options.Usage}
	if in.Stream {
		return t.stream(made.run, nil, func(e chat.Event, _ time.Time) []json.RawMessage { return reply.Project(e) }, completions.Done)
	}
	return t.complete(made.run, reply)
}

// complete answers with the whole of a run.
func (t completionCall) complete(r queue.Run, reply *completions.Reply) error {
	reader := chat.NewReader(r.ID)
	err := t.followRun(r, nil, func(e wire.Event) error {
		events, err := reader.Read(e)
		for _, event := range events {
			reply.Project(event)
		}
		return err
	})
	if err == nil {
		if failure := reply.Failure(); failure != nil {
			t.w.Header().Set("X-Should-Retry", "false") // the clients would add the messages again
			return failure
		}
		return t.answer(reply.Whole())
	}
	return err
}

// runRequest returns the request of the run: the answer to an open question, or messages.
func (t completionCall) runRequest() (q runRequest, err error) {
	var open []graph.Interrupt
	if t.exists {
		if open, err = t.questions(t.thread, answerTime); err != nil {
			return q, err
		}
	}
	messages := t.in.Messages
	switch {
	case len(open) > 0:
		messages = nil
	case !t.fresh:
		if messages = t.in.Added(); len(messages) == 0 {
			return q, invalid("messages must end with one that the thread lacks, after the last one of the assistant")
		}
	}
	if q, err = t.request(messages, nil); err != nil {
		return q, err
	}
	if len(open) > 0 {
		if q.Command, err = t.answerTo(open); err != nil {
			return q, err
		}
		q.Input = nil
	}
	if t.in.Thread == "" {
		q.OnCompletion, q.staysAsking = "delete", true
	}
	if len(t.in.Settings) > 0 { // for the nodes to read
		settings, err := encode(t.in.Settings)
		if err != nil {
			return q, err
		}
		q.Config = &wire.Config{Configurable: wire.Object{"openai": settings}}
	}
	return q, nil
}

// answerTo returns the command that answers the only open question with the last message.
func (t completionCall) answerTo(open []graph.Interrupt) (json.RawMessage, error) {
	if len(open) > 1 {
		return nil, wire.Errorf(wire.CodeAmbiguousResume, "The thread has %d open questions: answer them by their ids, with another interface of the server", len(open))
	}
	text, ok := t.in.Answer()
	if !ok {
		return nil, wire.Errorf(wire.CodeAnswerRefused, "The thread waits for an answer: the last message must be a text of the user")
	}
	for _, value := range answersOf(text) {
		if open[0].Accepts(value) == nil {
			return encode(map[string]any{"resume": wire.Object{open[0].ID: value}})
		}
	}
	why := errors.New("it has another type")
	if all := answersOf(text); len(all) > 0 {
		why = open[0].Accepts(all[0])
	}
	return nil, wire.Errorf(wire.CodeAnswerRefused, "The last message does not answer the question %s: %v", open[0].ID, why)
}

// answersOf returns what a text may mean, as JSON.
func answersOf(text string) (values []json.RawMessage) {
	if asText, err := encode(text); err == nil {
		values = append(values, asText)
	}
	if json.Valid([]byte(text)) {
		values = append(values, json.RawMessage(text))
	}
	switch strings.ToLower(strings.Trim(text, " \t\r\n.!")) {
	case "yes", "y", "ok", "approve":
		values = append(values, json.RawMessage("true"), json.RawMessage(`{"decisions":[{"type":"approve"}]}`))
	case "no", "n", "reject":
		values = append(values, json.RawMessage("false"), json.RawMessage(`{"decisions":[{"type":"reject"}]}`))
	}
	return values
}

// refuseCompletion writes an error as the clients of the API of OpenAI read it.
func (c *call) refuseCompletion(status int, e *wire.Error) error {
	data, err := encode(completions.ErrorBody(e))
	if err != nil {
		return err
	}
	return c.write(status, "application/json", data)
}
