package server

import (
	"encoding/json"
	"slices"

	"github.com/weftrun/weft/server/wire"
)

// cronRequest is the body of a request that creates or changes a cron. The body is also the request
// of its runs.
type cronRequest struct {
	runRequest
	Schedule       *string    `json:"schedule"`
	Timezone       *string    `json:"timezone"`
	EndTime        *wire.Time `json:"end_time"`
	Enabled        *bool      `json:"enabled"`
	OnRunCompleted *string    `json:"on_run_completed"`
	raw            wire.Object
}

// cronKeys are the fields of a request that are not those of its runs.
var cronKeys = []string{"schedule", "timezone", "end_time", "enabled", "on_run_completed"}

func (c *call) decodeCron() (q cronRequest, err error) {
	var body json.RawMessage
	if err := c.decode(&body); err != nil {
		return q, err
	}
	if err := mistyped(json.Unmarshal(body, &q)); err != nil {
		return q, err
	}
	if err := json.Unmarshal(body, &q.raw); err != nil {
		return q, invalid("the body must be an object")
	}
	for _, key := range cronKeys {
		delete(q.raw, key)
	}
	if q.OnRunCompleted != nil && *q.OnRunCompleted != "delete" && *q.OnRunCompleted != "keep" {
		return q, invalid("on_run_completed must be delete or keep (got %.100q)", *q.OnRunCompleted)
	}
	if err := c.server.webhooks.check(q.Webhook); err != nil {
		return q, err
	}
	return q, c.checkMetadata(q.Metadata)
}

// apply changes a cron as the request wants.
func (q cronRequest) apply(r *cronRecord, c *call) error {
	if q.Schedule != nil {
		r.Schedule = *q.Schedule
	}
	if q.Timezone != nil {
		r.Timezone = q.Timezone
	}
	if q.EndTime != nil {
		r.EndTime = *q.EndTime
	}
	if q.Enabled != nil {
		r.Enabled = *q.Enabled
	}
	if q.OnRunCompleted != nil {
		r.OnRunCompleted = *q.OnRunCompleted
	}
	var payload wire.Object
	if err := json.Unmarshal(r.Payload, &payload); err != nil {
		return err
	}
	merged, err := encode(merged(payload, q.raw))
	if err != nil {
		return err
	}
	r.Payload, r.UpdatedAt = merged, wire.At(c.server.now())
	var run runRequest
	if err := mistyped(json.Unmarshal(merged, &run)); err != nil {
		return err
	}
	if err := run.check(); err != nil {
		return err
	}
	return r.plan(c.server.now())
}

// createCron creates a cron, of a thread if the path names one.
func createCron(c *call) error {
	var threadID *string
	if c.PathValue("thread_id") != "" {
		t, err := c.thread("update")
		if err != nil {
			return err
		}
		threadID = &t.ThreadID
	}
	q, err := c.decodeCron()
	if err != nil {
		return err
	}
	if q.Schedule == nil {
		return invalid("schedule must be set")
	}
	a, err := c.runnable(q.AssistantID)
	if err != nil {
		return err
	}
	metadata, _, err := c.allowWrite("crons", "create", "", q.Metadata)
	if err != nil {
		return err
	}
	now := wire.At(c.server.now())
	r := cronRecord{wire.Cron{
		CronID: newID(), AssistantID: a.AssistantID, ThreadID: threadID, Payload: json.RawMessage("{}"), Metadata: metadata,
		OnRunCompleted: "delete", Enabled: true, CreatedAt: now,
	}, c.who}
	if c.who.Name != "" {
		r.UserID = &c.who.Name
	}
	if err := q.apply(&r, c); err != nil {
		return err
	}
	if err := c.server.crons.schedule(c.Context(), r); err != nil {
		return err
	}
	if _, err := c.server.crons.create(c.Context(), r.CronID, r, now.Time); err != nil {
		return err
	}
	return c.answer(r.Cron)
}

func noCron() *wire.Error { return wire.Errorf(wire.CodeCronNotFound, "Cron not found") }

// cron returns the cron of the path, if the caller may do the action to it.
func (c *call) cron(action string) (cronRecord, Filter, error) {
	id, err := c.pathID("cron_id")
	if err != nil {
		return cronRecord{}, nil, err
	}
	filter, err := c.allow("crons", action, id)
	if err != nil {
		return cronRecord{}, nil, err
	}
	r, found, err := c.server.crons.get(c.Context(), id)
	if err == nil && (!found || !passes(r.record.Metadata, filter)) {
		err = noCron()
	}
	return r.record, filter, err
}

