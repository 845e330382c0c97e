package graph

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrSteps is returned when a run took more supersteps than Config.MaxSteps.
	// The thread stays resumable.
	ErrSteps = errors.New("graph: the step limit is reached")
	// ErrFanOut is returned when a superstep has more tasks than Config.MaxTasks.
	ErrFanOut = errors.New("graph: too many tasks in one step")
	// ErrStateSize is returned when the state is larger than Config.MaxState. What made it
	// so is not stored; the thread is as it was before the step.
	ErrStateSize = errors.New("graph: the state is too large")
	// ErrDepth is returned when a thousand graphs are inside one another: a graph calls itself
	// without an end.
	ErrDepth = errors.New("graph: too many graphs inside one another")
	// ErrTimeout is returned when a node or a run took longer than it may.
	ErrTimeout = errors.New("graph: out of time")
	// ErrInterrupted is returned by Ask when the question is open. A node passes it
	// on; the runtime turns it into a pause.
	ErrInterrupted = errors.New("graph: waiting for an answer")
	// ErrMoved is returned when the newest commit of a thread is not RunOptions.If. Nothing has
	// run, and nothing was written.
	ErrMoved = errors.New("graph: the thread has moved on")
	// ErrDetached is a cause with which a context may end whose caller leaves the run to others: a
	// run on an engine, see RemoteHandle, goes on. One in this process is cancelled.
	ErrDetached = errors.New("graph: the caller no longer waits for the run")
	// ErrRun is returned by Plan for a run id that is malformed, or that was used with another
	// input.
	ErrRun = errors.New("graph: the run id cannot be used")
	// ErrStale is returned by RunTask and Commit when the step is not the one that is due: it was
	// committed, or the store has lost what came before it. Plan returns the step that is due.
	ErrStale = errors.New("graph: the step is not due")
	// ErrUnknownTask is returned by RunTask for a task that is not one of the step.
	ErrUnknownTask = errors.New("graph: no such task in the step")
	// ErrUnfinished is returned by Commit when tasks of the step have not ended. errors.As with
	// *UnfinishedError gives their ids.
	ErrUnfinished = errors.New("graph: tasks of the step have not ended")
	// ErrWaiting is returned when a new input arrives for a thread that has open
	// questions. The thread is unchanged.
	ErrWaiting = errors.New("graph: the thread waits for an answer")
	// ErrUnknownQuestion is returned when an answer names no open question. The
	// thread is unchanged.
	ErrUnknownQuestion = errors.New("graph: no such open question")
	// ErrSigner is returned when the key of WithSigner is not valid.
	ErrSigner = errors.New("graph: the key of a signer must have 64 bytes")
	// ErrNotVerified is the kind of Verification.Err: the history of a thread is not what was
	// stored, or a decision does not prove who made it.
	ErrNotVerified = errors.New("graph: the thread is not verified")
	// ErrBy is returned when RunOptions.By, RunOptions.Via or the name in an answer is not one
	// short line of text, or has control characters or marks of direction.
	ErrBy = errors.New("graph: By and Via must be one line of short text")
	// ErrAmbiguous is returned when one answer is given without an id and several
	// questions are open. The thread is unchanged.
	ErrAmbiguous = errors.New("graph: several questions are open; answer by id")
	// ErrAnswer is returned when an answer does not fit the question's schema. The
	// question stays open.
	ErrAnswer = errors.New("graph: the answer does not fit the question")
	// ErrQuestion is returned by Ask for a question that cannot be asked.
	ErrQuestion = errors.New("graph: the question is invalid")
	// ErrExpired is returned by Ask when no answer came in time, and by Resume when an
	// answer comes too late. The thread is unchanged by such an answer.
	ErrExpired = errors.New("graph: the question has expired")
	// ErrDeclined is returned by Ask when the question was closed without an answer.
	ErrDeclined = errors.New("graph: the question was declined")
	// ErrUnknownThread is returned when there is nothing to resume or read: no thread of
	// this name, or not the commit or namespace that was asked for.
	ErrUnknownThread = errors.New("graph: no such thread")
	// ErrNotCompiled is returned by the zero Graph, and by the zero Handle, which is a run of it:
	// [Builder.Compile] makes graphs.
	ErrNotCompiled = errors.New("graph: the graph was not compiled")
	// ErrNoStore is returned when a call needs a Store and the graph has none.
	ErrNoStore = errors.New("graph: the graph was compiled without a Store")
	// ErrNoCache is returned when a call needs a Cache and the graph has none.
	ErrNoCache = errors.New("graph: the graph was compiled without a Cache")
	// ErrProgram is returned when a thread cannot go on with this graph, because
	// what it waits for is no longer there. The thread is unchanged.
	ErrProgram = errors.New("graph: the thread belongs to another version of the graph")
	// ErrPinned is returned when a thread is pinned to another program. errors.As with
	// *PinnedError gives both programs. The thread is unchanged; see [Pin].
	ErrPinned = errors.New("graph: the thread is pinned to another program")
	// ErrTarget is returned when a Command goes where the node did not declare, or nowhere
	// though no edge leads on.
	ErrTarget = errors.New("graph: undeclared target")
	// ErrConflict is returned when two tasks of one step wrote what only one may
	// write.
	ErrConflict = errors.New("graph: conflicting writes")
	// ErrAbandoned is returned when what was cancelled, a run, an attempt of a node or a
	// Call, did not end in time. The error of a run names the nodes that have not returned,
	// or reports that it was the store or a function of a Policy.
	ErrAbandoned = errors.New("graph: not stopped in time")
	// ErrEdit is returned when an edit by hand makes no sense. The thread is as it was
	// before the edit.
	ErrEdit = errors.New("graph: bad edit")
	// ErrNoParent is returned when a Command goes to the parent of a graph that has none.
	ErrNoParent = errors.New("graph: there is no parent graph")
	// ErrToParent is returned by a child graph that has ended with a Command for its parent. A
	// node passes it on; the runtime applies the Command.
	ErrToParent = errors.New("graph: the child has ended with a command for its parent")
	// ErrShared is returned when two tasks of one step, or two calls at once, use one
	// child graph that lives as long as the thread. See [PerThread].
	ErrShared = errors.New("graph: a child graph of the thread is in use")
	// ErrPolicy is returned by a call with an invalid Policy.
	ErrPolicy = errors.New("graph: invalid policy")
	// ErrReplay is returned in a Replay by Once and Call for a result that was not recorded.
	ErrReplay = errors.New("graph: it was not recorded")
	// ErrNoTask is returned by functions that need the context of a running node.
	ErrNoTask = errors.New("graph: the context does not belong to a running node")
)

