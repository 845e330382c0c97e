package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/schedule"
	"github.com/weftrun/weft/internal/step"
	"github.com/weftrun/weft/internal/stream"
	"github.com/weftrun/weft/state"
)

// task is one run of a node in one superstep. It is also the context that the node gets, so that a
// step costs no allocation; [taskOf] finds it again. A task that was looked for in a context is not
// used for another step: the node may have retained the context.
//
// Only the goroutine that runs the node touches a task while it runs, except for what mu guards:
// the attempt, the id and the label. The id is that of the place at which the task began, also when
// it is asked for after the run has gone on. A task whose node did not return is given up: a
// new one takes its place, so late writes land nowhere.
type task struct {
	context.Context // the run's

	run     *run
	node    *node
	turn    int
	step    int
	index   int // among the step's Sends; -1 for an edge-triggered task
	payload any
	view    state.View

	attempt
	ending
	routed *routing         // where the run goes after it; nil for along the edges of its node
	permit *schedule.Permit // of the goroutine that runs it
	found  atomic.Pointer[nodeScope]

	mu       sync.Mutex
	storedID string // the id, once it was asked for

	running  *running // where it is listed; nil where nothing gives it up
	*listing          // its place there
}

// nodeScope is the scope of a task's node, with what the node's code does through its context. Most
// nodes do nothing with it, so it is made when the task is first looked for in a context.
type nodeScope struct {
	scope                               // its mu guards what is not atomic
	consulted bool                      // what the task does may depend on an answer
	relabel   string                    // what the task's events show in place of its payload; "" is the payload
	restarts  int                       // how often the node ran again
	memo      atomic.Pointer[memo]      // what the node's code keeps; nil until it does
	subgraphs atomic.Pointer[subgraphs] // what its subgraphs have left to do; nil for nothing

	// These are set before the node runs; only its own goroutine changes them afterwards.
	back  *rewound    // nil unless the task resumes a subgraph at an older commit
	timed []Interrupt // what was asked before this call of the run and expires
	tried []Failure   // the alternatives of a Fallback that have failed
}

// scope returns the scope of the node.
func (t *task) scope() *nodeScope {
	if s := t.found.Load(); s != nil {
		return s
	}
	t.found.CompareAndSwap(nil, &nodeScope{scope: scope{task: t}})
	return t.found.Load()
}

// isFound reports whether the task was looked for in a context.
func (t *task) isFound() bool { return t.found.Load() != nil }

// memo returns the memo journal of t; nil if there is none.
func (t *task) memo() *memo {
	if s := t.found.Load(); s != nil {
		return s.memo.Load()
	}
	return nil
}

// called returns what t knows of its subgraphs; nil for nothing.
func (t *task) called() *subgraphs {
	if s := t.found.Load(); s != nil {
		return s.subgraphs.Load()
	}
	return nil
}

// rewound returns what t needs to go back; nil if it does not.
func (t *task) rewound() *rewound {
	if s := t.found.Load(); s != nil {
		return s.back
	}
	return nil
}

// route returns where the run goes after t, to add to it.
func (t *task) route() *routing {
	if t.routed == nil {
		t.routed = &routing{program: t.run.program, hasParent: t.run.inside != nil, out: step.Outcome{Node: t.node.outcome.Node}}
	}
	return t.routed
}

// outcome returns what t leads to.
func (t *task) outcome() *step.Outcome {
	if t.routed == nil {
		return &t.node.outcome
	}
	return &t.routed.out
}

// parentCommand returns the Command for the parent with which the run is to end, or nil.
func (t *task) parentCommand() *parentCommand {
	if t.routed == nil {
		return nil
	}
	return t.routed.toParent
}

// Value makes the task findable in every context derived from it.
func (t *task) Value(key any) any {
	s := t.scope()
	if key == (scopeKey{}) {
		return &s.scope
	}
	return t.Context.Value(key)
}

// taskOf returns the task that ctx belongs to, or nil.
func taskOf(ctx context.Context) *task {
	s := scopeOf(ctx)
	if s == nil {
		return nil
	}
	return s.task
}

// id returns the task's id: a hash of thread, namespace, turn, step, node and place
// among Sends. The turn counts because a turn that was given up leaves its step behind.
func (t *task) id() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.idLocked()
}

// idLocked is id for a caller that holds mu.
func (t *task) idLocked() string {
	if t.storedID == "" {
		t.storedID = t.run.taskID(t.turn, t.step, t.node.name, t.index)
	}
	return t.storedID
}

// begin makes t a fresh task.
func (t *task) begin(n *node, index int, payload any) {
	t.node, t.job, t.turn, t.step, t.index = n, &n.job, t.run.turn, t.run.step, index
	if t.routed != nil {
		t.routed.out.Node = n.outcome.Node
	}
	t.number, t.settled, t.within, t.cached, t.waits = 0, false, 0, false, false
	if t.permit != t.run.permit {
		t.permit = t.run.permit
	}
	if t.running != t.run.running {
		t.run.running.list(t)
	}
	if t.activity == nil && n.watchesIdle() {
		t.activity = new(schedule.Activity)
	}
	if t.payload != nil || payload != nil {
		t.payload = payload
	}
	if t.dirty() {
		t.err, t.open, t.storedID, t.failure = nil, nil, "", nil
	}
	t.reset()
}

