package server

import (
	"slices"

	"github.com/weftrun/weft/server/queue"
)

// cancelRequest is the body of a request that cancels several runs: those with the ids, or those
// with the status, of a thread or of all that the caller may change.
type cancelRequest struct {
	ThreadID string   `json:"thread_id"`
	IDs      []string `json:"run_ids"`
	Status   string   `json:"status"`
}

// names reports whether the request is about a run.
func (q cancelRequest) names(r queue.Run) bool {
	if len(q.IDs) > 0 {
		return slices.Contains(q.IDs, r.ID)
	}
	return !r.Status.Ended() && (q.Status == "all" || q.Status == string(r.Status))
}

func cancelRuns(c *call) error {
	var q cancelRequest
	if err := c.decode(&q); err != nil {
		return err
	}
	action, ok := actions[c.URL.Query().Get("action")]
	switch {
	case !ok:
		return invalid("action must be interrupt or rollback (got %.100q)", c.URL.Query().Get("action"))
	case len(q.IDs) == 0 && !slices.Contains([]string{"pending", "running", "all"}, q.Status):
		return invalid("run_ids must be set, or status must be pending, running or all (got %.100q)", q.Status)
	}
	runs, err := c.cancellable(q.ThreadID)
	if err != nil {
		return err
	}
	found := false
	for _, r := range runs {
		if !q.names(r) {
			continue
		}
		found = true
		if err := c.server.cancel(c.Context(), r, action); err != nil {
			return err
		}
	}
	if !found {
		return noRun()
	}
	return c.noContent()
}

// cancellable returns the runs of a thread, or those that have not ended of all threads that the
// caller may change.
func (c *call) cancellable(threadID string) (runs []queue.Run, err error) {
	if threadID != "" {
		if threadID, err = checkID("thread_id", threadID); err != nil {
			return nil, err
		}
	}
	filter, err := c.allow("threads", "update", threadID)
	if err != nil {
		return nil, err
	}
	if threadID != "" {
		if _, err := c.server.visibleThread(c.Context(), threadID, filter); err != nil {
			return nil, err
		}
		return c.server.queue.List(c.Context(), threadID)
	}
	for r, err := range c.server.queue.Active(c.Context()) {
		if err != nil {
			return nil, err
		}
		visible, err := c.changeable(r, filter)
		if err != nil {
			return nil, err
		}
		if visible {
			runs = append(runs, r)
		}
	}
	return runs, nil
}

// changeable reports whether the thread of a run passes a filter; for a thread without a record
// the run itself.
func (c *call) changeable(r queue.Run, filter Filter) (bool, error) {
	if len(filter) == 0 {
		return true, nil
	}
	t, found, err := c.server.threads.get(c.Context(), r.Thread)
	if err != nil || found {
		return err == nil && passes(t.record.Metadata, filter), err
	}
	s, err := specOf(r)
	return err == nil && passes(s.Metadata, filter), nil
}
