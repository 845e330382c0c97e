package temporal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

var (
	// ErrConfig is returned by NewWorker and NewClient for a setting that is missing or invalid.
	ErrConfig = errors.New("temporal: invalid configuration")
	// ErrNotDeployed is the error of an activity on a worker that does not have the graph, or not
	// the program of it that is needed. Temporal tries again, on any worker.
	ErrNotDeployed = errors.New("graph not deployed here")
	// ErrOptions is returned for a run with options that do not reach the workers. It names them.
	ErrOptions = errors.New("temporal: the options of the run do not reach the workers")
	// ErrEnded is returned by Wait when the workflow of the run was terminated, or ended without
	// a result. The thread is as its last commit left it, and Resume goes on.
	ErrEnded = errors.New("temporal: the workflow has ended without a result of the run")
	// ErrStores is returned by Wait when the worker does not know a thread that the client has
	// stored: they use different stores.
	ErrStores = errors.New("temporal: the worker uses another store than the client: it does not know the thread that the client has stored; give both the same store")
	// ErrSuperseded is returned by Wait when another run has taken the thread over. It is a
	// checkpoint.ErrFenced.
	ErrSuperseded = fmt.Errorf("temporal: another run has taken the thread over: %w", checkpoint.ErrFenced)
)

// sentinels are the errors that keep their identity on their way from a worker to a client, by
// their codes.
var sentinels = map[string]error{
	"steps": graph.ErrSteps, "fan_out": graph.ErrFanOut, "state_size": graph.ErrStateSize, "depth": graph.ErrDepth,
	"timeout": graph.ErrTimeout, "moved": graph.ErrMoved, "run": graph.ErrRun, "stale": graph.ErrStale,
	"waiting": graph.ErrWaiting, "unknown_question": graph.ErrUnknownQuestion, "ambiguous": graph.ErrAmbiguous,
	"answer": graph.ErrAnswer, "expired": graph.ErrExpired, "declined": graph.ErrDeclined,
	"unknown_thread": graph.ErrUnknownThread, "no_store": graph.ErrNoStore, "program": graph.ErrProgram,
	"target": graph.ErrTarget, "conflict": graph.ErrConflict, "abandoned": graph.ErrAbandoned, "edit": graph.ErrEdit,
	"no_parent": graph.ErrNoParent, "shared": graph.ErrShared, "policy": graph.ErrPolicy,
	"cancelled": context.Canceled, "deadline": context.DeadlineExceeded,
	"fenced": checkpoint.ErrFenced, "lease_lost": checkpoint.ErrLeaseLost, "store_conflict": checkpoint.ErrConflict,
	"too_large": checkpoint.ErrTooLarge, "superseded": ErrSuperseded, "options": ErrOptions,
}

// failure is why a run has failed, as it travels. The whole of it is in the store.
type failure struct {
	Message string   `json:"message"` // cut
	Codes   []string `json:"codes,omitempty"`
	// Node is set where a node has failed.
	Node *nodeFailure `json:"node,omitempty"`
}

// nodeFailure is a *graph.NodeError as it travels.
type nodeFailure struct {
	Node      string `json:"node,omitempty"`
	Task      string `json:"task,omitempty"`
	Step      int    `json:"step,omitempty"`
	Attempt   int    `json:"attempt,omitempty"`
	Cancelled bool   `json:"cancelled,omitempty"`
	Message   string `json:"message,omitempty"` // cut
	Kind      string `json:"kind,omitempty"`
	Code      string `json:"code,omitempty"`
}

// longest bounds the texts of a failure, in bytes.
const longest = 240

func cut(text string) string {
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// failureOf returns the form of an error that travels.
func failureOf(err error) *failure {
	f := &failure{Message: cut(err.Error())}
	for code, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			f.Codes = append(f.Codes, code)
		}
	}
	slices.Sort(f.Codes)
	var at *graph.NodeError
	if errors.As(err, &at) {
		n := &nodeFailure{Node: at.Node, Task: at.Task, Step: at.Step, Attempt: at.Attempt, Cancelled: at.Cancelled, Kind: at.Kind(), Code: cut(at.Code())}
		if at.Err != nil {
			n.Message = cut(at.Err.Error())
		}
		f.Node = n
	}
	return f
}

// supersede makes it the failure of a run whose thread another run has taken over.
func (f *failure) supersede() {
	for _, code := range []string{"fenced", "superseded"} { // older clients know both
		if !slices.Contains(f.Codes, code) {
			f.Codes = append(f.Codes, code)
		}
	}
	slices.Sort(f.Codes)
}

// error returns the error of a run on a thread. stored are the failures that the thread's newest
// commit has; the one of the node has the whole text.
func (f *failure) error(g, thread string, stored []graph.Failure) error {
	re := &remoteError{message: f.Message}
	for _, code := range f.Codes {
		if err := sentinels[code]; err != nil {
			re.is = append(re.is, err)
		}
	}
	if f.Node == nil {
		return re
	}
	cause := graph.Failure{Node: f.Node.Node, Attempt: f.Node.Attempt, Message: f.Node.Message, Kind: f.Node.Kind, Code: f.Node.Code, Cancelled: f.Node.Cancelled}
	for _, s := range stored {
		if s.Node == cause.Node && strings.HasPrefix(s.Message, strings.TrimSuffix(cause.Message, "…")) {
			cause = s
			break
		}
	}
	return &graph.NodeError{Graph: g, Thread: thread, Node: f.Node.Node, Task: f.Node.Task, Step: f.Node.Step,
		Attempt: f.Node.Attempt, Cancelled: f.Node.Cancelled, Err: &causeError{&graph.StoredError{Failure: cause}, re.is}}
}

// remoteError is the error of a run on another machine.
type remoteError struct {
	message string
	is      []error
}

func (e *remoteError) Error() string   { return e.message }
func (e *remoteError) Unwrap() []error { return e.is }

// causeError is the stored failure of a node, with the identity of its causes.
type causeError struct {
	*graph.StoredError
	is []error
}

func (e *causeError) Unwrap() []error { return append([]error{e.StoredError}, e.is...) }
