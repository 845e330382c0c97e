package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/server/a2a"
	"github.com/weftrun/weft/server/chat"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
)

// taskKey is the metadata of a run that goes on with a task of the Agent2Agent protocol.
const taskKey = "a2a_task"

// getCard answers with the card of an assistant for other agents.
func getCard(c *call) error {
	a, err := c.runnable(c.URL.Query().Get("assistant_id"))
	if err != nil {
		return err
	}
	g, err := c.graphOf(assistant{Assistant: a})
	if err != nil {
		return err
	}
	card := a2a.Card{
		URL: c.base() + "/a2a/" + a.AssistantID, ID: a.AssistantID, Name: a.Name, Description: "The assistant " + a.Name + ".",
		Version: c.server.config.Version, Messages: len(g.messages) > 0,
	}
	if a.Description != nil && *a.Description != "" {
		card.Description = *a.Description
	}
	data, err := card.JSON()
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, "application/json", data)
}

// base returns the URL under which the client has called the server.
func (c *call) base() string {
	if c.TLS != nil {
		return "https://" + c.Host
	}
	return "http://" + c.Host
}

// a2aCall is a request of the Agent2Agent protocol.
type a2aCall struct {
	*call
	request   a2a.Request
	assistant wire.Assistant
	graph     servedGraph
}

// postA2A answers a request of the Agent2Agent protocol.
func postA2A(c *call) error {
	data, err := c.readJSON(c.server.limits.Body)
	if hasCode(err, wire.CodeInvalidJSON) {
		return c.replyA2A(json.RawMessage("null"), nil, a2a.Errorf(a2a.CodeParse, "the body must be JSON"))
	}
	if err != nil {
		return err
	}
	a := a2aCall{call: c}
	if a.assistant, err = c.runnable(c.PathValue("assistant_id")); err != nil {
		return err
	}
	if a.graph, err = c.graphOf(assistant{Assistant: a.assistant}); err != nil {
		return err
	}
	if a.request, err = a2a.ReadRequest(data); err == nil {
		err = a.answerRequest()
	}
	return a.refuseA2A(err)
}

// refuseA2A answers with an error of the protocol. Those about the caller and the load keep their
// HTTP status.
func (a a2aCall) refuseA2A(err error) error {
	var e *a2a.Error
	var fault *wire.Error
	switch {
	case err == nil, errors.Is(err, ErrForbidden), a.Context().Err() != nil:
		return err
	case errors.As(err, &e):
	case hasCode(err, wire.CodeRunNotFound, wire.CodeThreadNotFound):
		e = a2a.Errorf(a2a.CodeNoTask, "there is no such task or context")
	case errors.As(err, &fault) && fault.HTTPStatus(wire.Python) == http.StatusUnprocessableEntity, errors.As(err, &fault) && fault.HTTPStatus(wire.Python) == http.StatusConflict:
		e = a2a.Errorf(a2a.CodeParams, "%s", fault.Detail)
	default:
		return err
	}
	return a.replyA2A(a.request.ID, nil, e)
}

func (c *call) replyA2A(id json.RawMessage, result any, e *a2a.Error) error {
	data, err := a2a.Reply(id, result, e)
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, "application/json", data)
}

func (a a2aCall) answerRequest() error {
	switch r := a.request; r.Op {
	case a2a.Send:
		made, task, err := a.send()
		if err != nil {
			return err
		}
		run := made.run
		if !r.Return {
			if run, err = a.server.queue.Wait(a.Context(), run.Thread, run.ID); errors.Is(err, queue.ErrNotFound) {
				run, err = made.run, nil // it was rolled back
			}
			if err != nil {
				return err
			}
		}
		if err := a.fill(&task, run); err != nil {
			return err
		}
		return a.replyA2A(r.ID, task.Payload(r.Version), nil)
	case a2a.Stream:
		made, task, err := a.send()
		if err != nil {
			return err
		}
		return a.streamTask(made.run, task)
	}
	action := "read"
	if a.request.Op == a2a.Cancel {
		action = "update"
	}
	run, task, err := a.find(a.request.Task, action)
	if err != nil {
		return err
	}
	switch a.request.Op {
	case a2a.Subscribe:
		if wire.RunStatus(run.Status).Final() {
			return a2a.Errorf(a2a.CodeUnsupported, "the task has ended")
		}
		return a.streamTask(run, task)
	case a2a.Cancel:
		if wire.RunStatus(run.Status).Final() {
			return a2a.Errorf(a2a.CodeNotCancelable, "the task has ended, or waits")
		}
		if err := a.server.cancel(a.Context(), run, queue.Stop); err != nil {
			return err
		}
		if run, err = a.server.queue.Wait(a.Context(), run.Thread, run.ID); err != nil {
			return runFault(err)
		}
	}
	if err := a.fill(&task, run); err != nil {
		return err
	}
	return a.replyA2A(a.request.ID, task.Result(a.request.Version), nil)
}

// taskOf returns the task of a run.
func taskOf(r queue.Run, first string) a2a.Task {
	return a2a.Task{ID: r.Thread + ":" + first, Context: r.Thread, State: a2a.Submitted, At: r.Updated}
}

// fill sets the state of a task, and what it has made.
func (a a2aCall) fill(t *a2a.Task, r queue.Run) error {
	t.At = r.Updated
	switch wire.RunStatus(r.Status) {
	case wire.RunPending:
		return nil
	case wire.RunRunning:
		t.State = a2a.Working
		return nil
	}
	o, err := a.outcomeOf(r)
	if err != nil {
		return err
	}
	t.SetEnd(o, wire.RunStatus(r.Status) == wire.RunInterrupted, a.graph.messages, a.request.History)
	return nil
}

