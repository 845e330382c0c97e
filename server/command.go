package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
)

// commandFault is the error of a command.
type commandFault struct {
	code    wire.CommandCode
	message string
}

func (e *commandFault) Error() string { return e.message }

func badCommand(message string) error { return &commandFault{wire.CommandInvalid, message} }

// commandFaultOf returns the error of a command as clients see it. hidden is true if the log must
// have the error itself.
func commandFaultOf(err error) (f *commandFault, hidden bool) {
	if errors.As(err, &f) {
		return f, false
	}
	seen, hidden := faultOf(err)
	code := wire.CommandInvalid
	switch seen.Code {
	case wire.CodeRunNotFound:
		code = wire.CommandNoRun
	case wire.CodeCheckpointNotFound:
		code = wire.CommandNoCheckpoint
	case wire.CodeNothingAsked:
		code = wire.CommandNoInterrupt
	case wire.CodeForbidden, wire.CodeUnauthorized:
		code = wire.CommandPermissionDenied
	case wire.CodeInternal, wire.CodeStoreUnavailable, wire.CodeDraining:
		code = wire.CommandFailed
	}
	return &commandFault{code, seen.Detail}, hidden
}

// commands are the commands of the protocol, but for those of subscriptions, by method.
var commands = map[string]func(c *call, t thread, params json.RawMessage) (result any, err error){
	"run.start":             startRun,
	"input.respond":         respond,
	"input.inject":          inject,
	"state.get":             commandState,
	"state.listCheckpoints": listCheckpoints,
	"state.fork":            forkState,
	"agent.getTree":         getTree,
}

// postCommand answers a command. The status is 200 unless the body is not a command.
func postCommand(c *call) error {
	data, err := c.read(c.server.limits.Body)
	if err != nil {
		return err
	}
	t, err := c.protocolThread()
	if err != nil {
		return err
	}
	command, err := wire.ReadCommand(data)
	if err != nil {
		f, _ := commandFaultOf(err)
		return c.write(http.StatusBadRequest, "application/json", wire.CommandError(nil, f.code, f.message))
	}
	return c.write(http.StatusOK, "application/json", c.execute(t, command))
}

// execute runs a command, and returns its answer.
func (c *call) execute(t thread, command wire.Command) json.RawMessage {
	t = c.newest(t)
	// Events after this one may be those of the command.
	applied, err := c.server.events().Last(c.Context(), t.ThreadID)
	var result any
	if err == nil {
		run := commands[command.Method]
		switch {
		case run != nil:
			result, err = run(c, t, command.Params)
		case command.Method == "subscription.subscribe" || command.Method == "subscription.unsubscribe" || command.Method == "subscription.reconnect":
			err = &commandFault{wire.CommandNotSupported, "subscriptions need a WebSocket"}
		default:
			err = &commandFault{wire.CommandUnknown, "the method is not known"}
		}
	}
	if err == nil {
		if applied != 0 {
			applied = wire.ProtocolSeq(applied)
		}
		var answer json.RawMessage
		if answer, err = wire.CommandResult(command, result, t.ThreadID, applied); err == nil {
			return answer
		}
	}
	return c.failed(c.Context(), command, err)
}

// newest returns a thread as it is now: it may have changed since a socket was opened.
func (c *call) newest(t thread) thread {
	if now, found, err := c.server.threads.get(c.Context(), t.ThreadID); err == nil && found {
		return now.record
	}
	return t
}

// failed returns the answer to a command that has failed.
func (c *call) failed(ctx context.Context, command wire.Command, err error) json.RawMessage {
	f, hidden := commandFaultOf(err)
	if hidden {
		c.server.log().ErrorContext(ctx, "server: a command failed", "method", command.Method, "request_id", c.id, "error", err)
	}
	return wire.CommandError(&command, f.code, f.message)
}

// protocolThread returns the thread of the path. The first request of the protocol makes it, since
// clients choose its id.
func (c *call) protocolThread() (thread, error) {
	t, err := c.thread("read")
	var fault *wire.Error
	if !errors.As(err, &fault) || fault.Code != wire.CodeThreadNotFound {
		return t, err
	}
	id, err := c.pathID("thread_id")
	if err != nil {
		return t, err
	}
	metadata, _, err := c.allowWrite("threads", "create", id, nil)
	if err != nil {
		return t, err
	}
	now := wire.At(c.server.now())
	t = thread{Thread: wire.Thread{
		ThreadID: id, CreatedAt: now, UpdatedAt: now, StateUpdatedAt: now, Metadata: metadata, Status: wire.ThreadIdle,
	}}
	if _, err := c.server.threads.create(c.Context(), id, t, now.Time); err != nil {
		return t, err
	}
	return c.thread("read") // another caller may have been first
}

// params reads the parameters of a command.
func params(raw json.RawMessage, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		return badCommand("the params are not those of the method")
	}
	return nil
}

