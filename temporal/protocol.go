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

// Mode is how much of a run one activity runs.
type Mode string

const (
	// Segments, the default, runs up to the next question, limit or end in one activity.
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
	Run       string       `json:"run,omitempty"` // the run under way, or the last one
	Status    graph.Status `json:"status"`
	Steps     int          `json:"steps,omitempty"`     // of the run
	Questions []question   `json:"questions,omitempty"` // that are open, at most 50
}

// mostQuestions limits the open questions that a workflow stores. If it has that many, it accepts
// answers with any id.
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

// turnInput is the argument of the workflow. It and the types below hold ids and no state, except
// for the values of an AnswerRequest and an EditRequest, which a planRequest and an editRequest
// pass on.
type turnInput struct {
	Graph  string        `json:"graph"`
	Thread string        `json:"thread"`
	Mode   Mode          `json:"mode,omitempty"`
	Wait   time.Duration `json:"wait,omitempty"`
	// Heartbeat bounds the time of an activity between two heartbeats, and Longest its whole time.
	Heartbeat time.Duration `json:"heartbeat,omitempty"`
	Longest   time.Duration `json:"longest,omitempty"`
	Search    bool          `json:"search,omitempty"` // set search attributes
	By        string        `json:"owner,omitempty"`  // the value of OwnerAttribute

	// These are set by ContinueAsNew: the run under way, the request to stop it, the end of the
	// last run, and the runs that follow.
	Now  *job       `json:"now,omitempty"`
	Stop *stopReply `json:"stop,omitempty"`
	Last *end       `json:"last,omitempty"`
	Next []job      `json:"next,omitempty"`
	// Driven counts the steps of the stretch of Now that is driven. Early is, by run, what those
	// that have not come are asked for. Until is when a turn that waits ends.
	Driven int                  `json:"driven,omitempty"`
	Early  map[string]stopReply `json:"early,omitempty"`
	Until  time.Time            `json:"until,omitzero"`
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
	// Steps counts the steps that are done.
	Steps      int              `json:"steps,omitempty"`
	Durability graph.Durability `json:"durability,omitempty"`
	// Driven counts the times that the run was driven task by task. Planned is true while it is.
	Driven  int  `json:"driven,omitempty"`
	Planned bool `json:"planned,omitempty"`
}

// stepRef is a graph.StepID without the thread, with short names in JSON.
type stepRef struct {
	Run string `json:"r"`
	// Fence is "" if it is the graph.LeaseID of the run, and noFence if there is no lease.
	Fence      string `json:"f,omitempty"`
	Checkpoint uint64 `json:"c,omitempty"`
	Program    string `json:"p,omitempty"`
	First      int    `json:"s,omitempty"`
	MaxSteps   int    `json:"m,omitempty"`
	Drains     bool   `json:"d,omitempty"`
	TTL        int64  `json:"l,omitempty"` // milliseconds
	// Options is true if the run has stored options: see the type options.
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
	// Moved is true if the run goes on, and the caller needs another update to wait for its end.
	Moved bool `json:"moved,omitempty"`
}

// segmentRequest asks for a run up to the next question, limit or end.
type segmentRequest struct {
	Graph string `json:"g"`
	Job   job    `json:"j"`
}

// segmentResult is how a segment ended: with the End of the run or with the Plan of a step that is
// to be driven. With neither, the run goes on in another segment.
type segmentResult struct {
	End   *end  `json:"end,omitempty"`
	Plan  *plan `json:"plan,omitempty"`
	Steps int   `json:"steps,omitempty"`
}

// planRequest asks for the step that is due. Answers, if there are any, are stored first.
type planRequest struct {
	Graph   string         `json:"g"`
	Step    stepRef        `json:"s"`
	Turn    int            `json:"n,omitempty"` // of the run, which must not go on in a later one; 0 is any
	Answers *graph.Answers `json:"a,omitempty"`
	By      string         `json:"by,omitempty"`
}

// plan is a graph.Plan as a workflow needs it.
type plan struct {
	Step   stepRef `json:"s"`
	Turn   int     `json:"n,omitempty"`
	Number int     `json:"i,omitempty"` // the number of the step in the thread
	Steps  int     `json:"k,omitempty"` // the steps that the run has taken
	Done   int     `json:"d,omitempty"` // the steps that the run has committed, where there is an End
	Tasks  []tasks `json:"t,omitempty"` // the tasks that are to be run
	End    *end    `json:"end,omitempty"`
	// Elsewhere is true if a task of the step names its queue, or is a child. It may have ended.
	Elsewhere bool `json:"e,omitempty"`
	// Slow is true if a commit took so long that the next one must not be a local activity.
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
	Thread string  `json:"t,omitempty"` // "" is that of the workflow; set in the request of a child
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

// taskActivityID returns the id of the activity for a task. n differs each time that the step of
// the task is begun.
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

// shortGraph returns the Graph of a taskRequest: "" if it can be read from the workflow's id.
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
	// Failure is why the call has failed, and would fail again. It ends the run.
	Failure *failure `json:"failure,omitempty"`
}

// commitRequest asks for a commit, or for the release of the lease.
type commitRequest struct {
	Graph string  `json:"g"`
	Step  stepRef `json:"s"`
	// End is true if the release ends the run.
	End bool `json:"end,omitempty"`
}

// editRequest asks for an edit of the thread.
type editRequest struct {
	Graph  string          `json:"g"`
	Run    string          `json:"r,omitempty"` // whose lease may be taken over
	Fields json.RawMessage `json:"fields"`
	By     string          `json:"by,omitempty"`
}

// editResult is the result of an edit: its commit, or why it failed.
type editResult struct {
	Checkpoint uint64   `json:"checkpoint,omitempty"`
	Failure    *failure `json:"failure,omitempty"`
}

// stopKind is how a segment that is asked to stop does so.
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
	// Superseded is true if another run has taken the thread over.
	Superseded bool `json:"superseded,omitempty"`
}
