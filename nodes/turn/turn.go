package turn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/state/agent"
)

// Config is what an agent's turns are made of. Each function may be nil: then a rule stands in for
// it, which needs no model. They are called by several turns at once. An error of theirs says with
// [agent.Failed] what it calls for; others are judged by [agent.SeverityOf].
type Config struct {
	// Manager reads and writes the state; Types are what it needs most. Without a Clock it has
	// time.Now.
	Manager agent.Manager
	// Capabilities are what the agent can do; nil is nothing but talk.
	Capabilities *capabilities.Registry

	// Extract makes the task of the conversation; nil takes the user's last message.
	Extract func(context.Context, ExtractRequest) (Task, error)
	// Match says whether the task wants a capability; nil wants all. It is called for several
	// capabilities at once, as many as the settings allow. A failure counts as no.
	Match func(context.Context, MatchRequest) (bool, error)
	// Plan makes a plan; nil is [Chain].
	Plan func(context.Context, PlanRequest) (agent.Plan, error)
	// Answer says what the user is told in the end; nil lists what was found. Where it fails
	// the user is told so.
	Answer func(context.Context, AnswerRequest) (string, error)
	// Clarify makes questions back to the user; nil asks what is meant.
	Clarify func(context.Context, AnswerRequest) (Clarification, error)
	// Explain adds to the report of a failure; nil adds nothing. It has ExplainWithin for it.
	Explain func(context.Context, Report) (string, error)

	// Sources are asked at the beginning of a turn, all at once and for SourcesWithin; 0 is
	// 30 seconds. What has come by then is used.
	Sources       []Source
	SourcesWithin time.Duration

	// Retry is how often a node that is not a capability is tried, by its name; those that are not in it
	// have their own defaults.
	Retry map[string]agent.RetryPolicy
	// OnRejectedPlan is what a no to a plan does, where planning mode shows plans: the zero value ends
	// the turn with an explanation, SkipStep answers without a plan.
	OnRejectedPlan capabilities.Rejection
	// ApprovalWithin is how long a decision is waited for; after it nobody's decision is a no. 0 is for ever.
	ApprovalWithin time.Duration
	// ExplainWithin bounds Explain, for which no limit of the turn holds; 0 is 30 seconds.
	ExplainWithin time.Duration
}

// Turn holds the nodes of an agent's turns. Each is a method on a view of the state, to be wired by [Add]
// or by hand. It is safe for concurrent use.
type Turn struct {
	cfg Config
	m   agent.Manager
	reg *capabilities.Registry
}

// ToRouter is the name of the router's node; the names of the others are those of package agent, beginning
// with To.
const ToRouter = "router"

// Names are the names of the nodes that are not capabilities; no capability may have one of them.
func Names() []string { return append(inner(), terminals()...) }

// inner are the nodes that a plan must not name, and terminals those that end a turn.
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
	errs = append(errs, cfg.Capabilities.Validate(cfg.Manager.Types, Names()...))
	for name, d := range map[string]time.Duration{"SourcesWithin": cfg.SourcesWithin, "ApprovalWithin": cfg.ApprovalWithin, "ExplainWithin": cfg.ExplainWithin} {
		if d < 0 {
			fail("%s is %v, less than nothing", name, d)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Retry)) {
		if p := cfg.Retry[name]; !slices.Contains(Names(), name) {
			fail("Retry names %q, which is no node; they are %v", name, Names())
		} else if p.Attempts < 0 || !(p.Delay >= 0) || !(p.Backoff >= 0) {
			fail("the retry policy of %q is negative: %+v", name, p)
		}
	}
	for i, s := range cfg.Sources {
		if s.Name == "" || s.Retrieve == nil {
			fail("source %d has no name or no function", i+1)
		}
	}
	if !slices.Contains([]capabilities.Rejection{capabilities.FailStep, capabilities.SkipStep, capabilities.Replan, capabilities.EndTurn}, cfg.OnRejectedPlan) {
		fail("OnRejectedPlan is %q, which does not exist", cfg.OnRejectedPlan)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Turn{withRules(cfg), withClock(cfg.Manager), cfg.Capabilities}, nil
}

func withClock(m agent.Manager) agent.Manager {
	if m.Clock == nil {
		m.Clock = time.Now
	}
	return m
}

// Manager returns the manager that the nodes use.
func (t *Turn) Manager() agent.Manager { return t.m }

// known reports whether a turn can go to a node of this name.
func (t *Turn) known(name string) bool {
	_, ok := t.reg.Get(name)
	return ok || slices.Contains(Names(), name)
}

// retries are the policies of the nodes that are not capabilities.
var retries = map[string]agent.RetryPolicy{
	agent.ToExtraction:   {Attempts: 3, Delay: 1, Backoff: 1.5},
	agent.ToClassifier:   {Attempts: 4, Delay: 1, Backoff: 1.8},
	agent.ToOrchestrator: {Attempts: 4, Delay: 2, Backoff: 2},
	agent.ToRespond:      {Attempts: 2, Delay: 1},
	agent.ToClarify:      {Attempts: 2, Delay: 1},
}

func (t *Turn) retry(node string) agent.RetryPolicy {
	if p, ok := t.cfg.Retry[node]; ok {
		return p
	}
	return retries[node]
}
