package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/mcp"
	"github.com/weftrun/weft/server/wire"
)

// postMCP answers a message of the Model Context Protocol.
func postMCP(c *call) error {
	data, err := c.readJSON(c.server.limits.Body)
	if err != nil {
		return err
	}
	r := c.Request.Clone(c.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	mcp.Handler(mcpBackend{c}, c.server.mcpOptions()).ServeHTTP(c.w, r)
	return nil
}

// ServeMCP serves a client of the Model Context Protocol until it closes in, or ctx ends. A message
// is a line. The client is the zero Identity, which no Authenticate function has seen.
func (s *Server) ServeMCP(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/mcp", http.NoBody)
	if err != nil {
		return err
	}
	c := &call{Request: r, w: discard{http.Header{}}, server: s, dialect: wire.Python, id: newID()}
	return mcp.Serve(ctx, mcpBackend{c}, in, out, s.mcpOptions())
}

func (s *Server) mcpOptions() mcp.Options {
	return mcp.Options{Version: cmp.Or(s.config.Version, "dev"), Body: s.limits.Body, Log: s.config.Log}
}

// readJSON reads a body that is JSON within the limits.
func (c *call) readJSON(limit int64) (json.RawMessage, error) {
	var data json.RawMessage
	err := c.decodeUpTo(&data, limit)
	return data, err
}

// mcpBackend is the server for one caller.
type mcpBackend struct{ *call }

// shown returns the error that the client sees.
func (b mcpBackend) shown(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(b.shownFault(err).Detail)
}

// Assistants implements mcp.Backend.
func (b mcpBackend) Assistants(ctx context.Context) ([]mcp.Assistant, error) {
	list, err := b.inner(ctx).runnables()
	if err != nil {
		return nil, b.shown(err)
	}
	all := make([]mcp.Assistant, 0, len(list))
	for _, a := range list {
		g, err := b.inner(ctx).graphOf(a)
		if err != nil {
			return nil, b.shown(err)
		}
		t := mcp.Assistant{ID: a.AssistantID, Name: a.Name, Input: g.schemas().Input}
		if a.Description != nil {
			t.Description = *a.Description
		}
		all = append(all, t)
	}
	return all, nil
}

// runnables returns the assistants that the caller may run, in the order of their creation.
func (c *call) runnables() ([]assistant, error) {
	filter, err := c.allow("assistants", "search", "")
	if err != nil {
		return nil, err
	}
	list, _, err := c.server.assistants.find(c.Context(), search[assistant]{ascending: true, limit: c.server.limits.Page, match: func(a *assistant) bool {
		return c.server.serves(a.GraphID) && (c.server.isSystem(a.AssistantID) || passes(a.Metadata, filter))
	}})
	return slices.DeleteFunc(list, func(a assistant) bool {
		_, err := c.runnable(a.AssistantID)
		return err != nil
	}), err
}

// Run implements mcp.Backend.
func (b mcpBackend) Run(ctx context.Context, assistantID string, input json.RawMessage) (mcp.Result, error) {
	ctx, stop := b.bind(ctx)
	defer stop()
	c := b.inner(ctx)
	made, err := c.enqueue(runRequest{AssistantID: assistantID, Input: input, staysAsking: true})
	if err != nil {
		return mcp.Result{}, b.shown(err)
	}
	r, err := c.mcpResult(made)
	if !r.Waiting {
		r.Thread = ""
	}
	return r, b.shown(err)
}

// mcpResult waits for the end of a run.
func (c *call) mcpResult(made created) (r mcp.Result, err error) {
	o, err := c.finish(made.run)
	if err != nil {
		return r, err
	}
	r = mcp.Result{Thread: made.run.Thread, Values: o.Values, Waiting: o.Waiting, Ignored: c.w.Header().Get(ignoredHeader)}
	if len(r.Values) == 0 {
		r.Values = json.RawMessage("{}")
	}
	if o.Error != nil {
		r.Failure = o.Error.Error + ": " + o.Error.Message
	}
	for _, in := range o.Interrupts {
		r.Questions = append(r.Questions, mcpQuestion(made.run.Thread, made.request.AssistantID, in))
	}
	return r, nil
}

func mcpQuestion(threadID, assistantID string, in wire.Interrupt) mcp.Question {
	q := mcp.Question{ID: in.ID, Thread: threadID, Assistant: assistantID, Value: in.Value}
	if in.Weft != nil {
		q.Prompt, q.Schema = in.Weft.Prompt, in.Weft.Schema
		if at := in.Weft.ExpiresAt.Time; !at.IsZero() {
			q.Expires = &at
		}
	}
	return q
}

// Questions implements mcp.Backend.
func (b mcpBackend) Questions(ctx context.Context, threadID string, limit int) ([]mcp.Question, error) {
	c := b.inner(ctx, "thread_id", threadID)
	var threads []thread
	if threadID != "" {
		t, err := c.thread("read")
		if err != nil {
			return nil, b.shown(err)
		}
		threads = []thread{t}
	} else {
		filter, err := c.allow("threads", "search", "")
		if err != nil {
			return nil, b.shown(err)
		}
		threads, _, err = c.server.threads.find(ctx, search[thread]{limit: limit, match: func(t *thread) bool {
			return len(t.Interrupts) > 0 && t.Status == wire.ThreadInterrupted && passes(t.Metadata, filter)
		}})
		if err != nil {
			return nil, b.shown(err)
		}
	}
	list := []mcp.Question{}
	for _, t := range threads {
		var assistantID string
		_ = json.Unmarshal(t.Metadata[wire.MetadataAssistant], &assistantID) // a thread may have none
		for _, ofTask := range t.openQuestions() {
			if list = append(list, mcpQuestion(t.ThreadID, assistantID, ofTask)); len(list) == limit {
				return list, nil
			}
		}
	}
	return list, nil
}

// openQuestions returns the open questions of a thread, in the order of their tasks and ids.
func (t thread) openQuestions() (all []wire.Interrupt) {
	for _, task := range slices.Sorted(maps.Keys(t.Interrupts)) {
		all = append(all, t.Interrupts[task]...)
	}
	return all
}

// Answer implements mcp.Backend.
func (b mcpBackend) Answer(ctx context.Context, threadID, question string, answer json.RawMessage) (mcp.Result, error) {
	ctx, stop := b.bind(ctx)
	defer stop()
	c := b.inner(ctx, "thread_id", threadID)
	made, err := c.answerOpen(threadID, wire.Object{question: answer})
	if err != nil {
		return mcp.Result{}, b.shown(err)
	}
	r, err := c.mcpResult(made)
	return r, b.shown(err)
}

// answerOpen creates a run that answers open questions of the thread in the path, by their ids.
func (c *call) answerOpen(threadID string, answers wire.Object) (made created, err error) {
	if _, err := c.thread("read"); err != nil {
		return made, err
	}
	open, err := c.questions(threadID, answerTime)
	if err != nil {
		return made, err
	}
	for id := range answers {
		if !slices.ContainsFunc(open, func(in graph.Interrupt) bool { return in.ID == id }) {
			return made, wire.Errorf(wire.CodeNothingAsked, "Thread %s has no open question %.100q", threadID, id)
		}
	}
	q, err := c.again(threadID)
	if err != nil {
		return made, err
	}
	if q.Command, err = encode(map[string]any{"resume": answers}); err != nil {
		return made, err
	}
	return c.enqueue(q)
}

// State implements mcp.Backend.
func (b mcpBackend) State(ctx context.Context, threadID string) (json.RawMessage, error) {
	c := b.inner(ctx, "thread_id", threadID)
	t, err := c.thread("read")
	if err != nil {
		return nil, b.shown(err)
	}
	values, err := c.valuesOf(t)
	if len(values) == 0 {
		values = json.RawMessage("null")
	}
	return values, b.shown(err)
}