func getCron(c *call) error {
	r, _, err := c.cron("read")
	if err != nil {
		return err
	}
	return c.answer(r.Cron)
}

func updateCron(c *call) error {
	old, filter, err := c.cron("update")
	if err != nil {
		return err
	}
	q, err := c.decodeCron()
	if err != nil {
		return err
	}
	metadata, _, err := c.allowWrite("crons", "update", old.CronID, q.Metadata)
	if err != nil {
		return err
	}
	if q.AssistantID != "" {
		if _, err := c.runnable(q.AssistantID); err != nil {
			return err
		}
	}
	r, found, err := c.server.crons.change(c.Context(), old.CronID, func(r *cronRecord) error {
		if !passes(r.Metadata, filter) {
			return noCron()
		}
		r.Metadata = merged(r.Metadata, metadata)
		return q.apply(r, c)
	})
	if err == nil && !found {
		err = noCron()
	}
	if err == nil {
		err = c.server.crons.schedule(c.Context(), r)
	}
	if err != nil {
		return err
	}
	return c.answer(r.Cron)
}

func deleteCron(c *call) error {
	r, _, err := c.cron("delete")
	if err != nil {
		return err
	}
	if err := c.server.crons.remove(c.Context(), r.CronID); err != nil {
		return err
	}
	return c.noContent()
}

// cronSearch is the body of a search for crons.
type cronSearch struct {
	page
	AssistantID string      `json:"assistant_id"`
	ThreadID    string      `json:"thread_id"`
	Enabled     *bool       `json:"enabled"`
	Metadata    wire.Object `json:"metadata"`
	SortBy      string      `json:"sort_by"`
	SortOrder   string      `json:"sort_order"`
}

var cronFields = []string{
	"cron_id", "assistant_id", "thread_id", "user_id", "end_time", "schedule", "timezone", "payload", "next_run_date", "metadata",
	"on_run_completed", "enabled", "created_at", "updated_at",
}

// cronSorts are the keys by which crons are sorted; nil is the order of creation.
var cronSorts = map[string]func(r *cronRecord) string{
	"":              nil,
	"created_at":    nil,
	"updated_at":    func(r *cronRecord) string { return sortKey(r.UpdatedAt) },
	"next_run_date": func(r *cronRecord) string { return sortKey(r.NextRunDate) },
	"end_time":      func(r *cronRecord) string { return sortKey(r.EndTime) },
	"cron_id":       func(r *cronRecord) string { return r.CronID },
	"assistant_id":  func(r *cronRecord) string { return r.AssistantID },
}

// cronSearch decodes a search for crons.
func (c *call) cronSearch() (q cronSearch, match func(*cronRecord) bool, err error) {
	if err := c.decode(&q); err != nil {
		return q, nil, err
	}
	filter, err := c.allow("crons", "search", "")
	if err != nil {
		return q, nil, err
	}
	want, err := wanted(q.Metadata)
	if err != nil {
		return q, nil, err
	}
	var assistants []string
	if q.AssistantID != "" {
		id, ok := c.server.assistantID(q.AssistantID)
		if !ok {
			return q, nil, invalid("assistant_id must be a UUID or the id of a graph (got %.100q)", q.AssistantID)
		}
		assistants = []string{id}
	}
	return q, func(r *cronRecord) bool {
		switch {
		case assistants != nil && !slices.Contains(assistants, r.AssistantID),
			q.ThreadID != "" && (r.ThreadID == nil || *r.ThreadID != q.ThreadID),
			q.Enabled != nil && r.Enabled != *q.Enabled:
			return false
		}
		return matchMetadata(r.Metadata, want, filter)
	}, nil
}

func searchCrons(c *call) error {
	q, match, err := c.cronSearch()
	if err != nil {
		return err
	}
	return answerSearch(c, c.server.crons.records, q.page, cronFields, cronSorts, q.SortBy, q.SortOrder, search[cronRecord]{match: match},
		func(r cronRecord) any { return r.Cron })
}

func countCrons(c *call) error {
	_, match, err := c.cronSearch()
	if err != nil {
		return err
	}
	_, total, err := c.server.crons.find(c.Context(), search[cronRecord]{match: match})
	if err != nil {
		return err
	}
	return c.answer(total)
}
