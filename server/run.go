package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/values"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
)

// Settings is what [graph.Settings] returns to the nodes of a run.
type Settings struct {
	Configurable wire.Object // of the configuration of the assistant and the request
	Context      wire.Object
	Assistant    string // the id
	Thread       string
	RunID        string
	Identity     Identity // who created the run
}

// runSpec is what to run: the request of a run in the queue.
type runSpec struct {
	Graph     string                 `json:"graph"`
	Assistant string                 `json:"assistant"`
	Metadata  wire.Object            `json:"metadata"`
	Kwargs    wire.RunKwargs         `json:"kwargs"`
	Multitask wire.MultitaskStrategy `json:"multitask"`
	Who       Identity               `json:"who"`
	// Removed is true for a run whose thread is removed when it has ended.
	Removed bool `json:"removed,omitempty"`
	// StaysAsking is true if that thread stays when the run asks. It has a record from the start.
	StaysAsking bool `json:"stays_asking,omitempty"`
	// Mark is set in a run that a cron has created: see firing.
	Mark string `json:"mark,omitempty"`

	At        uint64             `json:"at,omitempty"` // the commit to go on from; 0 is the newest
	Namespace string             `json:"namespace,omitempty"`
	Input     json.RawMessage    `json:"input,omitempty"` // as the graph reads it; see AsSent
	Edit      *graph.UntypedEdit `json:"edit,omitempty"`
	// Resume is command.resume; nil if the command has none. Answers is what was made of it when
	// the run was created. A run that was created behind others has Answers when it begins, in
	// place of Resume.
	Resume  json.RawMessage `json:"resume,omitempty"`
	Answers *graph.Answers  `json:"answers,omitempty"`
	Strict  bool            `json:"strict,omitempty"`

	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
	// AsSent is true in a stored spec without Input, which is Kwargs.Input.
	AsSent bool `json:"as_sent,omitempty"`
}

// aroundInput is how many objects of a stored run are around its input: the run, its request and
// the kwargs.
const aroundInput = 3

// maxInputDepth is how many arrays and objects an input may have inside each other.
const maxInputDepth = document.MaxDepth - aroundInput

// stored returns the spec as it is stored: an input that the graph reads as it was sent is stored
// once.
func (s runSpec) stored() runSpec {
	if sameJSON(s.Input, s.Kwargs.Input) {
		s.Input, s.AsSent = nil, true
	}
	return s
}

// sameJSON reports whether two texts are one JSON value, apart from white space and the order of
// members. One that has a member twice, or other escapes, is another one.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if len(a) == 0 || json.Compact(&x, a) != nil || json.Compact(&y, b) != nil || x.Len() != y.Len() {
		return false
	}
	v, err := values.Decode(a)
	w, err2 := values.Decode(b)
	return err == nil && err2 == nil && reflect.DeepEqual(v, w)
}

func specOf(r queue.Run) (s runSpec, err error) {
	if err = json.Unmarshal(r.Request, &s); s.AsSent {
		s.Input, s.AsSent = s.Kwargs.Input, false
	}
	return s, err
}

// runOf returns a run as clients see it.
func runOf(r queue.Run) (wire.Run, error) {
	s, err := specOf(r)
	return wire.Run{
		RunID: r.ID, ThreadID: r.Thread, AssistantID: s.Assistant, Metadata: s.Metadata, Status: wire.RunStatus(r.Status),
		Kwargs: s.Kwargs, MultitaskStrategy: s.Multitask, CreatedAt: wire.At(r.Created), UpdatedAt: wire.At(r.Updated),
	}, err
}

// durabilities are the values of a request, with those of the graph.
var durabilities = map[string]graph.Durability{"sync": graph.Sync, "async": graph.Async, "exit": graph.Exit}

