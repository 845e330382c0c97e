package graph

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// StepID names a step of a run that is driven from outside. [Untyped.RunTask] and
// [Untyped.Commit] take it from a [Plan]. It holds ids and no state, so it can travel through a
// queue as JSON.
type StepID struct {
	Thread string `json:"thread"`
	Run    string `json:"run"` // see PlanRequest.Run
	// Fence is the lease of the thread, which the run has from its first Plan until Release; ""
	// where the store has no leases.
	Fence string `json:"fence,omitempty"`
	// Checkpoint is the number of the thread's commit before the step.
	Checkpoint uint64 `json:"checkpoint"`
	// Program is the hash of the graph that planned the step.
	Program string `json:"program,omitempty"`
	// First is the thread's last step before the run began: the limit of steps counts from there.
	First int `json:"first,omitempty"`
	// MaxSteps and TTL are those of the PlanRequest: the limit of steps, and the TTL of the lease.
	// Drains is true if queued inputs get their turns after this one.
	MaxSteps int           `json:"max_steps,omitempty"`
	Drains   bool          `json:"drains,omitempty"`
	TTL      time.Duration `json:"ttl,omitempty"`
}

// PlanRequest asks for the step that is due. With an Input it begins a turn, as Invoke does.
// Without one it goes on with the turn that the thread is in, as Resume does.
type PlanRequest struct {
	Thread string `json:"thread"`
	// Run is the id of the run, which does the work of one call of Invoke or Resume. The driver
	// chooses an id that no other run has: 1 to 40 letters, digits and any of "-_.:". A Plan that
	// is made again with the same Run begins nothing and returns what is due now. A run does not
	// go on after a failure or a static interrupt: for that, call Release, then Plan with another
	// Run.
	Run string `json:"run"`
	// Input is the input in the form of [Graph.DecodeInput]; nil or null means none.
	Input   json.RawMessage `json:"input,omitempty"`
	Answers Answers         `json:"answers,omitzero"`
	// The fields from here to Lease are those of RunOptions.
	Namespace       string                 `json:"namespace,omitempty"`
	At              uint64                 `json:"at,omitempty"`
	If              *uint64                `json:"if,omitempty"`
	OnOpenQuestions OnOpenQuestions        `json:"on_open_questions,omitempty"`
	MaxSteps        int                    `json:"max_steps,omitempty"`
	By              string                 `json:"by,omitempty"`
	Via             string                 `json:"via,omitempty"`
	Lease           checkpoint.HoldOptions `json:"lease,omitzero"`
	Options         StepOptions            `json:"options,omitzero"`

	// Events, if it is not nil, is called with each event of the call that Reader selects, on the
	// goroutine of the caller.
	Events func(Event) `json:"-"`
	Reader Reader      `json:"-"`
}

// StepOptions are options of a run that each of its calls has, as in RunOptions. They are not
// stored: the driver passes the same ones with each Plan, RunTask and Commit of the run.
type StepOptions struct {
	InterruptBefore []string          `json:"interrupt_before,omitzero"`
	InterruptAfter  []string          `json:"interrupt_after,omitzero"`
	Metadata        map[string]string `json:"metadata,omitempty"`
	Settings        any               `json:"-"`
}

// in adds the options to those of a call.
func (s StepOptions) in(o RunOptions) RunOptions {
	o.InterruptBefore, o.InterruptAfter, o.Metadata, o.Settings = s.InterruptBefore, s.InterruptAfter, s.Metadata, s.Settings
	return o
}

// Plan is the next step of a run that is driven from outside, or the end of that run.
type Plan struct {
	ID StepID `json:"id"`
	// Status is Pending if the tasks of a step are to be run and committed. With any other Status
	// the run has ended: Done, Interrupted, Queued, or Failed, which comes with an error.
	Status Status `json:"status"`
	Turn   int    `json:"turn,omitempty"`
	Step   int    `json:"step,omitempty"` // the step that is due, or the last one
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
	ID        string  `json:"id"`
	Node      string  `json:"node"`
	Send      bool    `json:"send,omitempty"`       // a Send started it
	End       TaskEnd `json:"end,omitempty"`        // how it has ended; "" if it is to be run
	TaskQueue string  `json:"task_queue,omitempty"` // of the node's Policy
	Child     bool    `json:"child,omitempty"`      // of the node's Policy
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
	// Try is 0 at first. The driver adds 1 to run again a task that has failed. Calls with the same
	// Try are one: they return the same failure.
	Try     int         `json:"try,omitempty"`
	Options StepOptions `json:"options,omitzero"`

	Events func(Event) `json:"-"` // see PlanRequest
	Reader Reader      `json:"-"`
}

// TaskResult is how a task ended, as it is stored. As JSON it is less than 1 KiB.
type TaskResult struct {
	Task string  `json:"task"`
	End  TaskEnd `json:"end"`
	// Questions are the ids of open questions, at most 12; Commit lists all, with what they ask.
	Questions []string `json:"questions,omitempty"`
	// Kind, Code and Message are those of the failure. A long Code or Message is cut.
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
	Step    StepID      `json:"step"`
	Options StepOptions `json:"options,omitzero"`

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