// find returns the task with an id, and the newest of its runs, if the caller may do the action to
// its thread.
func (a a2aCall) find(id, action string) (r queue.Run, t a2a.Task, err error) {
	thread, first, _ := strings.Cut(id, ":")
	c := a.inner(a.Context(), "thread_id", thread, "run_id", first)
	if r, err = c.run(action); err != nil {
		return r, t, &wire.Error{Code: wire.CodeRunNotFound}
	}
	t = taskOf(r, first)
	all, err := a.server.queue.List(a.Context(), r.Thread)
	newest := r
	for _, other := range all {
		if s, err := specOf(other); err == nil && gjson.ParseBytes(s.Metadata[taskKey]).String() == r.ID {
			newest = other
		}
	}
	return newest, t, err
}

// send creates the run of a message.
func (a a2aCall) send() (made created, t a2a.Task, err error) {
	m := a.request.Message
	q := runRequest{AssistantID: a.assistant.AssistantID, Metadata: wire.Object(m.Metadata), IfNotExists: "create", Resumable: true}
	thread := m.Context
	if a.request.Task != "" {
		last, task, err := a.find(a.request.Task, "read")
		if err != nil {
			return made, t, err
		}
		if err := a.fill(&task, last); err != nil {
			return made, t, err
		}
		if task.State != a2a.InputRequired || thread != "" && thread != last.Thread {
			return made, t, a2a.Errorf(a2a.CodeUnsupported, "the task is %s and takes no message", task.State)
		}
		if q.Metadata = m.Metadata; q.Metadata == nil {
			q.Metadata = wire.Object{}
		}
		_, first, _ := strings.Cut(task.ID, ":")
		if q.Metadata[taskKey], err = encode(first); err != nil {
			return made, t, err
		}
		if q.Command, err = a.answer(last.Thread); err != nil {
			return made, t, err
		}
		thread = last.Thread
		defer func() { t = taskOf(made.run, first) }()
	} else if q.Input, err = a.input(); err != nil {
		return made, t, err
	}
	if thread == "" {
		thread = newID()
	}
	made, err = a.inner(a.Context(), "thread_id", thread).enqueue(q)
	return made, taskOf(made.run, made.run.ID), err
}

// input returns the input of a message: its text in the messages of the graph, and the members of
// its data.
func (a a2aCall) input() (json.RawMessage, error) {
	m := a.request.Message
	fields, err := m.Fields()
	if err != nil {
		return nil, err
	}
	if m.Text != "" || len(m.Images) > 0 {
		if len(a.graph.messages) == 0 {
			return nil, a2a.Errorf(a2a.CodeContent, "the assistant takes data, and no texts")
		}
		var content any = m.Text
		if len(m.Images) > 0 {
			blocks := []any{map[string]any{"type": "text", "text": m.Text}}
			for _, url := range m.Images {
				blocks = append(blocks, map[string]any{"type": "image_url", "image_url": map[string]string{"url": url}})
			}
			content = blocks
		}
		said := map[string]any{"type": "human", "content": content}
		if m.ID != "" {
			said["id"] = m.ID
		}
		if fields[a.graph.messages[0]], err = encode([]any{said}); err != nil {
			return nil, err
		}
	}
	return encode(fields)
}

// answer returns the command that answers the open questions of a thread with a message: with its
// data, or with its text. A text for a question that takes no texts is read as JSON.
func (a a2aCall) answer(thread string) (json.RawMessage, error) {
	m := a.request.Message
	open, err := a.questions(thread, answerTime)
	if err != nil {
		return nil, err
	}
	var value any = m.Text
	switch {
	case len(m.Data) == 1:
		value = m.Data[0]
	case len(open) == 1 && json.Valid([]byte(m.Text)) && open[0].Accepts(json.RawMessage(m.Text)) == nil && !acceptsText(open[0], m.Text):
		value = json.RawMessage(m.Text)
	}
	return encode(map[string]any{"resume": value})
}

// streamTask answers with the events of a task until it ends, or asks.
func (a a2aCall) streamTask(r queue.Run, t a2a.Task) error {
	s := a.openStream()
	defer s.close()
	id, v := a.request.ID, a.request.Version
	send := func(result any) error {
		data, err := a2a.Reply(id, result, nil)
		if err != nil {
			return err
		}
		return s.send("message", "", data)
	}
	if send(t.Payload(v)) != nil {
		return nil // the client has gone
	}
	reader, p := chat.NewReader(r.ID), a2a.Projector{Task: t, Version: v, AsState: len(a.graph.messages) == 0}
	err := a.followRun(r, nil, func(e wire.Event) error {
		events, err := reader.Read(e)
		if err != nil {
			return err
		}
		for _, event := range events {
			for _, out := range p.Project(event, time.UnixMilli(e.At)) {
				if err := send(out); err != nil {
					return errGone
				}
			}
		}
		return nil
	})
	if err == nil || errors.Is(err, errGone) || a.Context().Err() != nil {
		return nil
	}
	a.server.log().ErrorContext(a.Context(), "server: the events of a run", "run_id", r.ID, "error", err)
	data, err := a2a.Reply(id, nil, a2a.Errorf(a2a.CodeInternal, "the events of the task are lost"))
	if err != nil {
		return err
	}
	_ = s.send("message", "", data) // the stream ends anyway
	return nil
}
