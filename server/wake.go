package server

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/wake"
)

// wakeThreads goes on with threads whose questions expire or whose sleeps end, until ctx ends. The
// graphs store when, in the documents of the server: see [graph.Config].Timers.
func (s *Server) wakeThreads(ctx context.Context) {
	err := wake.Run(ctx, wake.Config{Store: s.config.Store, Timers: s.timers, Resume: s.wake, Start: s.startScheduled, Notify: s.notify, Now: s.now, Log: s.log()})
	if err != nil {
		s.log().ErrorContext(ctx, "server: wake threads", "error", err)
	}
}

// notify logs a notice. The question itself may be secret.
func (s *Server) notify(ctx context.Context, n wake.Notice) error {
	s.log().InfoContext(ctx, "server: a question waits", "kind", string(n.Kind), "thread_id", n.Thread, "interrupt_id", n.Question.ID, "to", n.To)
	return nil
}

// wake creates a run that goes on with a thread, for the caller of its last run and with the
// settings of that. A thread that no run of a server has made goes on in this process.
func (s *Server) wake(ctx context.Context, t graph.Timer) error {
	unfinished, err := s.queue.Unfinished(ctx, t.Thread)
	if err != nil {
		return err
	}
	if len(unfinished) > 0 { // it goes on with the thread, or is that of an earlier call
		return &checkpoint.BusyError{Thread: t.Thread, Owner: "run " + unfinished[0]}
	}
	last, err := s.lastRun(ctx, t.Thread)
	if errors.Is(err, queue.ErrNotFound) {
		shown, err := s.shown(ctx, t.Graph, Use{useRun, Settings{Thread: t.Thread}})
		if err != nil {
			return err
		}
		return wake.Graphs(shown.root.Untyped)(ctx, t)
	}
	if err != nil {
		return err
	}
	spec, err := specOf(last)
	if err != nil {
		return err
	}
	next := runSpec{Graph: spec.Graph, Assistant: spec.Assistant, Metadata: spec.Metadata, Kwargs: spec.Kwargs, Multitask: spec.Multitask, Who: spec.Who, Before: spec.Before, After: spec.After}
	run := queue.Run{ID: newID(), Thread: t.Thread, Owner: last.Owner}
	next.Kwargs.Input, next.Kwargs.Command, next.Kwargs.Config = nil, nil, mergeConfig(spec.Kwargs.Config, nil)
	if next.Kwargs.Config.Configurable["run_id"], err = json.Marshal(run.ID); err != nil {
		return err
	}
	if run.Request, err = encode(next); err != nil {
		return err
	}
	done, err := s.queue.Create(ctx, run, queue.Reject)
	if errors.Is(err, queue.ErrThreadBusy) {
		return &checkpoint.BusyError{Thread: t.Thread, Owner: "another run", Remaining: time.Second}
	}
	if err != nil {
		return err
	}
	return s.marked(ctx, done.Run, &next)
}

// startScheduled begins a run of a [wake.Schedule] in this process.
func (s *Server) startScheduled(ctx context.Context, st wake.Start) error {
	shown, err := s.shown(ctx, st.Graph, Use{useRun, Settings{Thread: st.Thread}})
	if err != nil {
		return err
	}
	return wake.Starts(shown.root.Untyped)(ctx, st)
}

// lastRun returns the run of the thread that ended last, or a queue.ErrNotFound.
func (s *Server) lastRun(ctx context.Context, thread string) (queue.Run, error) {
	t, found, err := s.threads.get(ctx, thread)
	if err != nil {
		return queue.Run{}, err
	}
	if !found || t.record.Ended == "" {
		return queue.Run{}, queue.ErrNotFound
	}
	return s.queue.Get(ctx, thread, t.record.Ended)
}