// options returns the options of the graph's call.
func (s *runSpec) options(r queue.Run) graph.RunOptions {
	k := s.Kwargs
	return graph.RunOptions{
		At: s.At, Namespace: s.Namespace, MaxSteps: k.Config.RecursionLimit, InterruptBefore: s.Before, InterruptAfter: s.After,
		Durability: durabilities[k.Durability], OnOpenQuestions: graph.Discard, Metadata: wire.Labels(s.Metadata), By: s.Who.Name, Via: graph.ViaHTTP,
		Settings: s.settings(r),
	}
}

// settings returns what nodes and a Factory read.
func (s *runSpec) settings(r queue.Run) Settings {
	return Settings{s.Kwargs.Config.Configurable, s.Kwargs.Context, s.Assistant, r.Thread, r.ID, s.Who}
}

func noRun() *wire.Error { return wire.Errorf(wire.CodeRunNotFound, "Run not found") }

// runFault returns the error of the queue as clients see it.
func runFault(err error) error {
	switch {
	case errors.Is(err, queue.ErrNotFound):
		return noRun()
	case errors.Is(err, queue.ErrThreadBusy):
		return wire.Errorf(wire.CodeThreadBusy,
			"Thread is already running a task. Wait for it to finish or choose a different multitask strategy.")
	case errors.Is(err, queue.ErrFull):
		return wire.Errorf(wire.CodeRateLimited, "the thread has too many unfinished runs; try again later")
	case errors.Is(err, queue.ErrRunning):
		return wire.Errorf(wire.CodeRunActive, "the run must not be running")
	}
	return err
}

// run returns the run of the path, if the caller may do the action to its thread. A run without a
// thread in the path has a thread of its own, with the same id.
func (c *call) run(action string) (queue.Run, error) {
	id, err := c.pathID("run_id")
	if err != nil {
		return queue.Run{}, err
	}
	threadID := id
	var filter Filter
	if c.PathValue("thread_id") != "" {
		t, err := c.thread(action)
		if err != nil {
			return queue.Run{}, err
		}
		threadID = t.ThreadID
	} else if filter, err = c.allow("threads", action, id); err != nil {
		return queue.Run{}, err
	}
	r, err := c.server.queue.Get(c.Context(), threadID, id)
	if err != nil {
		return r, runFault(err)
	}
	if len(filter) > 0 {
		s, err := specOf(r)
		if err != nil || !passes(s.Metadata, filter) {
			return queue.Run{}, noRun()
		}
	}
	return r, nil
}

// followed returns the run of the path, if the caller may read it. With cancels the run ends when
// the caller goes, so the caller must be allowed to cancel it too.
func (c *call) followed(cancels bool) (queue.Run, error) {
	r, err := c.run("read")
	if err == nil && cancels {
		_, err = c.run("update")
	}
	return r, err
}

// mark marks the thread of a new run as busy. The run is stored, and a client that got an error
// would create another, so a store that is away is logged: the end of the run sets the status too.
// If the thread was removed since the request has found it, so is the run.
func (c *call) mark(r queue.Run, spec *runSpec) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), endTime)
	defer cancel()
	found, err := c.server.marked(ctx, r, spec)
	gone := err == nil && !found
	if gone {
		err = c.server.undoOrphans(ctx, r.Thread)
	}
	if err != nil {
		c.server.log().ErrorContext(ctx, "server: mark the thread of a run", "run_id", r.ID, "thread", r.Thread, "error", err)
	}
	if gone {
		return noThread(r.Thread)
	}
	return nil
}

// goesWith stores in the record of a thread what a run has set.
func (t *thread) goesWith(spec *runSpec) {
	t.Metadata = maps.Clone(t.Metadata)
	if t.Metadata == nil {
		t.Metadata = wire.Object{}
	}
	for _, key := range []string{wire.MetadataGraph, wire.MetadataAssistant} {
		t.Metadata[key] = spec.Metadata[key]
	}
	t.Config = spec.Kwargs.Config
	t.Config.Configurable = maps.Clone(t.Config.Configurable)
	for _, key := range runIDs {
		delete(t.Config.Configurable, key)
	}
}