// CompileError holds every mistake in a graph's definition.
type CompileError struct {
	Graph    string
	Mistakes []Mistake
}

// Mistake is one thing that is wrong with a definition.
type Mistake struct {
	Pos  string // file:line of the call that made it
	What string
	Kind MistakeKind
}

// MistakeKind distinguishes mistakes of a single call from those of the whole graph.
type MistakeKind string

const (
	MistakeInCall      MistakeKind = ""            // a call cannot be as it is
	MistakeUnreachable MistakeKind = "unreachable" // no path from Start leads to a node
	MistakeDeadEnd     MistakeKind = "dead end"    // no path from a node leads to End
)

func (m Mistake) String() string { return m.Pos + ": " + m.What }

func (e *CompileError) Error() string {
	lines := make([]string, len(e.Mistakes))
	for i, m := range e.Mistakes {
		lines[i] = "\n\t" + m.String()
	}
	return fmt.Sprintf("graph %q does not compile:%s", e.Graph, strings.Join(lines, ""))
}

// NodeError names the node that failed, and where.
type NodeError struct {
	Graph   string
	Thread  string // "" without a thread
	Node    string // "" for an edit that is no node's
	Task    string // the task's id
	Step    int
	Attempt int // from 1
	Payload any // of the Send, for a Worker
	// Cancelled is true when the node did not fail by itself: the run was cancelled, or
	// another task failed.
	Cancelled bool
	Err       error
}

func (e *NodeError) Error() string {
	at := fmt.Sprintf("graph %q: node %q: step %d", e.Graph, e.Node, e.Step)
	if e.Node == "" { // by hand, as no node
		at = fmt.Sprintf("graph %q: an edit: step %d", e.Graph, e.Step)
	}
	if e.Thread != "" {
		at += fmt.Sprintf(": thread %q", e.Thread)
	}
	if e.Attempt > 1 {
		at += fmt.Sprintf(": attempt %d", e.Attempt)
	}
	if e.Err == nil {
		return at
	}
	return at + ": " + textOf(e.Err)
}

func (e *NodeError) Unwrap() error { return e.Err }

// PanicError is the error of a node that panicked.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value of the panic if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
