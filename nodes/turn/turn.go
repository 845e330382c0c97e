package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
)

// Config configures the turns of an agent. Each function may be nil; its default is a rule that
// needs no model. Several turns may call a function at the same time. An error returned by a
// function has the severity set with [agent.Failed], or else that of [agent.SeverityOf].
type Config struct {
	// Manager reads and writes the state, and must have Types. A nil Clock is time.Now.
	Manager agent.StateManager
	// Capabilities are what the agent can do. An agent with nil can only talk.
	Capabilities *capabilities.Registry

	// Extract returns the task of a conversation; nil returns the user's last message.
	Extract func(context.Context, ExtractRequest) (Task, error)
	// Match reports whether a task needs a capability; nil always returns true. It is called for
	// several capabilities at once, as many as the settings allow. A failure counts as false.
	Match func(context.Context, MatchRequest) (bool, error)
	// Plan makes a plan; nil is [Chain].
	Plan func(context.Context, PlanRequest) (agent.Plan, error)
	// Answer returns the answer for the user; nil lists what was found. When it fails, the turn
	// ends with an apology and what was found.
	Answer func(context.Context, AnswerRequest) (string, error)
	// Clarify returns questions to the user; nil asks what the task means.
	Clarify func(context.Context, AnswerRequest) (Clarification, error)
	// Explain returns text to add to the report of a failure; nil adds nothing. ExplainWithin
	// limits its time.
	Explain func(context.Context, Report) (string, error)

	// Sources are called at the beginning of a turn, all at once and for at most SourcesWithin; 0
	// is 30 seconds. Results that arrive later are dropped.
	Sources       []Source
	SourcesWithin time.Duration

	// Work does the work of a turn in place of extraction, classification, plans and capabilities.
	// A turn then has the nodes router, work and error. nil is a plan of Capabilities.
	Work Work

	// Services are what the application stores about its threads; nil is nothing.
	Services *Services

	// Retry has the retry policies of nodes that are not capabilities, by name. Nodes that are not
	// in it have defaults of their own. A MaxAfter of 0 means an hour.
	Retry map[string]graph.Retry
	// OnRejectedPlan is what happens when a person rejects a plan in planning mode. The zero value
	// ends the turn with an explanation; SkipStep answers without a plan.
	OnRejectedPlan capabilities.Rejection
	// ApprovalWithin limits the wait for a decision. When it passes, the request is rejected. 0 is
	// no limit.
	ApprovalWithin time.Duration
	// ExplainWithin limits the time of Explain, to which the limit of the turn does not apply; 0 is
	// 30 seconds.
	ExplainWithin time.Duration
}

// Turn holds the nodes of an agent's turns, as methods on a view of the state. [Add] connects them
// in a graph. It is safe for concurrent use.
type Turn struct {
	cfg Config
	m   agent.StateManager
	reg *capabilities.Registry
}

// ToRouter is the name of the router's node. Package agent has the names of the others, which begin
// with To.
const ToRouter = "router"

// NodeNames returns the names of the nodes that are not capabilities. No capability may have one of
// them.
func NodeNames() []string { return append(inner(), terminals()...) }

// inner returns the nodes that a plan must not name, and terminals those that end a turn.
func inner() []string {
	return []string{ToRouter, agent.ToExtraction, agent.ToClassifier, agent.ToOrchestrator, agent.ToApproval, agent.ToError}
}

func terminals() []string { return []string{agent.ToRespond, agent.ToClarify} }

// New returns the nodes, or an error that joins every mistake in the configuration.
func New(cfg Config) (*Turn, error) {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf("turn: "+format, args...)) }
	if cfg.Capabilities == nil {
		cfg.Capabilities, _ = capabilities.NewRegistry()
	}
	errs = append(errs, cfg.Capabilities.Validate(cfg.Manager.Types, NodeNames()...))
	for name, d := range map[string]time.Duration{"SourcesWithin": cfg.SourcesWithin, "ApprovalWithin": cfg.ApprovalWithin, "ExplainWithin": cfg.ExplainWithin} {
		if d < 0 {
			fail("%s must not be negative (got %v)", name, d)
		}
	}
	names := NodeNames()
	if cfg.Work != nil {
		names = []string{ToWork}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Retry)) {
		if err := cfg.Retry[name].Check(); !slices.Contains(names, name) {
			fail("Retry must name one of the nodes %v (got %q)", names, name)
		} else if err != nil {
			fail("the retry policy of %q: %w", name, err)
		}
	}
	if cfg.Work != nil && len(cfg.Capabilities.Names()) > 0 {
		fail("Work is in place of Capabilities: one of them must be nil")
	}
	for i, s := range cfg.Sources {
		if s.Name == "" || s.Retrieve == nil {
			fail("source %d must have a name and a function", i+1)
		}
	}
	if !slices.Contains([]capabilities.Rejection{capabilities.FailStep, capabilities.SkipStep, capabilities.Replan, capabilities.EndTurn}, cfg.OnRejectedPlan) {
		fail("OnRejectedPlan must be a capabilities.Rejection (got %q)", cfg.OnRejectedPlan)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Turn{withRules(cfg), withClock(cfg.Manager), cfg.Capabilities}, nil
}

func withClock(m agent.StateManager) agent.StateManager {
	if m.Clock == nil {
		m.Clock = time.Now
	}
	return m
}

// Manager returns the manager that the nodes use.
func (t *Turn) Manager() agent.StateManager { return t.m }

// known reports whether the router can go to a node of this name.
func (t *Turn) known(name string) bool {
	_, ok := t.reg.Get(name)
	return ok || slices.Contains(NodeNames(), name) || t.cfg.Work != nil && name == ToWork
}

// retries are the policies of the nodes that are not capabilities.
var retries = map[string]graph.Retry{
	agent.ToExtraction:   {Attempts: 3, Initial: time.Second, Multiplier: 1.5},
	agent.ToClassifier:   {Attempts: 4, Initial: time.Second, Multiplier: 1.8},
	agent.ToOrchestrator: {Attempts: 4, Initial: 2 * time.Second},
	agent.ToRespond:      {Attempts: 2, Initial: time.Second},
	agent.ToClarify:      {Attempts: 2, Initial: time.Second},
}

func (t *Turn) retry(node string) graph.Retry {
	p, ok := t.cfg.Retry[node]
	if !ok {
		p = retries[node]
	}
	p.MaxAfter = cmp.Or(p.MaxAfter, time.Hour)
	return p
}