// marked marks the thread of a new run as busy, unless the run has ended meanwhile.
func (s *Server) marked(ctx context.Context, r queue.Run, spec *runSpec) (found bool, err error) {
	_, found, err = s.threads.change(ctx, r.Thread, func(t *thread) error {
		t.goesWith(spec)
		t.UpdatedAt = wire.At(s.now())
		if t.Ended == r.ID {
			return nil
		}
		unfinished, err := s.queue.Unfinished(ctx, r.Thread)
		for _, id := range unfinished {
			if id == r.ID {
				t.Status = wire.ThreadBusy
			}
		}
		return err
	})
	return found, err
}

// settle gives a thread that is busy, and has no more runs, the status of its last run. That run
// was cancelled before it began, or has failed because its processes died.
func (s *Server) settle(ctx context.Context, threadID string) error {
	_, _, err := s.threads.change(ctx, threadID, func(t *thread) error {
		unfinished, err := s.queue.Unfinished(ctx, threadID)
		if err != nil || len(unfinished) > 0 || t.Status != wire.ThreadBusy {
			return err
		}
		runs, err := s.queue.List(ctx, threadID)
		if err != nil {
			return err
		}
		t.Status = wire.ThreadIdle
		if len(t.Interrupts) > 0 {
			t.Status = wire.ThreadInterrupted
		}
		if n := len(runs); n > 0 && runs[n-1].Status == queue.Failed && runs[n-1].Error != nil {
			t.Status, t.Error = wire.ThreadError, &wire.RunError{Error: runs[n-1].Error.Name, Message: runs[n-1].Error.Message}
		}
		return nil
	})
	return err
}

// leftover is a thread that is removed soon after its run has ended.
type leftover struct {
	Due time.Time `json:"due"`
}

// leftoverTime is how long clients can read the end of a run whose thread is removed.
const leftoverTime = 10 * time.Second

// removeLater stores that a thread is to be removed.
func (s *Server) removeLater(ctx context.Context, thread string) error {
	now := s.now()
	_, err := s.leftovers.create(ctx, thread, leftover{now.Add(leftoverTime)}, now)
	return err
}

// removeLeftovers removes the threads whose runs have ended. One whose run another process has to
// end again stays until then.
func (s *Server) removeLeftovers(ctx context.Context) error {
	now := s.now()
	var due []string
	err := s.leftovers.each(ctx, func(l stored[leftover]) error {
		if !now.Before(l.record.Due) {
			due = append(due, l.doc.ID)
		}
		return nil
	})
	for i := 0; i < len(due) && ctx.Err() == nil; i++ { // one that fails keeps no other waiting
		unfinished, failure := s.queue.Unfinished(ctx, due[i])
		if failure == nil && len(unfinished) == 0 {
			if failure = s.removeThread(ctx, due[i]); failure == nil {
				failure = s.leftovers.delete(ctx, due[i])
			}
		}
		err = errors.Join(err, failure)
	}
	return err
}

// undoOrphans removes the runs that were created while their thread was removed.
func (s *Server) undoOrphans(ctx context.Context, threadID string) error {
	orphans, err := s.queue.Unfinished(ctx, threadID)
	if err != nil || len(orphans) == 0 {
		return err
	}
	if _, found, err := s.threads.get(ctx, threadID); err != nil || found { // it was created again
		return err
	}
	for _, id := range orphans {
		if _, err := s.queue.Cancel(ctx, threadID, id, queue.Undo); err != nil && !errors.Is(err, queue.ErrNotFound) {
			return err
		}
	}
	return nil
}

// removeRuns removes the runs of a thread. Those that have not ended are cancelled, and awaited.
func (s *Server) removeRuns(ctx context.Context, threadID string) error {
	unfinished, err := s.queue.Unfinished(ctx, threadID)
	for i := 0; i < len(unfinished) && err == nil; i++ {
		if _, err = s.queue.Cancel(ctx, threadID, unfinished[i], queue.Stop); err == nil {
			_, err = s.queue.Wait(ctx, threadID, unfinished[i])
		}
		if errors.Is(err, queue.ErrNotFound) {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	return runFault(s.queue.Forget(ctx, threadID))
}
