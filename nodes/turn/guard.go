package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
)

// ErrTime is the cause of a node's context when the turn has exceeded its time limit.
var ErrTime = errors.New("turn: the turn is out of time")

// guard runs a node that is not a capability, within the time limit of the turn. On failure it
// drops what the node wrote and writes the failure to s, where the router finds it. It returns an
// error only for what concerns the run: a question, the end of the run, a fatal error.
func (t *Turn) guard(ctx context.Context, s *agent.State, node string, do func(context.Context, *agent.State) error) error {
	view := *s
	inner, cancel := context.WithCancel(ctx)
	if node != agent.ToApproval { // time spent waiting for people does not count
		inner, cancel = t.inTime(ctx, s)
	}
	defer cancel()
	_, err := safely(func() (struct{}, error) { return struct{}{}, do(inner, &view) })
	switch {
	case err == nil:
		view.Control.Succeed()
		*s = view
		return nil
	case isRunError(ctx, err):
		return err
	}
	f := t.failure(inner, s, node, err)
	if last, ok := failed(s); ok {
		f.Metadata = map[string]string{"after": after(last, node)}
	}
	s.Control.Fail(f)
	return t.emitStatus(ctx, s, node, node+" failed: "+f.UserMessage, map[string]string{"failed": string(f.Severity)})
}

// isRunError reports whether an error of a node concerns the run.
func isRunError(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, graph.ErrInterrupted) || errors.Is(err, graph.ErrToParent) || agent.SeverityOf(err) == agent.Fatal
}

// failure returns an error of a node as data. ctx is the context of the node.
func (t *Turn) failure(ctx context.Context, s *agent.State, node string, err error) agent.Failure {
	f := agent.Failure{Node: node, Severity: agent.SeverityOf(err), UserMessage: err.Error(), Error: err.Error(), Time: t.m.Clock().Round(0)}
	failures := 1
	if last, ok := s.Control.ErrorInfo.Lookup(); ok && last.Node == node {
		failures += s.Control.RetryCount.Get()
	}
	f.Attempts = failures
	if f.Severity == agent.Retriable {
		if wait, again := t.retry(node).Next(failures, err); again {
			f.Attempts, f.Delay = max(t.retry(node).Attempts, failures+1), wait.Seconds()
		}
	}
	if p := (*panicked)(nil); errors.As(err, &p) {
		f.UserMessage = p.text
	}
	if no := (*capabilities.Rejected)(nil); errors.As(err, &no) {
		f.Rejected, f.UserMessage = true, no.Text()
	}
	if cause := context.Cause(ctx); errors.Is(cause, ErrTime) {
		f.Severity, f.Error, f.UserMessage = agent.Critical, fmt.Sprintf("%v: %v", cause, err), cause.Error()
	}
	return f
}

// failed returns the current failure, if there is one.
func failed(s *agent.State) (agent.Failure, bool) {
	f, ok := s.Control.ErrorInfo.Lookup()
	return f, ok && s.Control.HasError.Get()
}

// after returns the failure because of which a node ran, however often it was tried.
func after(last agent.Failure, node string) string {
	if last.Node == node {
		return last.Metadata["after"]
	}
	return last.UserMessage
}

// previous returns what a prompt contains of the failures that led to a node.
func previous(s *agent.State, node string) string {
	f, ok := failed(s)
	switch {
	case !ok:
		return s.Control.ReclassificationReason.Get()
	case f.Node == node && f.Metadata["after"] != "":
		return f.Metadata["after"] + "\n" + f.UserMessage
	}
	return f.UserMessage
}

// elapsed returns the duration of the turn without time spent waiting for people.
func (t *Turn) elapsed(s *agent.State) time.Duration {
	start, ok := s.Execution.StartTime.Lookup()
	if !ok || t.cfg.Work != nil { // each call of Work has the whole time: it may have waited for people
		return 0
	}
	waited := time.Duration(s.Execution.WaitedSeconds.Get() * float64(time.Second))
	return max(0, t.m.Clock().Sub(start)-waited)
}

// inTime returns a context that ends at the time limit of the turn.
func (t *Turn) inTime(ctx context.Context, s *agent.State) (context.Context, context.CancelFunc) {
	ctx = t.withModel(ctx, s)
	limit := t.settings(s).MaxExecutionSeconds
	if *limit <= 0 {
		return context.WithCancel(ctx)
	}
	most := time.Duration(*limit) * time.Second
	return context.WithTimeoutCause(ctx, most-t.elapsed(s), fmt.Errorf("%w: its limit is %v", ErrTime, most))
}

// settings returns the settings that apply, with every field set.
func (t *Turn) settings(s *agent.State) agent.Settings { return t.m.Settings(s) }

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tries calls do until it succeeds, fails permanently, or the node's attempts are used up.
func (t *Turn) tries(ctx context.Context, node string, do func(context.Context) error) error {
	p := t.retry(node)
	for n := 1; ; n++ {
		_, err := safely(func() (struct{}, error) { return struct{}{}, do(ctx) })
		if err == nil || agent.SeverityOf(err) != agent.Retriable {
			return err
		}
		wait, again := p.Next(n, err)
		if !again {
			return err
		}
		if end, ok := ctx.Deadline(); ok && time.Until(end) <= wait || wait > time.Hour || pause(ctx, wait) != nil {
			return err
		}
	}
}

// emitStatus emits a status update and adds it to the state.
func (t *Turn) emitStatus(ctx context.Context, s *agent.State, node, text string, more map[string]string) error {
	u := agent.StatusUpdate{Message: text, Node: node, Time: t.m.Clock().Round(0), Metadata: more}
	t.m.Display(s).Status(u)
	return graph.Emit(ctx, u)
}
