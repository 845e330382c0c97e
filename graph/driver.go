package graph

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// StepID names a step of a run that is driven from outside. [Untyped.RunTask] and [Untyped.Commit] take
// it from a [Plan]. It holds ids and no state, so it can travel through a queue as JSON.
type StepID struct {
	Thread string `json:"thread"`
	Run    string `json:"run"` // see PlanRequest.Run
	// Fence is the lease of the thread, which the run has from its first Plan until Release; "" where
	// the store has no leases.
	Fence string `json:"fence,omitempty"`
	// Checkpoint is the number of the thread's commit before the step.
	Checkpoint uint64 `json:"checkpoint"`
	// Program is the hash of the graph that planned the step.
	Program string `json:"program,omitempty"`
	// First is the thread's last step before the run began: the limit of steps counts from there.
	First int `json:"first,omitempty"`
	// MaxSteps, Drains and TTL are those of the Plan: its limit of steps, whether inputs that wait get
	// their turn after this one, and the time of the lease.
	MaxSteps int           `json:"max_steps,omitempty"`
	Drains   bool          `json:"drains,omitempty"`
	TTL      time.Duration `json:"ttl,omitempty"`
}

// PlanRequest asks for the step that is due. With an Input it begins a turn, as Invoke does, and
// else it goes on with the turn that the thread is in, as Resume does.
type PlanRequest struct {
	Thread string `json:"thread"`
	// Run is the id of the run: what one call of Invoke or Resume is. The driver chooses it: 1 to 40
	// letters, digits and any of "-_.:", which no other run has. A Plan that is made again with the
	// same Run begins nothing and gives what is due now. A run does not go on after a failure or at a
	// static interrupt: that takes a Plan with another Run, after Release.
	Run string `json:"run"`
	// Input is as for [Graph.DecodeInput]; null is none.
	Input   json.RawMessage `json:"input,omitempty"`
	Answers Answers         `json:"answers,omitzero"`
	// The fields that follow are those of RunOptions.
	Namespace       string                 `json:"namespace,omitempty"`
	At              uint64                 `json:"at,omitempty"`
	If              *uint64                `json:"if,omitempty"`
	OnOpenQuestions OnOpenQuestions        `json:"on_open_questions,omitempty"`
	MaxSteps        int                    `json:"max_steps,omitempty"`
	By              string                 `json:"by,omitempty"`
	Via             string                 `json:"via,omitempty"`
	Metadata        map[string]string      `json:"metadata,omitempty"`
	Lease           checkpoint.HoldOptions `json:"lease,omitzero"`

	// Events, if it is not nil, is called with each event of the call that Reader takes, on the goroutine
	// of the caller.
	Events func(Event) `json:"-"`
	Reader Reader      `json:"-"`
}

// Plan says what is to be done next in a run that is driven from outside.
type Plan struct {
	ID StepID `json:"id"`
	// Status is Pending where the tasks of a step are to be run and committed. With any other the run
	// has come to its end: Done, Interrupted, Queued, or Failed beside an error.
	Status Status `json:"status"`
	Turn   int    `json:"turn,omitempty"`
	Step   int    `json:"step,omitempty"` // that is due, or was the last
	// Tasks are those of the step, in canonical order.
	Tasks []PlannedTask `json:"tasks,omitempty"`
	// Interrupts, Starved and Steps are those of Result.
	Interrupts []Interrupt `json:"interrupts,omitempty"`
	Starved    []string    `json:"starved,omitempty"`
	Steps      int         `json:"steps,omitempty"`
}

// Due returns the tasks that are to be run before the step can be committed.
func (p *Plan) Due() (due []PlannedTask) {
	if p.Status != Pending {
		return nil
	}
	for _, t := range p.Tasks {
		if t.End == "" {
			due = append(due, t)
		}
	}
	return due
}

// PlannedTask is a task of a step that is due.
type PlannedTask struct {
	ID   string  `json:"id"`
	Node string  `json:"node"`
	Send bool    `json:"send,omitempty"` // a Send started it
	End  TaskEnd `json:"end,omitempty"`  // how it has ended; "" if it is to be run
	// Timeout, Idle, Attempts and Parallel are those of the node's Policy, or of the Send. RunTask
	// keeps to the first three; how many tasks run at once is up to the driver.
	Timeout  time.Duration `json:"timeout,omitempty"`
	Idle     time.Duration `json:"idle,omitempty"`
	Attempts int           `json:"attempts,omitempty"`
	Parallel int           `json:"parallel,omitempty"`
}

