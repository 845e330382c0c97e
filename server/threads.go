package server

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/server/wire"
)

// thread is a record: what clients read, and how long it lives.
type thread struct {
	wire.Thread
	TTL *ttl `json:"ttl,omitempty"`
	// Ended is the id of the run that ended last.
	Ended string `json:"ended,omitempty"`
	// Copied has the settings with which a copy goes on when its time has come, and who copied it;
	// nil once a run of its own has ended.
	Copied *runSpec `json:"copied,omitempty"`
}

var threadFields = []string{
	"thread_id", "created_at", "updated_at", "state_updated_at", "metadata", "status", "config", "values", "interrupts", "error",
}

var threadStatuses = []wire.ThreadStatus{wire.ThreadIdle, wire.ThreadBusy, wire.ThreadInterrupted, wire.ThreadError}

// thread returns the thread of the path, if the caller may do the action to it.
func (c *call) thread(action string) (thread, error) {
	id, err := c.pathID("thread_id")
	if err != nil {
		return thread{}, err
	}
	filter, err := c.allow("threads", action, id)
	if err != nil {
		return thread{}, err
	}
	return c.server.visibleThread(c.Context(), id, filter)
}

func (s *Server) visibleThread(ctx context.Context, id string, filter Filter) (thread, error) {
	t, found, err := s.threads.get(ctx, id)
	if err != nil {
		return thread{}, err
	}
	if !found || !passes(t.record.Metadata, filter) {
		return thread{}, noThread(id)
	}
	return t.record, nil
}

// threadRequest is the body of a request that creates or changes a thread.
type threadRequest struct {
	ID       *string         `json:"thread_id"`
	Metadata wire.Object     `json:"metadata"`
	IfExists string          `json:"if_exists"`
	TTL      json.RawMessage `json:"ttl"`
	Steps    []superstep     `json:"supersteps"`
}

func createThread(c *call) error {
	var q threadRequest
	if err := c.decodeUpTo(&q, c.server.limits.Supersteps); err != nil {
		return err
	}
	doNothing, err := checkIfExists(q.IfExists)
	if err != nil {
		return err
	}
	lives, err := decodeTTL(q.TTL)
	if err != nil {
		return err
	}
	if err := c.checkMetadata(q.Metadata); err != nil {
		return err
	}
	id := newID()
	if q.ID != nil {
		if id, err = checkID("thread_id", *q.ID); err != nil {
			return err
		}
	}
	metadata, filter, err := c.allowWrite("threads", "create", id, q.Metadata)
	if err != nil {
		return err
	}
	now := wire.At(c.server.now())
	t := thread{Thread: wire.Thread{
		ThreadID: id, CreatedAt: now, UpdatedAt: now, StateUpdatedAt: now, Metadata: metadata, Status: wire.ThreadIdle,
	}, TTL: lives}
	created, err := c.server.threads.create(c.Context(), id, t, now.Time)
	switch {
	case err != nil:
		return err
	case created:
		return c.answerCreated(t, q.Steps)
	}
	old, err := c.server.visibleThread(c.Context(), id, filter)
	if err != nil || !doNothing {
		return wire.Errorf(wire.CodeAlreadyExists, "Thread %s already exists", id)
	}
	return c.answer(old.Thread)
}

func getThread(c *call) error {
	t, err := c.thread("read")
	if err != nil {
		return err
	}
	if t.Status == wire.ThreadBusy {
		if err := c.server.settle(c.Context(), t.ThreadID); err != nil {
			return err
		}
		if t, err = c.thread("read"); err != nil {
			return err
		}
	}
	if t.Values, err = c.valuesOf(t); err != nil {
		return err
	}
	return c.answer(t.Thread)
}

func updateThread(c *call) error {
	id, err := c.pathID("thread_id")
	if err != nil {
		return err
	}
	var q threadRequest
	if err := c.decode(&q); err != nil {
		return err
	}
	lives, err := decodeTTL(q.TTL)
	if err != nil {
		return err
	}
	if err := c.checkMetadata(q.Metadata); err != nil {
		return err
	}
	metadata, filter, err := c.allowWrite("threads", "update", id, q.Metadata)
	if err != nil {
		return err
	}
	t, found, err := c.server.threads.change(c.Context(), id, func(t *thread) error {
		if !passes(t.Metadata, filter) {
			return noThread(id)
		}
		t.Metadata = merged(t.Metadata, metadata)
		if lives != nil {
			t.TTL = lives
		}
		t.UpdatedAt = wire.At(c.server.now())
		return c.checkMetadata(t.Metadata)
	})
	if err == nil && !found {
		err = noThread(id)
	}
	if err != nil {
		return err
	}
	if strings.Contains(c.Header.Get("Prefer"), "return=minimal") {
		return c.noContent()
	}
	return c.answer(t.Thread)
}

func deleteThread(c *call) error {
	t, err := c.thread("delete")
	if err != nil {
		return err
	}
	if err := c.server.removeThread(c.Context(), t.ThreadID); err != nil {
		return err
	}
	return c.noContent()
}

