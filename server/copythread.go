package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/wire"
)

func copyThread(c *call) error {
	from, err := c.thread("read")
	var fault *wire.Error
	if errors.As(err, &fault) && fault.Code == wire.CodeThreadNotFound {
		fault.Status = http.StatusConflict // as clients expect it
	}
	if err != nil {
		return err
	}
	metadata, _, err := c.allowWrite("threads", "create", "", from.Metadata)
	if err != nil {
		return err
	}
	switch unfinished, err := c.server.queue.Unfinished(c.Context(), from.ThreadID); {
	case err != nil:
		return err
	case len(unfinished) > 0:
		return wire.Errorf(wire.CodeThreadBusy, "Thread with ID %s must not be busy", from.ThreadID)
	case from.Status == wire.ThreadBusy: // the process has died that ended its run
		if err := c.server.settle(c.Context(), from.ThreadID); err != nil {
			return err
		}
		if from, err = c.thread("read"); err != nil {
			return err
		}
	}
	now := wire.At(c.server.now())
	t := from
	t.ThreadID, t.Metadata, t.CreatedAt, t.UpdatedAt, t.Ended = newID(), metadata, now, now, ""
	if t.Copied, err = c.server.copiedSettings(c.Context(), from, t.ThreadID, c.who); err != nil {
		return err
	}
	if err := c.server.copyCommits(c.Context(), from.ThreadID, t, now.Time); err != nil {
		undo := c.server.config.Store.Delete(context.WithoutCancel(c.Context()), t.ThreadID)
		return errors.Join(err, undo)
	}
	return c.answer(t.Thread)
}

// copyCommits copies what is stored of a thread to a new one. The record is last: without it the
// copy is not there.
func (s *Server) copyCommits(ctx context.Context, from string, t thread, at time.Time) error {
	store := s.config.Store
	if err := checkpoint.Copy(ctx, store, from, store, t.ThreadID); err != nil {
		return err
	}
	// A thread without a run has no commit.
	if err := s.timers.Restore(ctx, store, t.ThreadID); err != nil && !errors.Is(err, graph.ErrUnknownThread) {
		return err
	}
	_, err := s.threads.create(ctx, t.ThreadID, t, at)
	return err
}
