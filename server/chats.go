package server

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/agui"
	"github.com/weftrun/weft/server/aisdk"
	"github.com/weftrun/weft/server/chat"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
)

// chatCall is a request of a client that chats with an assistant.
type chatCall struct {
	*call       // with the thread in its path
	assistant   wire.Assistant
	graph       servedGraph
	thread      string
	values      json.RawMessage // of the thread; nil if it never ran
	exists      bool
	fresh       bool            // the thread has no messages
	known       map[string]bool // the ids of its messages
	afterPerson []string        // the ids of those after the last one of a person
}

// chatSpace is the name space of the threads of chats whose ids are not UUIDs.
var chatSpace = uuid.MustParse("0f6c4c1c-9a55-5a53-8f0d-6b9a1c0f2f5e")

// maxChatID is how long the id of a chat may be.
const maxChatID = 256

// chatThread returns the id of the thread of a chat. A UUID is that of the thread; each caller has
// chats of its own with other ids.
func (c *call) chatThread(id string) (string, error) {
	if len(id) > maxChatID {
		return "", invalid("the id of a chat must have at most %d bytes (got %d)", maxChatID, len(id))
	}
	if id, err := checkID("", id); err == nil {
		return id, nil
	}
	return uuid.NewSHA1(chatSpace, []byte(c.who.Name+"\x00"+id)).String(), nil
}

// chatAlone finds the assistant of the path, for a chat without a thread.
func (c *call) chatAlone() (t chatCall, err error) {
	t.call, t.fresh = c, true
	if t.assistant, err = c.runnable(c.PathValue("assistant_id")); err != nil {
		return t, err
	}
	if t.graph, err = c.graphOf(assistant{Assistant: t.assistant}); err != nil {
		return t, err
	}
	if len(t.graph.messages) == 0 {
		return t, invalid("the assistant must have messages")
	}
	return t, nil
}

// chat finds the assistant of the path, and the thread of a chat.
func (c *call) chat(id string) (t chatCall, err error) {
	if t, err = c.chatAlone(); err != nil {
		return t, err
	}
	if t.thread, err = c.chatThread(id); err != nil {
		return t, err
	}
	t.call = c.inner(c.Context(), "thread_id", t.thread)
	t.w, t.known = c.w, map[string]bool{}
	found, err := t.call.thread("read")
	switch {
	case hasCode(err, wire.CodeThreadNotFound):
		return t, nil
	case err != nil:
		return t, err
	}
	t.exists = true
	if t.values, err = t.valuesOf(found); err != nil {
		return t, err
	}
	list := chat.ReadMessages(json.RawMessage(gjson.GetBytes(t.values, gjsonKey(t.graph.messages[0])).Raw))
	for _, m := range list {
		t.known[m.ID] = true
		if t.afterPerson = append(t.afterPerson, m.ID); m.Type == "human" {
			t.afterPerson = nil
		}
	}
	t.fresh = len(list) == 0
	return t, nil
}

