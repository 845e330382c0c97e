package graph

import "context"

// Observer watches runs from inside, for traces and metrics: see Config.Observer. Its methods are
// called on the goroutines of the run, several at once, and must not block. Module otel has one.
type Observer interface {
	// Begin is called before an activity begins. The activity, and all activities in it, get the
	// context that Begin returns, which must be derived from ctx. end is called once, when the
	// activity has ended; nil is for an observer that does not care.
	Begin(ctx context.Context, a Activity) (inner context.Context, end func(Outcome))
	// Carrier returns what a thread keeps of a run, for the run that goes on with it, maybe in
	// another process: such as a W3C trace context. ctx is that of the run. It is stored with the
	// commits and pauses of the run, encrypted if they are; nil keeps nothing.
	Carrier(ctx context.Context) map[string]string
}

// ActivityKind is a part of a run.
type ActivityKind string

// The kinds. Each happens inside the one before it, but a store call is part of its run.
const (
	RunActivity     ActivityKind = "run"     // one call of the API, or the run of a subgraph in a node
	StepActivity    ActivityKind = "step"    // a superstep, with its commit
	TaskActivity    ActivityKind = "task"    // a task with all its attempts and its handler
	AttemptActivity ActivityKind = "attempt" // one call of a node or of its handler
	ToolActivity    ActivityKind = "tool"    // a call of a tool in a node
	StoreActivity   ActivityKind = "store"   // a call of the store
)

// Activity is a part of a run that begins.
type Activity struct {
	Kind ActivityKind
	// Name is what a run does: invoke, resume, call for a subgraph, plan, run task, commit. Of a
	// store it is the call: load, commit, put, history, acquire, prune. Of a tool it is the name.
	Name string
	// Graph, Thread, Namespace and Run are where it happens: see [Event] and [Result].
	Graph, Thread, Namespace, Run string
	Turn, Step                    int    // 0 before a run has read its thread
	Node, Task                    string // of a task, and what is in it
	Label                         string // of the task of a Send: see Event.Label
	Attempt                       int    // of an attempt, from 1; a handler counts its own
	Handling                      bool   // the attempt is one of the handler
	Call                          string // the id of the call of a tool
}

// Outcome is how an activity has ended.
type Outcome struct {
	// Err is why it failed. A question, and a drain, is no failure.
	Err error
	// Status is that of a run. A step that ends the run has its Status too.
	Status Status
	// Phase is how a task has ended: Finished, Failing, Asking or Draining.
	Phase Phase
	// Interrupts are what a run or task waits for.
	Interrupts []Interrupt
	// Steps counts the steps of a run.
	Steps int
	// Cached is true for a task whose result comes from the cache.
	Cached bool
	// Before is, for a run at the root, the Carrier of the run that the thread was left by; nil if
	// the thread has none.
	Before map[string]string
}

func noOutcome(Outcome) {}

// begin calls Begin of an observer.
func begin(o Observer, ctx context.Context, a Activity) (context.Context, func(Outcome)) {
	inner, end := o.Begin(ctx, a)
	if inner == nil {
		inner = ctx
	}
	if end == nil {
		end = noOutcome
	}
	return inner, end
}
