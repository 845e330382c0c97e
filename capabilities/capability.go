package capabilities

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
)

// Capability is something an agent can do. It must be safe for concurrent use. It may also be a
// [Classifier].
type Capability interface {
	// Info describes the capability; it returns the same each time.
	Info() Info
	// Run runs the capability. It reads its inputs from c and stores its results with [Call.Store].
	// Changes to c apply only when it returns nil. It must return the error of [Call.Approve]
	// unchanged.
	Run(ctx context.Context, c *Call) error
}

// Classifier is a capability that classifies its failures. A failure of any other capability is
// [agent.Critical], unless [agent.SeverityOf] returns another severity.
type Classifier interface {
	Capability
	// ClassifyError returns the severity and the message for the user; "" is the error's own text.
	ClassifyError(err error, c *Call) (severity agent.Severity, userMessage string)
}

// Info describes a capability for a registry, a planner and the runtime.
type Info struct {
	// Name is unique in a registry.
	Name string
	// Description describes, for a person or a model, what the capability is good for.
	Description string
	// Requires are the types of context that the inputs of its step must have: all of them, or at
	// least one if Constraint is agent.Soft.
	Requires   []string
	Constraint agent.Mode // "" is agent.Hard
	// Provides are the types of context that it stores. It must store at least one entry of each,
	// and no others.
	Provides []string
	// Retry is the policy for failures that are agent.Retriable. Without Attempts it is
	// DefaultRetry. A MaxAfter of 0 means an hour. Jitter and Budget have no effect.
	Retry graph.Retry
	// Parameters is the JSON Schema of the parameters of its step, which a person's edit must
	// match. If it is nil, an edit must have the types of the parameters. Tool sets it.
	Parameters json.RawMessage
	// Approval is what a person must approve, and OnReject is what happens on a rejection.
	Approval Approval
	// ApproveIf decides about the approval by the settings, in place of Approval. It returns
	// whether a person must approve and the reason. The global modes of approval still apply.
	ApproveIf func(agent.Settings) (needs bool, reason string)
	OnReject  Rejection
	// AlwaysActive capabilities are offered in every turn, without classification.
	AlwaysActive bool
	// Optional capabilities are left out with a warning if they are broken. Others fail the
	// registry.
	Optional bool
	// Plan and Match are for models: how to plan with the capability, and when it is needed.
	// Without Plan a planner has to guess, and without Match a classifier skips it. The registry
	// warns about both.
	Plan  *PlanGuide
	Match *MatchGuide
}

// DefaultRetry is the retry policy of a capability without one.
var DefaultRetry = graph.Retry{Attempts: 3, Initial: 500 * time.Millisecond, Multiplier: 1.5, MaxAfter: time.Hour}

func (i Info) retry() graph.Retry {
	p := i.Retry
	if p.Attempts == 0 {
		p = DefaultRetry
	}
	p.MaxAfter = cmp.Or(p.MaxAfter, DefaultRetry.MaxAfter)
	return p
}

func (i Info) constraint() agent.Mode {
	if i.Constraint == "" {
		return agent.Hard
	}
	return i.Constraint
}

// PlanGuide describes to a planner how to use a capability.
type PlanGuide struct {
	Instructions string
	Examples     []PlanExample
	Priority     int // lower comes earlier in the prompt
}

// PlanExample is one step as it should be planned.
type PlanExample struct {
	Step     agent.Step
	Scenario string
	Notes    string
}

// MatchGuide describes to a classifier when a capability is needed.
type MatchGuide struct {
	Instructions string
	Examples     []MatchExample
}

// MatchExample is one question of a user, and whether it needs the capability.
type MatchExample struct {
	Query  string
	Wanted bool
	Reason string
}

// Func returns a Capability that calls a function.
func Func(info Info, run func(ctx context.Context, c *Call) error) Capability {
	return function{info, run}
}

type function struct {
	info Info
	run  func(context.Context, *Call) error
}

func (f function) Info() Info { return f.info }

func (f function) Run(ctx context.Context, c *Call) error { return f.run(ctx, c) }

// broken returns an error if there is no function.
func (f function) broken() bool { return f.run == nil }
