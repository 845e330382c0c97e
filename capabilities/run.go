package capabilities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
)

// Run runs a capability and enforces what it declared: its inputs, then its approval, then its
// results. Changes apply to c.State only on success. An [*ApprovalNeeded] asks for a decision and
// is not a failure. Other errors name the capability. Run does not recover panics.
func (r *Registry) Run(ctx context.Context, name string, c Call) error {
	cp, ok := r.byName[name]
	if !ok {
		return fmt.Errorf("%w: %q; there are %s", ErrUnknown, name, list(r.order))
	}
	info := cp.Info()
	if err := inputs(info, &c); err != nil {
		return fmt.Errorf("%w: %q: %w", ErrRequires, name, err)
	}
	view := *c.State
	own := Call{Manager: c.Manager, State: &view, Step: c.Step, Attempt: c.Attempt, Decisions: c.Decisions, info: info}
	own.Step.Capability = name
	if needs, why := NeedsApproval(info, c.Manager.Settings(c.State)); needs {
		if err := own.permit(why); err != nil {
			return err
		}
	}
	err := cp.Run(ctx, &own)
	var needed *ApprovalNeeded
	switch {
	case errors.As(err, &needed):
		return needed
	case err != nil:
		return fmt.Errorf("capability %q: %w", name, err)
	}
	if err := provides(info, view.Context, c.State.Context); err != nil {
		return err
	}
	*c.State = view
	return nil
}

func inputs(i Info, c *Call) error {
	_, err := c.Contexts().Extract(c.Step, i.constraint(), i.Requires...)
	return err
}

// provides compares what was stored with what was declared.
func provides(i Info, now, before state.ContextData) error {
	var errs []error
	put, deleted := now.Changed(before)
	stored := map[string]bool{}
	for _, ref := range put {
		stored[ref.Type] = true
	}
	for _, t := range i.Provides {
		if !stored[t] {
			errs = append(errs, fmt.Errorf("%w: %q stored no %q", ErrProvides, i.Name, t))
		}
	}
	for _, ref := range slices.Concat(put, deleted) {
		if !slices.Contains(i.Provides, ref.Type) {
			errs = append(errs, fmt.Errorf("%w: %q wrote %s", ErrProvides, i.Name, ref))
		}
	}
	return errors.Join(errs...)
}

// Step runs the capability of the current step and stores its result. A node that hosts
// capabilities calls it and little else. A failure is written to s, where the router finds it, and
// is not returned. Step returns an [*ApprovalNeeded], for which a person must be asked; a failure
// that is [agent.Fatal]; an error if there is no step; and the error of ctx.
func (r *Registry) Step(ctx context.Context, m agent.StateManager, s *agent.State, decided map[string]graph.Decision) error {
	i := s.Planning.CurrentStepIndex.Get()
	if err := r.StepAt(ctx, m, s, i, decided); err != nil {
		return err
	}
	s.Execution.RunningSteps.Set([]int{i})
	m.Steps(s).Settle()
	return nil
}

// StepAt is Step for step i of the plan, one of several that run in parallel. It writes only the
// step's result and what the capability writes. [agent.Steps.Settle] applies the rest.
func (r *Registry) StepAt(ctx context.Context, m agent.StateManager, s *agent.State, i int, decided map[string]graph.Decision) error {
	step, err := s.Planning.Step(i)
	if err != nil {
		return err
	}
	m.Display(s).Status(agent.StatusUpdate{Message: "Executing " + step.Capability + "…", Progress: 0.1, Node: step.Capability})
	begin := clock(m)
	c := Call{Manager: m, State: s, Step: step, Attempt: m.Steps(s).Result(i).Attempts + 1, Decisions: decided}
	err = r.Run(ctx, step.Capability, c)
	result := agent.StepResult{Success: err == nil, Seconds: clock(m).Sub(begin).Seconds()}
	var needed *ApprovalNeeded
	switch {
	case errors.As(err, &needed):
		return needed
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		if err := r.failed(m, s, &c, err, &result); err != nil {
			return err
		}
	}
	return m.Steps(s).Record(i, result)
}

func clock(m agent.StateManager) (t time.Time) {
	if m.Clock != nil {
		t = m.Clock()
	}
	return t
}

// failed writes a failure into the result, or returns one that is fatal.
func (r *Registry) failed(m agent.StateManager, s *agent.State, c *Call, err error, result *agent.StepResult) error {
	f := r.Classify(err, c)
	var no *Rejected
	if errors.As(err, &no) {
		switch no.Then {
		case SkipStep:
			result.Skipped, result.Error = true, no.Text()
			return nil
		case Replan:
			f.Severity = agent.Replanning
		case EndTurn:
			s.Control.Kill(no.Text())
		}
	}
	if f.Severity == agent.Fatal {
		return err
	}
	result.Failure = &f
	return nil
}

// again returns the attempts that a policy allows after this number of failures, and the wait
// before the next one in seconds.
func again(p graph.Retry, failures int, err error) (attempts int, delay float64) {
	failures = max(failures, 1)
	wait, ok := p.Next(failures, err)
	if !ok {
		return failures, 0
	}
	return max(p.Attempts, failures+1), wait.Seconds()
}

// Classify returns an error of a capability as a failure. The severity is that of the capability if
// it is a [Classifier], and otherwise of [agent.SeverityOf]. An unknown severity counts as
// critical.
func (r *Registry) Classify(err error, c *Call) agent.Failure {
	name := c.Step.Capability
	f := agent.Failure{Node: name, Severity: agent.SeverityOf(err), Error: err.Error()}
	cp, ok := r.byName[name]
	if !ok {
		return f
	}
	f.Attempts, f.Delay = again(cp.Info().retry(), c.Attempt, err)
	var no *Rejected
	if errors.As(err, &no) {
		f.Rejected, f.UserMessage = true, no.Text()
	} else if own, ok := cp.(Classifier); ok && !errors.Is(err, ErrRequires) && !errors.Is(err, ErrProvides) {
		f.Severity, f.UserMessage = own.ClassifyError(err, c)
	}
	if !slices.Contains(agent.Severities(), f.Severity) {
		f.Severity = agent.Critical
	}
	f.UserMessage = cmp.Or(f.UserMessage, err.Error())
	return f
}