// gjsonKey returns the path of a member with a name.
func gjsonKey(name string) string {
	return strings.NewReplacer(`\`, `\\`, ".", `\.`, "*", `\*`, "?", `\?`, "|", `\|`, "#", `\#`, "@", `\@`, "!", `\!`).Replace(name)
}

// has reports whether the thread has a message already. An id with #2 is that of a message that
// was streamed again, see package chat.
func (t chatCall) has(id string) bool {
	base, _, _ := strings.Cut(id, "#")
	return t.known[id] || t.known[base]
}

// request returns the request of a run with messages and other fields.
func (t chatCall) request(messages []json.RawMessage, fields map[string]json.RawMessage) (q runRequest, err error) {
	q = runRequest{AssistantID: t.assistant.AssistantID, IfNotExists: "create", Resumable: true}
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	if len(messages) > 0 {
		if fields[t.graph.messages[0]], err = encode(messages); err != nil {
			return q, err
		}
	}
	q.Input, err = encode(fields)
	return q, err
}

// begin creates a run for a client that reads its answer until it calls leave. If cancels is true,
// a run without a reader is cancelled.
func (t chatCall) begin(q runRequest, cancels bool) (made created, leave func(), err error) {
	if made, err = t.enqueue(q); err != nil {
		return made, nil, err
	}
	t.w.Header().Set("Content-Location", made.path)
	return made, t.reads(made.run, cancels), nil
}

// stream answers with the events of a run. begin and project return them, each on a line.
func (t chatCall) stream(r queue.Run, begin []json.RawMessage, project func(chat.Event, time.Time) []json.RawMessage, after string) error {
	s := t.openStream()
	defer s.close()
	send := func(list []json.RawMessage) error {
		for _, data := range list {
			if s.data(data) != nil {
				return errGone
			}
		}
		return nil
	}
	reader := chat.NewReader(r.ID)
	err := send(begin)
	if err == nil {
		err = t.followRun(r, nil, func(e wire.Event) error {
			events, err := reader.Read(e)
			for i := 0; i < len(events) && err == nil; i++ {
				err = send(project(events[i], time.UnixMilli(e.At)))
			}
			return err
		})
	}
	if err != nil && !errors.Is(err, errGone) && t.Context().Err() == nil {
		t.server.log().ErrorContext(t.Context(), "server: the events of a run", "run_id", r.ID, "error", err)
		lost := chat.Event{Kind: chat.Ended, Error: &wire.RunError{Error: wire.NameLost, Message: "the events of the run are lost"}}
		err = send(project(lost, t.server.now()))
	}
	if err == nil && after != "" {
		_ = s.data([]byte(after)) // the stream ends anyway
	}
	return nil
}

// postAGUI runs an assistant for a client of the Agent-User Interaction protocol.
func postAGUI(c *call) error {
	data, err := c.readJSON(c.server.limits.Body)
	if err != nil {
		return err
	}
	in, err := agui.Read(data)
	if err != nil {
		return malformed(err)
	}
	t, err := c.chat(in.Thread)
	if err != nil {
		return err
	}
	q, err := t.aguiRequest(in)
	if err != nil {
		return err
	}
	made, leave, err := t.begin(q, q.OnDisconnect == "cancel")
	if err != nil {
		return err
	}
	defer leave()
	p := agui.Projector{Thread: in.Thread, Run: in.Run, Messages: t.graph.messages}
	return t.stream(made.run, p.Begin(made.run.Created), p.Project, "")
}

// malformed returns the error of a body that another package has read.
func malformed(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return mistyped(err)
	}
	return invalid("%v", err)
}

// aguiRequest returns the request of a run.
func (t chatCall) aguiRequest(in agui.Input) (q runRequest, err error) {
	var messages []json.RawMessage
	for _, m := range in.Messages {
		if t.has(m.ID) {
			continue
		}
		data, err := m.Wire()
		if err != nil {
			return q, invalid("%v", err)
		}
		if data != nil {
			messages = append(messages, data)
		}
	}
	if q, err = t.request(messages, agui.Changed(in.State, t.values, t.graph.messages)); err != nil {
		return q, err
	}
	if len(in.Resume) > 0 {
		if q.Command, err = t.aguiAnswers(in.Resume); err != nil {
			return q, err
		}
	}
	// What a client offers is for the nodes to read.
	offers, err := encode(map[string]json.RawMessage{"tools": orNull(in.Tools), "context": orNull(in.Context), "forwardedProps": orNull(in.Props)})
	q.Config = &wire.Config{Configurable: wire.Object{"agui": offers}}
	if q.OnDisconnect = gjson.GetBytes(in.Props, "on_disconnect").String(); q.OnDisconnect == "" {
		q.OnDisconnect = "cancel"
	}
	return q, err
}

func orNull(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return json.RawMessage("null")
	}
	return data
}

