package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/wake"
)

// errStopped is the cause with which a server stops to wake threads. An engine goes on with the
// runs that the server has begun.
var errStopped = fmt.Errorf("server: the process stops: %w", graph.ErrDetached)

// wakeThreads goes on with threads whose questions expire or whose sleeps end, until ctx ends. The
// graphs store when, in the documents of the server: see [graph.Config].Timers.
func (s *Server) wakeThreads(ctx context.Context) {
	waking, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	defer leave(nil)
	defer context.AfterFunc(ctx, func() { leave(errStopped) })()
	err := wake.Run(waking, wake.Config{Store: s.config.Store, Timers: s.timers, Resume: s.wake, Start: s.startScheduled, Notify: s.notify, Now: s.now, Log: s.log()})
	if err != nil {
		s.log().ErrorContext(ctx, "server: wake threads", "error", err)
	}
}

// Timers returns when the server wakes threads and begins runs: the timers in its documents.
func (s *Server) Timers() *wake.Timers { return s.timers }

// notify logs a notice, without the question, which may be secret, and stores it to be sent to
// Webhooks.Notify. The same notice again has the same id.
func (s *Server) notify(ctx context.Context, n wake.Notice) error {
	s.log().InfoContext(ctx, "server: a question waits", "kind", string(n.Kind), "thread_id", n.Thread, "interrupt_id", n.Question.ID, "to", n.To)
	to := s.config.Webhooks.Notify
	if to == "" {
		return nil
	}
	body, err := encode(n)
	if err != nil {
		return err
	}
	name := strings.Join([]string{n.Thread, n.Question.ID, string(n.Kind), n.At.UTC().Format(time.RFC3339Nano)}, "\x00")
	return s.webhooks.add(ctx, noticePrefix+uuid.NewSHA1(noticeSpace, []byte(name)).String(), to, body)
}

// noticePrefix begins the ids of the webhooks of notices.
const noticePrefix = "notice-"

// noticeSpace is the name space of the ids of notices.
var noticeSpace = uuid.MustParse("0b1f5a2e-5a41-5d0c-8f43-7f6f2a9d6c11")

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
	record, _, err := s.threads.get(ctx, t.Thread)
	if err != nil {
		return err
	}
	next, err := s.settingsOf(ctx, record.record)
	if err != nil {
		return err
	}
	if next == nil {
		shown, err := s.toWake(ctx, t.Graph, t.Thread)
		if err != nil {
			return err
		}
		return wake.Graphs(shown.root.Untyped)(ctx, t)
	}
	run := queue.Run{ID: newID(), Thread: t.Thread, Owner: next.Who.Name}
	next.Kwargs.Config = mergeConfig(next.Kwargs.Config, nil)
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
	_, err = s.marked(ctx, done.Run, next)
	return err
}

// startScheduled begins a run of a [wake.Schedule] in this process.
func (s *Server) startScheduled(ctx context.Context, st wake.Start) error {
	shown, err := s.toWake(ctx, st.Graph, st.Thread)
	if err != nil {
		return err
	}
	return wake.Starts(shown.root.Untyped)(ctx, st)
}

// toWake returns a graph with a thread that this process goes on with. A wake.ErrGraph leaves the
// thread to other servers.
func (s *Server) toWake(ctx context.Context, graphID, thread string) (shownThread, error) {
	shown, err := s.shown(ctx, graphID, Use{useRun, Settings{Thread: thread}})
	if hasCode(err, wire.CodeGraphNotFound) {
		err = fmt.Errorf("%w: %w", wake.ErrGraph, err)
	}
	return shown, err
}

// settingsOf returns what a run that goes on with a thread has of the last one; nil if no run of a
// server has ended there.
func (s *Server) settingsOf(ctx context.Context, t thread) (*runSpec, error) {
	if t.Ended == "" {
		return t.Copied, nil
	}
	last, err := s.queue.Get(ctx, t.ThreadID, t.Ended)
	if errors.Is(err, queue.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	spec, err := specOf(last)
	if err != nil {
		return nil, err
	}
	spec.Kwargs.Input, spec.Kwargs.Command = nil, nil
	return &runSpec{Graph: spec.Graph, Assistant: spec.Assistant, Metadata: spec.Metadata, Kwargs: spec.Kwargs, Multitask: spec.Multitask, Who: spec.Who, Before: spec.Before, After: spec.After}, nil
}

// copiedSettings returns what a run that goes on with a copy of a thread has; nil if no run of a
// server has ended on the thread. It reports to no webhook.
func (s *Server) copiedSettings(ctx context.Context, from thread, id string, who Identity) (*runSpec, error) {
	spec, err := s.settingsOf(ctx, from)
	if spec == nil || err != nil {
		return nil, err
	}
	spec.Who, spec.Kwargs.Webhook, spec.Kwargs.Config = who, "", mergeConfig(spec.Kwargs.Config, nil)
	spec.Kwargs.Config.Configurable["thread_id"], err = json.Marshal(id)
	return spec, err
}
