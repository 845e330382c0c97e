package capabilities

import "github.com/weftrun/weft/state/agent"

// Call is one call of a capability: what it reads from and writes to. It is for one goroutine.
type Call struct {
	// Manager reads and writes State.
	Manager agent.Manager
	// State is a view of the capability's own.
	State *agent.State
	// Step is what it is to do.
	Step agent.Step
	// Attempt counts the attempts at the step, from 1; 0 where nobody counts them.
	Attempt int
	// Decisions are what people decided so far; each counts for one request.
	Decisions []Decision

	contexts *agent.Contexts
	info     Info
	asked    []string // the requests of this run: see [Call.number]
}

// Contexts returns typed access to what is known: agent.Input[T](c.Contexts(), c.Step).
func (c *Call) Contexts() *agent.Contexts {
	if c.contexts == nil {
		c.contexts = c.Manager.Contexts(c.State)
	}
	return c.contexts
}

// Store keeps v under the context key of the step.
func (c *Call) Store(v agent.Context) error { return c.Contexts().Store(c.Step, v) }

// Decision is what a person decided about one request.
type Decision struct {
	ID       string // of the request: see [ApprovalNeeded]
	Approved bool
	Data     []byte // what was approved, as JSON, perhaps edited; nil is what was asked about
	Feedback string // why not, for whom it may help
}