// aguiAnswers returns the command that answers questions. One that was cancelled is rejected, or
// answered with false.
func (t chatCall) aguiAnswers(list []agui.Resume) (json.RawMessage, error) {
	open, err := t.questions(t.thread, answerTime)
	if err != nil {
		return nil, err
	}
	answers := wire.Object{}
	for _, a := range list {
		i := slices.IndexFunc(open, func(in graph.Interrupt) bool { return in.ID == a.ID })
		if i < 0 {
			return nil, wire.Errorf(wire.CodeNothingAsked, "There is no open question %.100q", a.ID)
		}
		if answers[a.ID] = orNull(a.Payload); a.Status != "cancelled" {
			continue
		}
		answers[a.ID] = nil
		for _, no := range []string{`{"decisions":[{"type":"reject"}]}`, "false"} {
			if answers[a.ID] == nil && open[i].Accepts(json.RawMessage(no)) == nil {
				answers[a.ID] = json.RawMessage(no)
			}
		}
		if answers[a.ID] == nil {
			return nil, wire.Errorf(wire.CodeAnswerRefused, "The question %s must be answered, and not cancelled", a.ID)
		}
	}
	return encode(map[string]any{"resume": answers})
}

// postAISDK runs an assistant for a chat of the AI SDK.
func postAISDK(c *call) error {
	data, err := c.readJSON(c.server.limits.Body)
	if err != nil {
		return err
	}
	in, err := aisdk.Read(data)
	if err != nil {
		return malformed(err)
	}
	t, err := c.chat(in.ID)
	if err != nil {
		return err
	}
	q, err := t.aisdkRequest(in)
	if err != nil {
		return err
	}
	made, leave, err := t.begin(q, q.OnDisconnect == "cancel")
	if err != nil {
		return err
	}
	defer leave()
	return t.streamAISDK(made.run)
}

// aisdkRequest returns the request of a run. The messages of the assistant are those of the thread,
// unless it has none.
func (t chatCall) aisdkRequest(in aisdk.Request) (q runRequest, err error) {
	var messages []json.RawMessage
	if in.Regenerates() {
		for _, id := range t.afterPerson {
			removed, err := encode(map[string]string{"type": "remove", "id": id})
			if err != nil {
				return q, err
			}
			messages = append(messages, removed)
		}
	}
	for _, m := range in.Messages {
		if t.known[m.ID] || !t.fresh && m.Role == "assistant" {
			continue
		}
		data, err := m.Wire()
		if err != nil {
			return q, invalid("%v", err)
		}
		messages = append(messages, data)
	}
	if q, err = t.request(messages, in.Input); err != nil {
		return q, err
	}
	if len(in.Resume) > 0 {
		q.Command, err = encode(map[string]json.RawMessage{"resume": in.Resume})
	}
	if q.OnDisconnect = in.Leave; q.OnDisconnect == "" {
		q.OnDisconnect = "cancel"
	}
	return q, err
}

func (t chatCall) streamAISDK(r queue.Run) error {
	t.w.Header().Set(aisdk.Header, aisdk.Version)
	p := aisdk.Projector{Run: r.ID}
	return t.stream(r, p.Begin(), func(e chat.Event, _ time.Time) []json.RawMessage { return p.Project(e) }, aisdk.Done)
}

// joinAISDK answers with the stream of the run of a chat from its beginning; without content if no
// run is under way.
func joinAISDK(c *call) error {
	t, err := c.chat(c.PathValue("chat_id"))
	if err != nil {
		return err
	}
	if !t.exists {
		return c.noContent()
	}
	runs, err := t.server.queue.List(t.Context(), t.thread)
	if err != nil {
		return err
	}
	if n := len(runs); n > 0 && !wire.RunStatus(runs[n-1].Status).Final() {
		return t.streamAISDK(runs[n-1])
	}
	return c.noContent()
}
