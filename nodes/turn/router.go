package turn

import (
	"context"
	"slices"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// Router decides where the turn continues. It applies the results of the steps that ran, calls
// [agent.Route], waits for the delay of its decision, and starts all steps that are due, in
// parallel.
func (t *Turn) Router(ctx context.Context, s *agent.State) (graph.Command, error) {
	if _, ok := s.Execution.StartTime.Lookup(); !ok {
		now := t.m.Clock().Round(0)
		s.Execution.StartTime.Set(now)
		if err := stampUserMessage(s, now); err != nil {
			return graph.Command{}, err
		}
		if err := t.cfg.Services.begin(ctx, s); err != nil {
			return graph.Command{}, err
		}
		s.AgentControl.Update(t.m.Settings(s)) // so that a later configuration does not change them
	}
	t.m.Steps(s).Settle()
	d := agent.Route(s, agent.Turn{Settings: t.settings(s), Known: t.known, Elapsed: t.elapsed(s)})
	if t.cfg.Work != nil && d.Target != agent.ToError {
		d.Target = ToWork
	}
	if err := pause(ctx, t.remainingWait(s, d.Delay)); err != nil {
		return graph.Command{}, err
	}
	if _, ok := t.reg.Get(d.Target); ok {
		if c, sent := t.send(s); sent {
			return c.WithReason("%s", d.Reason), nil
		}
		d = agent.Destination{Target: agent.ToError, Reason: "no step can be done"}
	}
	if d.Target == agent.ToError {
		t.setEndReason(s, d.Reason)
	}
	return graph.Goto(d.Target).WithReason("%s", d.Reason), nil
}

// stampUserMessage sets the time of the message that begins the turn, if it has none.
func stampUserMessage(s *agent.State, at time.Time) error {
	m, ok := s.Messages.LastFrom(message.RoleUser)
	if !ok || !m.Created.IsZero() {
		return nil
	}
	m.Created = at
	return s.Messages.Add(m)
}

// remainingWait returns the rest of a wait after a failure, also after a restart of the process.
func (t *Turn) remainingWait(s *agent.State, wait time.Duration) time.Duration {
	f, ok := failed(s)
	if !ok || f.Time.IsZero() {
		return wait
	}
	return min(wait, max(0, wait-t.m.Clock().Sub(f.Time)))
}

// send starts a task for each step that is due, except a step that ends the turn.
func (t *Turn) send(s *agent.State) (c graph.Command, sent bool) {
	var running []int
	for _, i := range t.m.Steps(s).Due() {
		step, _ := s.Planning.Step(i)
		if _, ok := t.reg.Get(step.Capability); ok {
			c = c.Send(step.Capability, i)
			running = append(running, i)
		}
	}
	if len(running) > 0 {
		s.Execution.RunningSteps.Set(running)
	}
	return c, len(running) > 0
}

// setEndReason stores why the turn ends, for the error node.
func (t *Turn) setEndReason(s *agent.State, reason string) {
	f, ok := failed(s)
	if !ok {
		s.Control.Fail(agent.Failure{Node: ToRouter, Severity: agent.Critical, UserMessage: reason, Error: reason, Time: t.m.Clock().Round(0)})
		return
	}
	more := map[string]string{"reason": reason}
	for k, v := range f.Metadata {
		if k != "reason" {
			more[k] = v
		}
	}
	f.Metadata = more
	s.Control.ErrorInfo.Set(f)
}

// targets returns the nodes to which the router may go.
func (t *Turn) targets() []string {
	if t.cfg.Work != nil {
		return []string{ToWork, agent.ToError}
	}
	return slices.Concat(inner()[1:], terminals(), t.reg.Names())
}
