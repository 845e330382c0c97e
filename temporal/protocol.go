package temporal

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/weftrun/weft/graph"
)

// The names that a Temporal client in any language uses.
const (
	// TurnWorkflow is the type of the workflow that runs a turn of a thread.
	TurnWorkflow = "weft.Turn"
	// ChildWorkflow is the type of the workflow of a task whose node's Policy is Child.
	ChildWorkflow = "weft.Child"
	// AnswerUpdate answers a question of a turn that waits: see [AnswerRequest].
	AnswerUpdate = "answer"
	// EditUpdate writes fields of the thread between two steps: see [EditRequest].
	EditUpdate = "edit"
	// DrainSignal stops the run after the step: see [StopRequest].
	DrainSignal = "drain"
	// CancelSignal stops the run at once: see [StopRequest].
	CancelSignal = "cancel"
	// StatusQuery returns a [TurnStatus].
	StatusQuery = "status"

	runUpdate   = "run"
	awaitUpdate = "await"
	stopQuery   = "stop"

	segmentActivity = "weft.Segment"
	planActivity    = "weft.Plan"
	taskActivity    = "weft.Task"
	commitActivity  = "weft.Commit"
	releaseActivity = "weft.Release"
	editActivity    = "weft.Edit"
	forgetActivity  = "weft.Forget"
)

// Mode is what an activity is.
type Mode string

const (
	// Segments is the default: an activity is a run up to the next question, limit or end.
	Segments Mode = "segment"
	// Nodes makes each task an activity.
	Nodes Mode = "node"
)

// AnswerRequest is the argument of [AnswerUpdate]. It is refused unless the question is open and
// the value has its type.
type AnswerRequest struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value"`
	By    string          `json:"by,omitempty"` // see graph.RunOptions.By
}

// EditRequest is the argument of [EditUpdate]. It is refused unless Fields is an object. A run that
// is under way stops after its step for it, and goes on.
type EditRequest struct {
	Fields json.RawMessage `json:"fields"` // as for graph.Untyped.Patch
	By     string          `json:"by,omitempty"`
}

// StopRequest is the argument of [DrainSignal] and [CancelSignal].
type StopRequest struct {
	Run    string `json:"run,omitempty"` // the id of the run; "" means the one under way
	Reason string `json:"reason,omitempty"`
}

// TurnStatus is the result of [StatusQuery].
type TurnStatus struct {
	Graph     string       `json:"graph"`
	Thread    string       `json:"thread"`
	Run       string       `json:"run,omitempty"` // under way, or the last
	Status    graph.Status `json:"status"`
	Steps     int          `json:"steps,omitempty"`     // of the run
	Questions []question   `json:"questions,omitempty"` // that are open, at most 50
}

// mostQuestions is how many questions a turn knows by their ids.
const mostQuestions = 50

// question is an open question as a workflow knows it.
type question struct {
	ID   string `json:"id"`
	Type string `json:"type,omitempty"` // the type of the answer in JSON Schema; "" means any
}

// pause is a static interrupt at which a run has stopped.
type pause struct {
	Kind      string `json:"kind"`
	Namespace string `json:"ns,omitempty"`
	Node      string `json:"node"`
	Task      string `json:"task,omitempty"`
}

// turnInput is the argument of the workflow. It and everything below holds ids and no state.
type turnInput struct {
	Graph  string        `json:"graph"`
	Thread string        `json:"thread"`
	Mode   Mode          `json:"mode,omitempty"`
	Wait   time.Duration `json:"wait,omitempty"`
	// Heartbeat and Longest bound activities: the time without a sign of life, and in all.
	Heartbeat time.Duration `json:"heartbeat,omitempty"`
	Longest   time.Duration `json:"longest,omitempty"`
	Search    bool          `json:"search,omitempty"` // set search attributes
	By        string        `json:"owner,omitempty"`

	// What goes on after ContinueAsNew: the run under way and what it is asked for, the last one,
	// and those that follow.
	Now  *job       `json:"now,omitempty"`
	Stop *stopReply `json:"stop,omitempty"`
	Last *end       `json:"last,omitempty"`
	Next []job      `json:"next,omitempty"`
}

