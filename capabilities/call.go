package capabilities

import (
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
)

// Call is one call of a capability, with what it reads from and writes to. It is for one goroutine.
type Call struct {
	// Manager reads and writes State.
	Manager agent.StateManager
	// State is the capability's own view of the state.
	State *agent.State
	// Step is the step of the plan to run.
	Step agent.Step
	// Attempt counts the attempts at the step, from 1; 0 if attempts are not counted.
	Attempt int
	// Decisions are the decisions of people so far, by the ID of the request: see [ApprovalNeeded].
	// Each counts for one request. Args is the approved data; nil is the data of the request.
	Decisions map[string]graph.Decision

	contexts *agent.Contexts
	info     Info
	asked    []string // the requests of this run: see [Call.number]
}

// Contexts returns typed access to the contexts: agent.Input[T](c.Contexts(), c.Step).
func (c *Call) Contexts() *agent.Contexts {
	if c.contexts == nil {
		c.contexts = c.Manager.LoadContexts(c.State)
	}
	return c.contexts
}

// Store stores v under the context key of the step.
func (c *Call) Store(v agent.Context) error { return c.Contexts().Store(c.Step, v) }
