package server

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/server/work"
)

// Ended implements work.Host. It stores the end of the run in the record of its thread. If the
// thread is to be removed, it stores a leftover in place of that. The webhook is last: it may be
// sent at once, and is stored once where the others are tried again.
func (h host) Ended(ctx context.Context, r queue.Run, o work.Outcome) error {
	s, err := specOf(r)
	if err != nil {
		return err
	}
	fired := errors.Is(o.Err, errFired) // another run of the firing reports, and has the thread
	if s.Removed && !(s.StaysAsking && o.Result.Status == graph.Interrupted) {
		err = h.server.removeLater(ctx, r.Thread)
	} else {
		err = h.record(ctx, r, &s, o)
	}
	if err != nil || fired {
		return err
	}
	return h.server.report(ctx, r, &s, o)
}

// record stores the end of a run in the record of its thread.
func (h host) record(ctx context.Context, r queue.Run, s *runSpec, o work.Outcome) error {
	open, err := h.server.stillOpen(ctx, r, o)
	if err != nil {
		return err
	}
	err = h.recordWith(ctx, r, s, o, open)
	if isRefused(err) { // the questions are too large for the record; the state has them
		h.server.log().WarnContext(ctx, "server: the record of a thread lacks its questions", "run_id", r.ID, "thread", r.Thread, "error", err)
		o.Result.Interrupts = nil
		err = h.recordWith(ctx, r, s, o, nil)
	}
	return err
}

// isRefused reports whether a document is not stored because of what it has.
func isRefused(err error) bool {
	return errors.Is(err, document.ErrTooLarge) || errors.Is(err, document.ErrValue)
}

// recordWith is record for a thread with questions from before the run.
func (h host) recordWith(ctx context.Context, r queue.Run, s *runSpec, o work.Outcome, open []graph.Interrupt) error {
	_, _, err := h.server.threads.change(ctx, r.Thread, func(t *thread) error {
		unfinished, err := h.server.queue.Unfinished(ctx, r.Thread)
		if err != nil {
			return err
		}
		t.Status, t.Interrupts, t.Error, t.Ended, t.Copied = wire.ThreadIdle, nil, nil, r.ID, nil
		switch {
		case errors.Is(o.Err, errFired):
		case o.Status == queue.Failed || o.Status == queue.TimedOut:
			t.Status, t.Error = wire.ThreadError, wire.RunErrorOf(o.Err, s.Kwargs.Config.RecursionLimit)
		case o.Result.Status == graph.Interrupted:
			t.Status, t.Interrupts = wire.ThreadInterrupted, wire.ThreadInterrupts(o.Result.Interrupts)
		}
		if t.Metadata[wire.MetadataGraph] == nil { // the run could not mark it
			t.goesWith(s)
		}
		if len(open) > 0 {
			t.Status, t.Interrupts = wire.ThreadInterrupted, wire.ThreadInterrupts(open)
		}
		for _, id := range unfinished {
			if id != r.ID {
				t.Status = wire.ThreadBusy
			}
		}
		t.UpdatedAt = wire.At(h.server.now())
		t.StateUpdatedAt = t.UpdatedAt
		return nil
	})
	return err
}

// stillOpen returns what the thread of a run waits for since before the run, if that was cancelled
// or has failed before it committed anything.
func (s *Server) stillOpen(ctx context.Context, r queue.Run, o work.Outcome) ([]graph.Interrupt, error) {
	if o.Status == queue.Success || o.Result.Status == graph.Interrupted {
		return nil, nil
	}
	info, err := s.rootOf(ctx, r.Thread)
	switch {
	case checkpoint.IsTemporary(err):
		return nil, err
	case err != nil || info.Run == r.ID: // what is wrong with the thread is the failure of the run
		return nil, nil
	}
	return info.Interrupts, nil
}

// endedAlone stores the end of a run that no worker ends, as Ended does for others. log is false if
// readers of the log would take it for the end of the run that is running.
func (s *Server) endedAlone(ctx context.Context, r queue.Run, log bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	var err error
	if log {
		err = endLog(ctx, s.events(), r, s.now())
	}
	if err = errors.Join(err, s.storeEnd(ctx, r)); err != nil {
		s.log().ErrorContext(ctx, "server: store the end of a run", "run_id", r.ID, "error", err)
	}
}

// storeEnd stores the leftover or the status of the thread of a run that no worker ends, and then
// its webhook. The questions of the thread stay.
func (s *Server) storeEnd(ctx context.Context, r queue.Run) error {
	spec, err := specOf(r)
	if err != nil {
		return err
	}
	if spec.Removed {
		err = s.removeLater(ctx, r.Thread)
	} else {
		err = s.settle(ctx, r.Thread)
	}
	if err != nil || spec.Kwargs.Webhook == "" {
		return err
	}
	o := work.Outcome{Status: r.Status}
	if r.Error != nil {
		o.Err = failure(*r.Error)
	}
	if shown, err := s.shown(ctx, spec.Graph, Use{useRead, spec.settings(r)}); err == nil { // else the report lacks the state
		if o.Result.State, _, err = s.newestOf(ctx, shown.graph, r); err != nil {
			return err
		}
	}
	return s.report(ctx, r, &spec, o)
}

// failure is the error of a run that has ended.
type failure queue.Failure

func (f failure) Error() string { return f.Message }

// ErrorName is the name that the run has of it.
func (f failure) ErrorName() string { return f.Name }

// runReport is the body of a webhook.
type runReport struct {
	wire.Run
	Started wire.Time       `json:"run_started_at"`
	Ended   wire.Time       `json:"run_ended_at"`
	Sent    wire.Time       `json:"webhook_sent_at"`
	Values  json.RawMessage `json:"values"` // null with LeftOut
	LeftOut string          `json:"values_left_out,omitempty"`
	Error   *wire.RunError  `json:"error,omitempty"`
}

// report stores the webhook of a run that has ended, to be sent later. A run without one stores
// nothing.
func (s *Server) report(ctx context.Context, r queue.Run, spec *runSpec, o work.Outcome) (err error) {
	if spec.Kwargs.Webhook == "" {
		return nil
	}
	now := wire.At(s.now())
	r.Status, r.Updated = o.Status, now.Time
	body := runReport{Started: wire.At(r.Started), Ended: now, Sent: now, Error: wire.RunErrorOf(o.Err, spec.Kwargs.Config.RecursionLimit)}
	if body.Run, err = runOf(r); err != nil {
		return err
	}
	shown, err := s.shown(ctx, spec.Graph, Use{useRead, spec.settings(r)})
	if err == nil {
		body.Values, err = shown.view(ctx).Values(o.Result.State)
	}
	switch {
	case checkpoint.IsTemporary(err):
		return err
	case err != nil: // such as a graph that is not served any more
		s.log().WarnContext(ctx, "server: a webhook lacks the state", "run_id", r.ID, "error", err)
		body.Values, body.LeftOut = nil, "the state cannot be shown"
	}
	err = s.storeReport(ctx, r.ID, spec, body)
	if isRefused(err) {
		body.Values, body.LeftOut = nil, "the state is too large or too deep for a webhook"
		err = s.storeReport(ctx, r.ID, spec, body)
	}
	return err
}

func (s *Server) storeReport(ctx context.Context, id string, spec *runSpec, body runReport) error {
	data, err := encode(body)
	if err != nil {
		return err
	}
	return s.webhooks.put(ctx, id, spec.Kwargs.Webhook, data, nil)
}