// workflowID returns the id of the workflow of a thread.
func workflowID(g, thread string) string { return g + "/" + thread }

// threadOf returns the thread of a workflow.
func threadOf(id, g string) string { return strings.TrimPrefix(id, g+"/") }

// job is a run that a turn is asked for.
type job struct {
	Step stepRef `json:"step"`
	Turn int     `json:"turn,omitempty"`
	// Attempt counts the activities that have worked on the run.
	Attempt int `json:"attempt,omitempty"`
	// Steps are those that are done.
	Steps      int              `json:"steps,omitempty"`
	Durability graph.Durability `json:"durability,omitempty"`
	// Driven counts the times that the run was driven task by task, and Planned is true while it is.
	Driven  int  `json:"driven,omitempty"`
	Planned bool `json:"planned,omitempty"`
}

// stepRef is a graph.StepID without the thread, in short.
type stepRef struct {
	Run string `json:"r"`
	// Fence is "" for the lease of the run, and noFence for none.
	Fence      string `json:"f,omitempty"`
	Checkpoint uint64 `json:"c,omitempty"`
	Program    string `json:"p,omitempty"`
	First      int    `json:"s,omitempty"`
	MaxSteps   int    `json:"m,omitempty"`
	Drains     bool   `json:"d,omitempty"`
	TTL        int64  `json:"l,omitempty"` // milliseconds
	// Options is true where the run has stored options: see options.
	Options bool `json:"o,omitempty"`
}

// noFence is the fence of a step without a lease.
const noFence = "-"

func refOf(id graph.StepID) stepRef {
	r := stepRef{Run: id.Run, Fence: id.Fence, Checkpoint: id.Checkpoint, Program: id.Program, First: id.First,
		MaxSteps: id.MaxSteps, Drains: id.Drains, TTL: id.TTL.Milliseconds()}
	switch id.Fence {
	case graph.LeaseID(id.Thread, id.Run):
		r.Fence = ""
	case "":
		r.Fence = noFence
	}
	return r
}

func (r stepRef) step(thread string) graph.StepID {
	id := graph.StepID{Thread: thread, Run: r.Run, Fence: r.Fence, Checkpoint: r.Checkpoint, Program: r.Program,
		First: r.First, MaxSteps: r.MaxSteps, Drains: r.Drains, TTL: time.Duration(r.TTL) * time.Millisecond}
	switch r.Fence {
	case "":
		id.Fence = graph.LeaseID(thread, r.Run)
	case noFence:
		id.Fence = ""
	}
	return id
}

// end is how a run ended.
type end struct {
	Run        string       `json:"run"`
	Status     graph.Status `json:"status"`
	Checkpoint uint64       `json:"checkpoint,omitempty"`
	Steps      int          `json:"steps,omitempty"`
	Starved    []string     `json:"starved,omitempty"`
	Drained    string       `json:"drained,omitempty"`
	Questions  []question   `json:"questions,omitempty"`
	Pauses     []pause      `json:"pauses,omitempty"` // static interrupts, which no store lists
	Failure    *failure     `json:"failure,omitempty"`
	// Moved is true where the run goes on and the update that waited for it has to be sent again.
	Moved bool `json:"moved,omitempty"`
}

// segmentRequest asks for a run up to the next question, limit or end.
type segmentRequest struct {
	Graph string `json:"g"`
	Job   job    `json:"j"`
}

// segmentResult is what a segment has come to: an end, a step that is to be driven, or neither,
// where the run is to go on elsewhere.
type segmentResult struct {
	End   *end  `json:"end,omitempty"`
	Plan  *plan `json:"plan,omitempty"`
	Steps int   `json:"steps,omitempty"`
}

