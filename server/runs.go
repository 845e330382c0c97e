package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
)

var runFields = []string{
	"run_id", "thread_id", "assistant_id", "metadata", "status", "kwargs", "multitask_strategy", "created_at", "updated_at",
}

func createRun(c *call) error {
	made, err := c.createRun()
	if err != nil {
		return err
	}
	return c.answerRun(made.run)
}

// maxBatch is the greatest number of runs that are created at once.
const maxBatch = 100

// createRuns creates runs without threads. Of a batch with a request that is not valid, the runs
// before it are created.
func createRuns(c *call) error {
	var batch []runRequest
	if err := c.decode(&batch); err != nil {
		return err
	}
	if len(batch) > maxBatch {
		return invalid("a batch must have at most %d runs (got %d)", maxBatch, len(batch))
	}
	list := []wire.Run{}
	for _, q := range batch {
		made, err := c.enqueue(q)
		if err != nil {
			return err
		}
		shown, err := runOf(made.run)
		if err != nil {
			return err
		}
		list = append(list, shown)
	}
	return c.answer(list)
}

func (c *call) answerRun(r queue.Run) error {
	shown, err := runOf(r)
	if err != nil {
		return err
	}
	return c.answer(shown)
}

func getRun(c *call) error {
	r, err := c.run("read")
	if err != nil {
		return err
	}
	return c.answerRun(r)
}

// listRuns answers with the runs of a thread, the newest first.
func listRuns(c *call) error {
	t, err := c.thread("read")
	if err != nil {
		return err
	}
	limit, err := c.number("limit", defaultPage)
	if err != nil {
		return err
	}
	offset, err := c.number("offset", 0)
	if err != nil {
		return err
	}
	if limit, offset, err = (page{Limit: &limit, Offset: &offset}).check(c.server.limits.Page); err != nil {
		return err
	}
	query := c.URL.Query()
	if err := checkSelect(query["select"], runFields); err != nil {
		return err
	}
	status := query.Get("status")
	if status != "" && !slices.Contains([]string{"pending", "running", "success", "error", "timeout", "interrupted"}, status) {
		return invalid("status must be that of a run (got %.100q)", status)
	}
	runs, err := c.server.queue.List(c.Context(), t.ThreadID)
	if err != nil {
		return err
	}
	var list []json.RawMessage
	total := 0
	for _, r := range slices.Backward(runs) {
		if status != "" && string(r.Status) != status {
			continue
		}
		if total++; total > offset && len(list) < limit {
			shown, err := runOf(r)
			if err != nil {
				return err
			}
			data, err := encode(shown)
			if err != nil {
				return err
			}
			list = append(list, selected(data, query["select"]))
		}
	}
	return c.answerPage(list, offset, total)
}

func deleteRun(c *call) error {
	r, err := c.run("delete")
	if err != nil {
		return err
	}
	if err := c.server.queue.Delete(c.Context(), r.Thread, r.ID); err != nil {
		return runFault(err)
	}
	if err := c.server.settle(c.Context(), r.Thread); err != nil {
		return err
	}
	return c.noContent()
}

// actions are the actions of a request to cancel.
var actions = map[string]queue.Action{"": queue.Stop, "interrupt": queue.Stop, "rollback": queue.Undo}

func cancelRun(c *call) error {
	r, err := c.run("update")
	if err != nil {
		return err
	}
	action, ok := actions[c.URL.Query().Get("action")]
	if !ok {
		return invalid("action must be interrupt or rollback (got %.100q)", c.URL.Query().Get("action"))
	}
	wait, err := c.flag("wait")
	if err != nil {
		return err
	}
	if err := c.server.cancel(c.Context(), r, action); err != nil {
		return err
	}
	if !wait {
		c.w.WriteHeader(http.StatusAccepted)
		return nil
	}
	if _, err := c.server.queue.Wait(c.Context(), r.Thread, r.ID); err != nil && !errors.Is(err, queue.ErrNotFound) {
		return err
	}
	return c.noContent()
}

// cancel cancels a run.
func (s *Server) cancel(ctx context.Context, r queue.Run, action queue.Action) error {
	if _, err := s.queue.Cancel(ctx, r.Thread, r.ID, action); err != nil && !errors.Is(err, queue.ErrNotFound) {
		return err
	}
	return s.settle(ctx, r.Thread)
}

// keepAlive is how often a client that waits gets a byte.
const keepAlive = time.Second

func waitRun(c *call) error {
	made, err := c.createRun()
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", made.path+"/join")
	defer c.reads(made.run, made.request.OnDisconnect == "cancel")()
	return c.waitFor(made.run)
}

func joinRun(c *call) error {
	cancels, err := c.flag("cancel_on_disconnect")
	if err != nil {
		return err
	}
	r, err := c.followed(cancels)
	if err != nil {
		return err
	}
	defer c.reads(r, cancels)()
	return c.waitFor(r)
}

// errWaits is returned for a run whose client has to wait longer.
var errWaits = errors.New("server: the run has not ended, or its end cannot be read now")

// waitFor answers with the state at the end of a run. While the client waits it gets newlines.
func (c *call) waitFor(r queue.Run) error {
	c.w.Header().Set("Content-Type", "application/json")
	control := http.NewResponseController(c.w)
	begun := false
	for {
		body, err := c.tryEnd(r)
		switch {
		case c.Context().Err() != nil:
			return c.cutOff(begun)
		case errors.Is(err, errWaits):
			begun = true
			if _, err := c.w.Write([]byte("\n")); err != nil {
				return nil // the client has gone
			}
			_ = control.Flush()
			continue
		case err != nil && !begun:
			return err
		case err != nil: // the status is sent
			c.server.log().ErrorContext(c.Context(), "server: the end of a run", "run_id", r.ID, "error", err)
			body, _ = wire.WaitBody(wire.Outcome{Error: &wire.RunError{Error: "InternalError", Message: "internal error"}})
		}
		if !begun {
			return c.write(http.StatusOK, "application/json", body)
		}
		_, _ = c.w.Write(body)
		return nil
	}
}

// tryEnd waits for the end of a run, and returns the answer to its client; an errWaits after
// keepAlive. If the store is away meanwhile the client waits: the run goes on, and for an error the
// client might create it again.
func (c *call) tryEnd(r queue.Run) (body json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(c.Context(), keepAlive)
	defer cancel()
	ended, err := c.server.queue.Wait(ctx, r.Thread, r.ID)
	if errors.Is(err, queue.ErrNotFound) { // it was rolled back
		ended, err = r, nil
	}
	waits := err != nil && ctx.Err() != nil
	if err == nil {
		body, err = c.server.outcome(c.Context(), ended)
	}
	if checkpoint.IsTemporary(err) {
		<-ctx.Done()
		waits = true
	}
	if waits {
		err = errWaits
	}
	return body, err
}
