package wire

import (
	"encoding/json"
	"time"
)

// Event is one record of a thread's event log. It does not depend on a protocol: what a client gets
// is made of it when it is read, by a [Classic] or a [Protocol].
type Event struct {
	// Seq is the position in the thread's log, from 1. The log sets it.
	Seq uint64 `json:"seq,omitempty"`
	Run string `json:"run"` // the id of the run
	// N is the id of the first classic event that the record can give. A record takes as many ids
	// as its Kind can give events, so ids of one run increase and have gaps.
	N uint64 `json:"n"`
	// D is the id of the first of the events that the record gives to a stream with the modes of
	// the run, and M is how many it gives: these ids have no gaps.
	D uint64 `json:"d,omitempty"`
	M uint64 `json:"m,omitempty"`
	// Cut is true if D and M are not known, since the log does not have all records before.
	Cut bool `json:"cut,omitempty"`
	// More is how many ids the record takes beyond those of its Kind.
	More uint64 `json:"more,omitempty"`
	At   int64  `json:"at"` // milliseconds since 1970
	// NS is the namespace on the wire, as NamespaceToWire returns it; "" is the root.
	NS   string          `json:"ns,omitempty"`
	Node string          `json:"node,omitempty"`
	Kind Kind            `json:"kind"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Time returns the time of the event.
func (e Event) Time() time.Time { return time.UnixMilli(e.At).UTC() }

// Kind is what an event reports, and determines the type of its Data.
type Kind string

const (
	KindRun      Kind = "run"      // RunStart: an attempt of the run begins
	KindEnd      Kind = "end"      // RunEnd: the run has ended; always the last of an attempt
	KindGraph    Kind = "graph"    // GraphStatus: the graph of a namespace began or ended
	KindTask     Kind = "task"     // TaskStart: a task starts
	KindResult   Kind = "result"   // TaskResult: a task has finished, failed or asked
	KindAsked    Kind = "asked"    // Asked: one question is open, or the run pauses at a breakpoint
	KindAnswered Kind = "answered" // Answered: a question was closed
	KindState    Kind = "state"    // StateAt: a commit, with the state
	KindValues   Kind = "values"   // Values: the state without a commit, as a resume begins with it
	KindPause    Kind = "pause"    // Pause: the run pauses for the open questions
	KindToken    Kind = "token"    // Token: a piece of the output of a model
	KindCustom   Kind = "custom"   // what a node emitted, as it is
	KindTool     Kind = "tool"     // ToolEvent: a tool was called or has returned
)

// widths are how many ids a record of a kind takes: as many as the classic events that it can give,
// in all modes together.
var widths = map[Kind]uint64{
	KindRun: 2, KindEnd: 3, KindTask: 3, KindResult: 9, KindAsked: 2, KindState: 5, KindValues: 2, KindPause: 1, KindToken: 6,
	KindCustom: 1, KindTool: 2,
}

// NextDense returns the D of the record of a run that follows e.
func (e Event) NextDense() uint64 { return e.D + e.M }

// Next returns the N of the record of a run that follows e.
func (e Event) Next() uint64 { return e.N + max(1, widths[e.Kind]) + e.More }

// RunStart is the Data of a KindRun.
type RunStart struct {
	Run       string `json:"run,omitempty"` // the id of the run
	Attempt   int    `json:"attempt"`       // from 1
	Thread    string `json:"thread"`
	Graph     string `json:"graph"`     // the id of the graph
	Assistant string `json:"assistant"` // the id of the assistant
	// Modes and Subgraphs are those of the stream that the run was created for.
	Modes     []string `json:"modes,omitempty"`
	Subgraphs bool     `json:"subgraphs,omitempty"`
	// Tags and Metadata are those of the run's configuration.
	Tags     []string `json:"tags,omitempty"`
	Metadata Object   `json:"metadata,omitempty"`
}

// RunEnd is the Data of a KindEnd.
type RunEnd struct {
	Status RunStatus `json:"status"`
	// Graph is the id of the run's graph. The Recorder sets it.
	Graph string `json:"graph,omitempty"`
	// Waiting is true if the run waits for answers or at a breakpoint.
	Waiting bool      `json:"waiting,omitempty"`
	Error   *RunError `json:"error,omitempty"`
	// Handed is true if another attempt follows: the process is draining, or has lost its lease.
	Handed bool `json:"handed,omitempty"`
}

// GraphPhase is where the run of a graph is.
type GraphPhase string

const (
	GraphStarted     GraphPhase = "started"
	GraphCompleted   GraphPhase = "completed"
	GraphFailed      GraphPhase = "failed"
	GraphInterrupted GraphPhase = "interrupted"
)

// GraphStatus is the Data of a KindGraph: a subgraph began or ended. The namespace of the event is
// that of the subgraph.
type GraphStatus struct {
	Phase GraphPhase `json:"phase"`
	Name  string     `json:"name"`            // of the graph
	Error string     `json:"error,omitempty"` // the text of the failure
}

// TaskStart is the Data of a KindTask.
type TaskStart struct {
	ID   string `json:"id"`
	Step int    `json:"step"`
	// Input is the payload of a Send. nil means that the input is the state.
	Input json.RawMessage `json:"input,omitempty"`
	Send  bool            `json:"send,omitempty"`
	Index int             `json:"index,omitempty"` // among the Sends of the step, if it is known
}

// TaskResult is the Data of a KindResult.
type TaskResult struct {
	ID   string `json:"id"`
	Step int    `json:"step"`
	// Result is what the task wrote, by field; of a list what was added.
	Result json.RawMessage `json:"result,omitempty"`
	// Messages names the fields of Result that are lists of messages.
	Messages []string `json:"messages,omitempty"`
	// Cached is true if the task was not run again: it finished in an earlier run, or its result
	// comes from a cache.
	Cached     bool        `json:"cached,omitempty"`
	Error      *RunError   `json:"error,omitempty"`
	Interrupts []Interrupt `json:"interrupts,omitempty"`
}

// Asked is the Data of a KindAsked.
type Asked struct {
	Task string `json:"task"`
	// NS is the namespace, on the wire, of the graph that asks.
	NS string `json:"ns,omitempty"`
	// Interrupt is the question; nil at a breakpoint.
	Interrupt *Interrupt `json:"interrupt,omitempty"`
}

// Answered is the Data of a KindAnswered.
type Answered struct {
	ID string `json:"id"` // of the question
}

// StateAt is the Data of a KindState: a checkpoint with its state.
type StateAt struct {
	Checkpoint string          `json:"checkpoint"`       // its id
	Parent     string          `json:"parent,omitempty"` // the id of the one before it
	Step       int             `json:"step"`
	Source     string          `json:"source"`
	Phase      int             `json:"phase"` // see CheckpointID
	Metadata   Object          `json:"metadata"`
	Next       []string        `json:"next"`
	Tasks      []ThreadTask    `json:"tasks"`
	Values     json.RawMessage `json:"values"`
	Messages   []string        `json:"messages,omitempty"` // names of the fields that are messages
	CreatedAt  Time            `json:"created_at"`
	// Quiet is true if the values were recorded before.
	Quiet bool `json:"quiet,omitempty"`
}

// Values is the Data of a KindValues.
type Values struct {
	Values   json.RawMessage `json:"values"`
	Messages []string        `json:"messages,omitempty"`
}

// Pause is the Data of a KindPause.
type Pause struct {
	Values     json.RawMessage `json:"values"`
	Interrupts []Interrupt     `json:"interrupts"` // of all tasks and subgraphs, in canonical order
}

// Token is the Data of a KindToken: a piece of the output of a model.
type Token struct {
	ID    string `json:"id"`             // of the message
	Role  string `json:"role,omitempty"` // as on the wire, such as "ai"
	Task  string `json:"task,omitempty"`
	Step  int    `json:"step"`
	Index int    `json:"index"` // counts the tokens of the message, from 0
	// Text and Reasoning are what the message grows by.
	Text      string     `json:"text,omitempty"`
	Reasoning string     `json:"reasoning,omitempty"`
	Call      *CallPiece `json:"call,omitempty"`
	Usage     *Usage     `json:"usage,omitempty"`
	// Final is true when the message is complete. Whole is then its text, unless it was sent.
	Final    bool              `json:"final,omitempty"`
	Whole    string            `json:"whole,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// CallPiece is a piece of a tool call.
type CallPiece struct {
	Index int    `json:"index"` // among the calls of the message
	ID    string `json:"id,omitempty"`
	Name  string `json:"name,omitempty"`
	Args  string `json:"args,omitempty"` // what the arguments grow by
}

// Usage is how many tokens a model has read and written.
type Usage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

// ToolPhase is what a ToolEvent reports.
type ToolPhase string

const (
	ToolStarted  ToolPhase = "started"
	ToolDelta    ToolPhase = "delta"
	ToolFinished ToolPhase = "finished"
	ToolFailed   ToolPhase = "failed"
)

// ToolEvent is the Data of a KindTool. A node that runs tools by itself emits it with graph.Emit.
type ToolEvent struct {
	Phase  ToolPhase       `json:"phase"`
	CallID string          `json:"call_id"`
	Name   string          `json:"name,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`  // of started: the arguments
	Delta  string          `json:"delta,omitempty"`  // of delta: a piece of the output
	Output json.RawMessage `json:"output,omitempty"` // of finished: the tool message
	Error  string          `json:"error,omitempty"`  // of failed
}