// dirty reports whether an earlier step left what most steps do not leave: looking is
// cheaper than writing. What only a task has that was found is not there: it is not used
// again.
func (t *task) dirty() bool {
	return t.err != nil || t.open != nil || t.storedID != "" || t.failure != nil
}

// reset drops what an attempt left: its writes, Commands and questions. The id, the payload, the
// results of Once and Call, the commits of its subgraphs and the times at which its questions
// expire stay.
func (t *task) reset() {
	t.run.schema.Assign(t.view, t.run.state)
	if t.routed != nil {
		t.routed.clear()
	}
	if s := t.found.Load(); s != nil {
		s.reopen()
	}
}

// nextAttempt makes t ready for its next attempt.
func (t *task) nextAttempt() {
	t.mu.Lock()
	t.number++
	t.mu.Unlock()
	t.err = nil
	t.reset()
}

// isGivenUp reports whether the task, or the run that it is part of, was given up.
func (t *task) isGivenUp() bool { return t.givenUp.Load() || t.run.isGivenUp() }

// root returns the task of the graph at the root that t runs in: t itself, or one around it.
func (t *task) root() *task {
	for t.run.inside != nil {
		t = t.run.inside
	}
	return t
}

// position returns where the graph at the root is while t runs.
func (t *task) position() checkpoint.Position {
	t = t.root()
	return checkpoint.Position{Branch: t.run.branch, Turn: t.run.turn, Step: t.step}
}

// waiting returns the open questions of t, also those of its subgraphs if it failed.
func (t *task) waiting() []Interrupt {
	if t.err == nil {
		return t.open
	}
	return slices.Concat(t.open, t.called().questions())
}

// reopen makes s ready for its node to run again.
func (s *nodeScope) reopen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarts++
	s.over, s.asked, s.places, s.works, s.part, s.relabel, s.tried = false, keyUses{}, nil, nil, "", "", nil
	s.subgraphs.Load().setQuestions(nil)
	s.back.restart()
}

// dependsOnAnswers reports whether t, or a subgraph in it, asked anything.
func (t *task) dependsOnAnswers() bool {
	s := t.scope()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.consulted || len(t.open) > 0
}

// consult notes that t, and the tasks around it, may depend on an answer.
func (t *task) consult() {
	for ; t != nil; t = t.run.inside {
		s := t.scope()
		s.mu.Lock()
		s.consulted = true
		s.mu.Unlock()
	}
}

// emit sends an event of the node to the readers. It is a sign of life.
func (t *task) emit(ctx context.Context, ev Event) error {
	switch {
	case t.run.session.events == nil:
		t.alive()
		return nil
	case t.isGivenUp():
		return ErrTimeout
	case !t.run.session.events.wants(t.run, ev.Mode):
		t.alive()
		return nil
	}
	t.addWaits(1) // while a reader is slow, the node is not idle
	defer t.addWaits(-1)
	t.mu.Lock()
	if ev.Task != "" {
		ev.ParentTask = t.idLocked()
	}
	ev.Namespace, ev.Step, ev.Node, ev.Task = t.run.ns(), t.step, t.node.name, cmp.Or(ev.Task, t.idLocked())
	t.mu.Unlock()
	return t.run.session.events.Send(ctx, t.run.ctx, stream.Class(ev.Mode), t.run.depth, ev)
}

// label returns a short text of the payload of a Send.
func (t *task) label() string {
	if t.index < 0 {
		return ""
	}
	if s := t.found.Load(); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.relabel != "" {
			return s.relabel
		}
	}
	label, err := labelOf(t.payload)
	if err != nil {
		return fmt.Sprint(t.index)
	}
	return label
}

// fail wraps err with the place of the task.
func (t *task) fail(err error) error { return t.placed(err) }

func (t *task) placed(err error) *NodeError {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &NodeError{Graph: t.run.name, Thread: t.run.opts.Thread, Node: t.node.name, Task: t.idLocked(),
		Step: t.step, Attempt: t.number, Payload: t.payload, Err: err}
}

// failed is fail for what an attempt returned. What failed after the run's context had ended is
// a consequence, whatever its error is.
func (t *task) failed(err error) error {
	if t.consequence {
		err = withCause(t.run.ctx, err)
	} else if t.failure != nil {
		err = fmt.Errorf("%w; its handler failed: %w", t.failure.Err, err)
	}
	e := t.placed(err)
	e.Cancelled = t.consequence && t.run.wasCancelled()
	return e
}

// endedBy makes err the failure of t, whose attempt did not return it.
func (t *task) endedBy(err error) {
	t.consequence = t.consequence || t.run.ctx.Err() != nil
	t.err = t.failed(err)
}

// cutOff makes the failure of t a consequence of the end of the run's context: another attempt
// or the handler was to follow.
func (t *task) cutOff() {
	err := t.err
	if e := (*NodeError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	t.consequence = true
	t.err = t.failed(err)
}

// noteEnd notes whether the node, which returned err, failed after the run's context had ended.
func (t *task) noteEnd(err error) {
	if err != nil && t.run.ctx.Err() != nil {
		t.consequence = true
	}
}