// TaskEnd is how a task ended.
type TaskEnd string

const (
	TaskFinished TaskEnd = "finished"
	TaskAsked    TaskEnd = "asked"  // it waits for answers
	TaskFailed   TaskEnd = "failed" // its last attempt has failed, and its handler if it has one
)

// TaskRequest asks to run a task of a step.
type TaskRequest struct {
	Step StepID `json:"step"`
	Task string `json:"task"` // its id
	// Try counts, from 0, how often the driver wants the task to be tried again that has failed. Calls
	// with the same Try are one: they return the same failure.
	Try int `json:"try,omitempty"`

	Events func(Event) `json:"-"` // see PlanRequest
	Reader Reader      `json:"-"`
}

// TaskResult is how a task ended, as it is stored. As JSON it is less than 1 KiB.
type TaskResult struct {
	Task string  `json:"task"`
	End  TaskEnd `json:"end"`
	// Questions are the ids of open questions, at most 12; Commit lists all, with what they ask.
	Questions []string `json:"questions,omitempty"`
	// Kind, Code and Message are those of the failure. The longest are cut.
	Kind    string `json:"kind,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Retry is true when the node's Policy would try again after such a failure if it had attempts
	// left, and RetryAfter is how long the failure asks to wait.
	Retry      bool          `json:"retry,omitempty"`
	RetryAfter time.Duration `json:"retry_after,omitempty"`
}

// CommitRequest asks to commit a step whose tasks have finished.
type CommitRequest struct {
	Step StepID `json:"step"`

	Events func(Event) `json:"-"` // see PlanRequest
	Reader Reader      `json:"-"`
}

// UnfinishedError names the tasks of a step that have not ended. It is an [ErrUnfinished].
type UnfinishedError struct{ Tasks []string }

func (e *UnfinishedError) Error() string {
	const most = 10
	names := strings.Join(e.Tasks[:min(len(e.Tasks), most)], ", ")
	if more := len(e.Tasks) - most; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%v: %s", ErrUnfinished, names)
}

// Is makes errors.Is(err, ErrUnfinished) true.
func (e *UnfinishedError) Is(target error) bool { return target == ErrUnfinished }

func (g untyped[S]) Plan(ctx context.Context, q PlanRequest) (Plan, error) {
	id := StepID{Thread: q.Thread, Run: q.Run, MaxSteps: q.MaxSteps, TTL: q.Lease.TTL}
	req := request{op: opPlan, answers: q.Answers}
	if q.Input != nil && string(bytes.TrimSpace(q.Input)) != "null" {
		req.json = bytes.Clone(q.Input)
	}
	q.Lease.ID, q.Lease.Fence = "", ""
	if q.Lease.Policy != checkpoint.NoLease {
		q.Lease.ID = leaseID(q.Run)
	}
	o := RunOptions{Thread: q.Thread, Namespace: q.Namespace, At: q.At, If: q.If, OnOpenQuestions: q.OnOpenQuestions,
		MaxSteps: q.MaxSteps, By: q.By, Via: q.Via, Metadata: q.Metadata, Lease: q.Lease}
	d := &drivenRun{id: id}
	d.call = planCall{d}
	return planIn(driveStep(ctx, g.p, o, req, d, q.Events, q.Reader))
}

func (g untyped[S]) RunTask(ctx context.Context, q TaskRequest) (TaskResult, error) {
	d := &drivenRun{id: q.Step, try: q.Try}
	d.call = taskCall{d, q.Task}
	out, _, err := driveStep(ctx, g.p, q.Step.options(), request{op: opRunTask}, d, q.Events, q.Reader)
	res, _ := out.answer.(TaskResult)
	return res, err
}

func (g untyped[S]) Commit(ctx context.Context, q CommitRequest) (Plan, error) {
	d := &drivenRun{id: q.Step}
	d.call = &commitCall{drivenRun: d}
	return planIn(driveStep(ctx, g.p, q.Step.options(), request{op: opCommit}, d, q.Events, q.Reader))
}

func (g untyped[S]) Release(ctx context.Context, id StepID) error {
	store, err := g.p.kept()
	if err != nil {
		return err
	}
	leaser, ok := store.(checkpoint.Leaser)
	if !ok {
		return nil
	}
	if err := leaser.Release(ctx, id.Thread, cmp.Or(id.Fence, leaseID(id.Run))); err != nil {
		return fmt.Errorf("graph %q: thread %q: releasing the lease: %w", g.Name(), id.Thread, err)
	}
	return nil
}

// planIn returns the Plan of a call, which has at least its id.
func planIn(out outcome, id StepID, err error) (Plan, error) {
	p, ok := out.answer.(Plan)
	if !ok {
		p = Plan{ID: id, Status: Failed}
	}
	return p, err
}

// options returns the options of a call for the step.
func (id StepID) options() RunOptions {
	o := RunOptions{Thread: id.Thread, MaxSteps: id.MaxSteps}
	o.Lease = checkpoint.HoldOptions{Fence: id.Fence, TTL: id.TTL}
	if id.Fence == "" {
		o.Lease.Policy = checkpoint.NoLease
	}
	return o
}

// leaseID returns the id of the lease that a run has of its thread.
func leaseID(run string) string { return longHash("lease", run) }

// driveStep makes one call of a run that is driven from outside. It also returns the step, with the
// fence of the lease that the run asked for.
func driveStep(ctx context.Context, p *program, o RunOptions, q request, d *drivenRun, events func(Event), rd Reader) (outcome, StepID, error) {
	id := d.id
	if q.op == opPlan {
		id.Fence = o.Lease.ID
	}
	if _, err := p.kept(); err != nil {
		return outcome{}, id, err
	}
	if err := checkRun(id.Run); err != nil {
		return outcome{}, id, fmt.Errorf("graph %q: thread %q: %w", p.name, o.Thread, err)
	}
	if err := rd.check(); err != nil {
		return outcome{}, id, err
	}
	s := p.launch(ctx, o, q)
	s.id = id.Run
	if q.op != opRunTask { // others may run the same task
		s.writer = s.id
	}
	d.run, s.root.driven = &s.root, d
	if events == nil {
		out, err := s.runInline()
		return out, id, err
	}
	s.finished, s.events = make(chan struct{}), newEmitter(p.cfg.Now)
	defer s.wait()
	defer s.root.cancel(errLeft) // events has panicked, or all is over
	for ev, err := range s.events.readers(rd, s.start) {
		if err == nil {
			events(ev)
		}
	}
	out, err := s.wait()
	return out, id, err
}

// longestRun bounds the id of a run, so that the ids of its commits are not too long.
const longestRun = 40

// checkRun returns an ErrRun unless a run may have this id.
func checkRun(id string) error {
	for _, c := range []byte(id) {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte("-_.:", c) >= 0) {
			return fmt.Errorf("%w: it must be letters, digits and any of -_.: (got %.100q)", ErrRun, id)
		}
	}
	if id == "" || len(id) > longestRun {
		return fmt.Errorf("%w: it must have 1 to %d bytes (got %d)", ErrRun, longestRun, len(id))
	}
	return nil
}

// jsonAnswer is an answer as JSON.
type jsonAnswer struct {
	ID       string          `json:"id,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
	Declined *string         `json:"declined,omitempty"` // the reason
	By       string          `json:"by,omitempty"`
}

// IsZero reports whether a closes no question.
func (a Answers) IsZero() bool { return len(a.given) == 0 }

// MarshalJSON returns the answers as a list, each with the id of its question, the value or why it
// was declined, and who gave it.
func (a Answers) MarshalJSON() ([]byte, error) {
	list := make([]jsonAnswer, len(a.given))
	for i, g := range a.given {
		given, err := g.answer()
		if err != nil {
			return nil, err
		}
		list[i] = jsonAnswer{ID: g.id, Value: given.data, By: g.by}
		if why, declined := strings.CutPrefix(g.declined, refusedBy); declined {
			list[i].Declined = &why
		}
	}
	return json.Marshal(list)
}

// UnmarshalJSON reads what MarshalJSON returns.
func (a *Answers) UnmarshalJSON(data []byte) error {
	var list []jsonAnswer
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	*a = Answers{}
	for _, l := range list {
		g := given{id: l.ID, by: l.By}
		switch {
		case l.Declined != nil:
			g.declined = refusedBy + *l.Declined
		case l.Value == nil:
			g.value = json.RawMessage("null")
		default:
			g.value = slices.Clone(l.Value)
		}
		a.given = append(a.given, g)
	}
	return nil
}
