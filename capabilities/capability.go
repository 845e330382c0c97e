package capabilities

import (
	"context"
	"encoding/json"

	"github.com/weftrun/weft/state/agent"
)

// Capability is one thing an agent can do. It must be safe for concurrent use. It may also be
// a [Classifier].
type Capability interface {
	// Info describes the capability; it returns the same each time.
	Info() Info
	// Run does it: it reads its inputs from c and stores what it finds with [Call.Store]. What
	// it wrote to c lands only when it returns nil. It returns the error of [Call.Approve] as it is.
	Run(ctx context.Context, c *Call) error
}

// Classifier is a capability that says what its failures call for. The failures of others are
// [agent.Critical], unless [agent.SeverityOf] knows better.
type Classifier interface {
	Capability
	// ClassifyError returns the severity and what a person is told; "" is the error's own text.
	ClassifyError(err error, c *Call) (severity agent.Severity, userMessage string)
}

// Info is what a registry, a planner and the runtime need to know of a capability.
type Info struct {
	// Name is unique in a registry.
	Name string
	// Description says, to a person or a model, what it is good for.
	Description string
	// Requires are the types of context that the inputs of its step must have: all of
	// them, or at least one where Constraint is agent.Soft.
	Requires   []string
	Constraint agent.Mode // "" is agent.Hard
	// Provides are the types of context of which it stores at least one entry each, and
	// no others.
	Provides []string
	// Retry says how often it is tried when it fails with agent.Retriable; the zero policy is DefaultRetry.
	Retry agent.RetryPolicy
	// Parameters is the JSON Schema of the parameters of its step: what a person who is to approve them may edit them
	// into. nil goes by the parameters that there are; Tool fills it in.
	Parameters json.RawMessage
	// Approval says what of it a person must approve; OnReject what happens when one says no.
	Approval Approval
	OnReject Rejection
	// AlwaysActive ones are offered in every turn, without classification.
	AlwaysActive bool
	// Optional ones are left out where they are broken, with a warning; others fail the registry.
	Optional bool
	// Plan and Match are for models: how to plan with it, and when it is wanted. Without
	// them a planner guesses and a classifier passes it over; the registry warns.
	Plan  *PlanGuide
	Match *MatchGuide
}

// DefaultRetry is the retry policy of a capability that names none.
var DefaultRetry = agent.RetryPolicy{Attempts: 3, Delay: 0.5, Backoff: 1.5}

func (i Info) retry() agent.RetryPolicy {
	if i.Retry == (agent.RetryPolicy{}) {
		return DefaultRetry
	}
	return i.Retry
}

func (i Info) constraint() agent.Mode {
	if i.Constraint == "" {
		return agent.Hard
	}
	return i.Constraint
}

// PlanGuide tells a planner how to use a capability.
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

// MatchGuide tells a classifier when a capability is wanted.
type MatchGuide struct {
	Instructions string
	Examples     []MatchExample
}

// MatchExample is one question of a user, and whether it wants the capability.
type MatchExample struct {
	Query  string
	Wanted bool
	Reason string
}

// Func makes a Capability of a function.
func Func(info Info, run func(ctx context.Context, c *Call) error) Capability {
	return function{info, run}
}

type function struct {
	info Info
	run  func(context.Context, *Call) error
}

func (f function) Info() Info { return f.info }

func (f function) Run(ctx context.Context, c *Call) error { return f.run(ctx, c) }

// broken says that there is no function.
func (f function) broken() bool { return f.run == nil }
