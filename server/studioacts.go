package server

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/studio"
	"github.com/weftrun/weft/server/wire"
)

// Start implements studio.Source.
func (s studioSource) Start(_ context.Context, r studio.Start) (thread string, err error) {
	thread = r.Thread
	q := runRequest{
		AssistantID: cmp.Or(r.Assistant, r.Graph), Input: r.Input, Multitask: wire.MultitaskStrategy(cmp.Or(r.Multitask, "reject")),
		Durability: r.Durability, InterruptBefore: r.Before, InterruptAfter: r.After,
	}
	if r.Context != nil {
		if err := json.Unmarshal(r.Context, &q.Context); err != nil {
			return "", invalid("context must be an object")
		}
	}
	if thread == "" {
		thread, q.IfNotExists = newID(), "create"
	}
	s.c.SetPathValue("thread_id", thread)
	if r.At != 0 {
		t, err := s.c.shownThread("read")
		if err != nil {
			return "", err
		}
		at, err := t.commit(s.c.Context(), r.At)
		if err != nil {
			return "", err
		}
		q.CheckpointID = wire.CheckpointOf(at.Info.Checkpoint, 1, at.Info.Time).String()
	}
	_, err = s.c.enqueue(q)
	return thread, err
}

// Edit implements studio.Source.
func (s studioSource) Edit(_ context.Context, thread string, e studio.Edit) error {
	s.c.SetPathValue("thread_id", thread)
	t, err := s.c.shownThread("update")
	if err != nil {
		return err
	}
	_, err = s.c.edit(t, [][]graph.UntypedEdit{{{As: e.As, Writes: e.Writes, Goto: e.Goto}}}, graph.RunOptions{At: e.At})
	return err
}

// ServeBlob implements studio.Source.
func (s studioSource) ServeBlob(w http.ResponseWriter, r *http.Request, thread, hash string) error {
	r.SetPathValue("thread_id", thread)
	r.SetPathValue("hash", hash)
	return getBlob(&call{Request: r, w: w, server: s.c.server, dialect: wire.Python, who: s.c.who, id: s.c.id})
}

// Cancel implements studio.Source.
func (s studioSource) Cancel(ctx context.Context, thread string) error {
	if thread == "" { // which would be all threads
		return noThread(thread)
	}
	runs, err := s.c.cancellable(thread)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if r.Status.Ended() {
			continue
		}
		if err := s.c.server.cancel(ctx, r, actions["interrupt"]); err != nil {
			return err
		}
	}
	return nil
}

// Remove implements studio.Source.
func (s studioSource) Remove(ctx context.Context, thread string) error {
	s.c.SetPathValue("thread_id", thread)
	t, err := s.c.thread("delete")
	if err != nil {
		return err
	}
	return s.c.server.removeThread(ctx, t.ThreadID)
}

// Prune implements studio.Source.
func (s studioSource) Prune(ctx context.Context, thread string) error {
	s.c.SetPathValue("thread_id", thread)
	t, err := s.c.thread("delete")
	if err != nil {
		return err
	}
	if t.Status == wire.ThreadBusy {
		return wire.Errorf(wire.CodeThreadBusy, "Thread with ID %s must not be busy", t.ThreadID)
	}
	return s.c.server.pruneThread(ctx, t.ThreadID, ttlKeepLatest)
}

// MayEdit implements studio.Source. Who edits workflows changes what assistants run.
func (s studioSource) MayEdit(context.Context) error {
	_, err := s.c.allow("assistants", "update", "")
	return err
}

// Resume implements studio.Source.
func (s studioSource) Resume(_ context.Context, t studio.Thread) error {
	s.c.SetPathValue("thread_id", t.ID)
	_, err := s.c.enqueue(runRequest{AssistantID: t.GraphID, Multitask: "reject", Input: json.RawMessage("null")})
	return err
}