// removeThread removes a thread with its runs and its commits. The record goes last: a process that
// ends in between leaves a record that can be removed again.
func (s *Server) removeThread(ctx context.Context, id string) error {
	if err := s.removeRuns(ctx, id); err != nil {
		return err
	}
	if err := s.config.Store.Delete(ctx, id); err != nil {
		return err
	}
	if err := (eventlog.Log{Bus: s.bus}).Delete(ctx, id); err != nil {
		return err
	}
	if err := s.threads.delete(ctx, id); err != nil {
		return err
	}
	return s.undoOrphans(ctx, id)
}

// deleteThreadsOf removes the threads whose metadata name an assistant, if the caller may delete
// them.
func (c *call) deleteThreadsOf(assistantID string) error {
	filter, err := c.allow("threads", "delete", "")
	if err != nil {
		return err
	}
	var ids []string
	want := tree{wire.MetadataAssistant: assistantID}
	q := search[thread]{}
	q.terms, _ = threadQuery{want: want, filter: filter}.terms()
	err = c.server.threads.candidates(c.Context(), q, func(r stored[thread]) error {
		if matchMetadata(r.record.Metadata, want, filter) {
			ids = append(ids, r.record.ThreadID)
		}
		return nil
	})
	for i := 0; i < len(ids) && err == nil; i++ {
		err = c.server.removeThread(c.Context(), ids[i])
	}
	return err
}

// threadSearch is the body of a search for threads.
type threadSearch struct {
	page
	IDs       []string          `json:"ids"`
	Status    wire.ThreadStatus `json:"status"`
	Metadata  wire.Object       `json:"metadata"`
	SortBy    string            `json:"sort_by"`
	SortOrder string            `json:"sort_order"`
}

// threadKeys are the keys by which threads are sorted; nil is the order of creation.
var threadKeys = map[string]func(t *thread) string{
	"":           nil,
	"created_at": nil,
	"updated_at": func(t *thread) string { return sortKey(t.UpdatedAt) },
	"thread_id":  func(t *thread) string { return t.ThreadID },
	"status":     func(t *thread) string { return string(t.Status) },
}

// search returns what to look for.
func (q threadSearch) search(filter Filter) (s search[thread], err error) {
	if q.Status != "" && !slices.Contains(threadStatuses, q.Status) {
		return s, invalid("status must be busy, error, idle or interrupted (got %.100q)", q.Status)
	}
	for i, text := range q.IDs {
		id, err := checkID("ids", text)
		if err != nil {
			return s, err
		}
		q.IDs[i] = id
	}
	want, err := wanted(q.Metadata)
	if err != nil {
		return s, err
	}
	s.ids = q.IDs
	s.terms, s.exact = threadQuery{q.Status, want, filter}.terms()
	s.match = func(t *thread) bool {
		if q.Status != "" && t.Status != q.Status || len(q.IDs) > 0 && !slices.Contains(q.IDs, t.ThreadID) {
			return false
		}
		return matchMetadata(t.Metadata, want, filter)
	}
	return s, nil
}

func searchThreads(c *call) error {
	var q threadSearch
	if err := c.decode(&q); err != nil {
		return err
	}
	filter, err := c.allow("threads", "search", "")
	if err != nil {
		return err
	}
	found, err := q.search(filter)
	if err != nil {
		return err
	}
	return answerSearch(c, c.server.threads, q.page, threadFields, threadKeys, q.SortBy, q.SortOrder, found,
		func(t thread) any {
			if len(q.Select) == 0 || slices.Contains(q.Select, "values") {
				values, err := c.valuesOf(t)
				if err != nil {
					c.server.log().ErrorContext(c.Context(), "server: the state of a thread", "thread", t.ThreadID, "error", err)
				}
				t.Values = values
			}
			return t.Thread
		})
}

func countThreads(c *call) error {
	var q threadSearch
	if err := c.decode(&q); err != nil {
		return err
	}
	filter, err := c.allow("threads", "search", "")
	if err != nil {
		return err
	}
	found, err := q.search(filter)
	if err != nil {
		return err
	}
	_, total, err := c.server.threads.find(c.Context(), found)
	if err != nil {
		return err
	}
	return c.answer(total)
}

func pruneThreads(c *call) error {
	var q struct {
		IDs      []string `json:"thread_ids"`
		Strategy string   `json:"strategy"`
	}
	if err := c.decode(&q); err != nil {
		return err
	}
	switch {
	case len(q.IDs) > c.server.limits.Page:
		return invalid("thread_ids must have at most %d ids (got %d)", c.server.limits.Page, len(q.IDs))
	case q.Strategy == "":
		q.Strategy = ttlDelete
	case q.Strategy != ttlDelete && q.Strategy != ttlKeepLatest:
		return invalid("strategy must be delete or keep_latest (got %.100q)", q.Strategy)
	}
	filter, err := c.allow("threads", "delete", "")
	if err != nil {
		return err
	}
	pruned := 0
	for _, text := range q.IDs {
		id, err := checkID("thread_ids", text)
		if err != nil {
			return err
		}
		t, found, err := c.server.threads.get(c.Context(), id)
		if err != nil {
			return err
		}
		if !found || t.record.Status == wire.ThreadBusy || !passes(t.record.Metadata, filter) {
			continue
		}
		if err := c.server.pruneThread(c.Context(), id, q.Strategy); err != nil {
			return err
		}
		pruned++
	}
	return c.answer(struct {
		Count int `json:"pruned_count"`
	}{pruned})
}