// planRequest asks for the step that is due. With answers it stores them.
type planRequest struct {
	Graph   string         `json:"g"`
	Step    stepRef        `json:"s"`
	Answers *graph.Answers `json:"a,omitempty"`
	By      string         `json:"by,omitempty"`
}

// plan is a graph.Plan as a workflow needs it.
type plan struct {
	Step   stepRef `json:"s"`
	Turn   int     `json:"n,omitempty"`
	Number int     `json:"i,omitempty"` // of the step in the thread
	Steps  int     `json:"k,omitempty"` // that the run has taken
	Tasks  []tasks `json:"t,omitempty"` // that are to be run
	End    *end    `json:"end,omitempty"`
	// Slow is true where a commit took so long that the next one is no local activity.
	Slow bool `json:"slow,omitempty"`
}

// tasks are the due tasks of a node.
type tasks struct {
	Node     string        `json:"node"`
	Queue    string        `json:"queue,omitempty"`
	Child    bool          `json:"child,omitempty"`
	Parallel int           `json:"parallel,omitempty"`
	Longest  time.Duration `json:"longest,omitempty"` // all attempts together; 0 is no bound
	IDs      []string      `json:"ids"`
}

// taskRequest asks for a task. The id of the activity names it: see taskActivityID.
type taskRequest struct {
	Graph  string  `json:"g,omitempty"` // "" is the part of the workflow's id before its only slash
	Thread string  `json:"t,omitempty"` // "" is that of the workflow; a child has it
	Step   stepRef `json:"s"`
}

// childInput is the argument of ChildWorkflow.
type childInput struct {
	Task  string      `json:"task"` // the id of the activity
	Node  string      `json:"node"`
	Queue string      `json:"queue,omitempty"`
	Do    taskRequest `json:"do"`
	// Heartbeat and Longest are those of the activity.
	Heartbeat time.Duration `json:"heartbeat,omitempty"`
	Longest   time.Duration `json:"longest,omitempty"`
}

// taskActivityID returns the id of the activity for a task. n counts the times that its step was
// begun.
func taskActivityID(step int, task string, n int) string {
	return fmt.Sprintf("%d/%s/%d", step, task, n)
}

// taskOf returns the task of an activity.
func taskOf(id string) string {
	parts := strings.Split(id, "/")
	if len(parts) != 3 {
		return ""
	}
	return parts[1]
}

// shortGraph returns the name of a graph for a taskRequest.
func shortGraph(g, thread string) string {
	if strings.Contains(g, "/") || strings.Contains(thread, "/") {
		return g
	}
	return ""
}

// taskResult is how a task ended.
type taskResult struct {
	End   graph.TaskEnd `json:"e"`
	Stale bool          `json:"stale,omitempty"` // the step is not due any more
}

// commitRequest asks for a commit, or for the release of the lease.
type commitRequest struct {
	Graph string  `json:"g"`
	Step  stepRef `json:"s"`
	// End is true where a Release ends the run.
	End bool `json:"end,omitempty"`
}

// editRequest asks for an edit of the thread.
type editRequest struct {
	Graph  string          `json:"g"`
	Run    string          `json:"r,omitempty"` // whose lease may be taken over
	Fields json.RawMessage `json:"fields"`
	By     string          `json:"by,omitempty"`
}

// editResult is what became of an edit.
type editResult struct {
	Checkpoint uint64   `json:"checkpoint,omitempty"`
	Failure    *failure `json:"failure,omitempty"`
}

// stopKind is what a segment that was cancelled is to do.
type stopKind string

const (
	stopCancel stopKind = "cancel" // stop at once; the run ends
	stopDrain  stopKind = "drain"  // stop after the step; the run ends
	stopEdit   stopKind = "edit"   // stop after the step; the run goes on after an edit
)

// stopReply is the result of stopQuery.
type stopReply struct {
	Kind   stopKind `json:"kind,omitempty"`
	Reason string   `json:"reason,omitempty"`
}