// runParams are the parameters of run.start.
type runParams struct {
	AssistantID string                 `json:"assistant_id"`
	Input       json.RawMessage        `json:"input"`
	Config      *wire.Config           `json:"config"`
	Context     wire.Object            `json:"context"`
	Metadata    wire.Object            `json:"metadata"`
	Multitask   wire.MultitaskStrategy `json:"multitaskStrategy"`
}

// runID is the result of commands that start a run.
type runID struct {
	Run string `json:"run_id"`
}

// startRun starts a run. If the thread has open questions, and the run does not go on from a
// checkpoint, the input is the answer.
func startRun(c *call, t thread, raw json.RawMessage) (any, error) {
	var p runParams
	if err := params(raw, &p); err != nil {
		return nil, err
	}
	q := runRequest{AssistantID: p.AssistantID, Input: p.Input, Config: p.Config, Context: p.Context, Metadata: p.Metadata, Multitask: p.Multitask, Resumable: true}
	if q.at() == nil && !absent(p.Input) {
		open, err := c.questions(t.ThreadID, settleTime)
		if err != nil {
			return nil, err
		}
		if len(open) > 0 {
			q.Input = nil
			if q.Command, err = encode(map[string]json.RawMessage{"resume": p.Input}); err != nil {
				return nil, err
			}
		}
	}
	return c.start(q)
}

// start creates a run on the thread of the path.
func (c *call) start(q runRequest) (any, error) {
	made, err := c.enqueue(q)
	if err != nil {
		return nil, err
	}
	return runID{made.run.ID}, nil
}

// A run ends soon after its last events: a command that answers a question waits for that. One that
// need not be an answer waits for a shorter time.
const (
	answerTime = 2 * time.Second
	settleTime = 50 * time.Millisecond
)

// questions returns the open questions of a thread, when its runs have ended. If these take longer,
// there are none, but for those of the only run: a client may see a question long before the end of
// its run is stored. With a run behind it, an answer may be on its way.
func (c *call) questions(threadID string, wait time.Duration) (open []graph.Interrupt, err error) {
	ctx, cancel := context.WithTimeout(c.Context(), wait)
	defer cancel()
	unfinished, err := c.server.queue.Unfinished(c.Context(), threadID)
	ended := true
	for i := 0; i < len(unfinished) && ended && err == nil; i++ {
		_, err = c.server.queue.Wait(ctx, threadID, unfinished[i])
		switch {
		case errors.Is(err, queue.ErrNotFound): // it was rolled back
			err = nil
		case ctx.Err() != nil && c.Context().Err() == nil:
			ended, err = false, nil
		}
	}
	if err != nil || !ended && len(unfinished) > 1 {
		return nil, err
	}
	info, err := c.server.rootOf(c.Context(), threadID)
	if err != nil {
		return nil, ignoreUnknown(err)
	}
	if !ended && info.Run != unfinished[0] {
		return nil, nil
	}
	for _, in := range info.Interrupts {
		if _, ok := wire.InterruptOf(in); ok {
			open = append(open, in)
		}
	}
	return open, nil
}

// response answers one question.
type response struct {
	ID       string          `json:"interrupt_id"`
	Response json.RawMessage `json:"response"`
}

// respond answers questions, and goes on.
func respond(c *call, t thread, raw json.RawMessage) (any, error) {
	var p struct {
		response
		Responses []response      `json:"responses"`
		Update    json.RawMessage `json:"update"`
		Goto      json.RawMessage `json:"goto"`
	}
	if err := params(raw, &p); err != nil {
		return nil, err
	}
	if p.ID != "" {
		p.Responses = append(p.Responses, p.response)
	}
	if len(p.Responses) == 0 {
		return nil, badCommand("interrupt_id and response, or responses, must be set")
	}
	open, err := c.questions(t.ThreadID, answerTime)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, in := range open {
		known[in.ID] = true
	}
	resume := wire.Object{}
	for _, r := range p.Responses {
		if !known[r.ID] {
			return nil, &commandFault{wire.CommandNoInterrupt, "there is no open question with this interrupt_id"}
		}
		if resume[r.ID] = r.Response; r.Response == nil {
			resume[r.ID] = json.RawMessage("null")
		}
	}
	command := map[string]any{"resume": resume}
	if !absent(p.Update) {
		command["update"] = p.Update
	}
	if !absent(p.Goto) {
		command["goto"] = p.Goto
	}
	q, err := c.again(t.ThreadID)
	if err != nil {
		return nil, err
	}
	if q.Command, err = encode(command); err != nil {
		return nil, err
	}
	if _, err := c.start(q); err != nil {
		return nil, err
	}
	return nil, nil
}

// again returns the request of a run like the last one of a thread.
func (c *call) again(threadID string) (q runRequest, err error) {
	t, _, err := c.server.threads.get(c.Context(), threadID)
	if err != nil {
		return q, err
	}
	_ = json.Unmarshal(t.record.Metadata[wire.MetadataAssistant], &q.AssistantID) // without one the run is refused
	config := t.record.Config
	q.Config, q.Resumable = &config, true
	return q, nil
}
