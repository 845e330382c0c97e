package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
)

// watch shows a run that is to begin, and then how it ended. The first signal lets it
// finish its step.
func (s *session) watch(ctx context.Context, live *graph.Handle[json.RawMessage]) error {
	s.follow(live)
	res, err := live.Wait()
	switch {
	case err != nil:
		return s.stopped(ctx, err)
	case res.Status == graph.Queued:
		return s.queued()
	case res.Status == graph.Interrupted:
		return s.waits(ctx, res.Interrupts)
	case res.Drained != "":
		return &reports.Failure{Code: terminal.ExitSignal, Err: fmt.Errorf("%w, at the end of a step", terminal.ErrSignal), Next: s.goOn()}
	}
	for _, node := range res.Starved {
		s.Note("the join into %q was never complete, so it did not run", node)
	}
	return s.result(ctx, res.State)
}

// follow shows what happens until the run has ended. Why it failed is for Wait.
func (s *session) follow(live *graph.Handle[json.RawMessage]) {
	v := s.View()
	end := sync.OnceFunc(v.Close)
	defer end()
	if reports.DrawsLines(v) {
		defer s.signals.OnKill(end)()
	}
	events := live.Join(graph.Reader{Modes: v.Modes()})
	defer s.signals.OnFirst(func() {
		live.Drain(terminal.ErrSignal.Error())
		v.Say(s.Name + ": finishing the step; one more signal stops at once")
	})()
	for ev, err := range events {
		if err != nil {
			return
		}
		if !reports.IsHidden(ev) {
			v.Event(ev)
		}
	}
}

// stopped adds to the error of a run how to go on.
func (s *session) stopped(ctx context.Context, err error) error {
	f := *s.Classify(err)
	switch {
	case f.Next == "" && s.refused(ctx):
		f.Next = "nothing of this turn was stored; change the input or the workflow, and give the same command again"
	case s.forgets():
		f.Next = "the thread is gone with the process; keep threads with --store sqlite:PATH"
	case f.Code == reports.ExitUsage:
		f.Next = strings.TrimPrefix(f.Next+"; "+s.Command("resume", "--thread", s.thread)+" shows what is open", "; ")
	case f.Next == "":
		f.Next = s.goOn()
	}
	return &f
}

// toLook is how long a look at the thread may take before its error is told.
const toLook = 2 * time.Second

// refused reports whether a run that failed has left no work: its input was not stored.
func (s *session) refused(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), toLook)
	defer cancel()
	p, found, err := s.inspect(ctx)
	return err == nil && (!found || p.Status == graph.Done)
}

// goOn says how to go on with a run that was stopped.
func (s *session) goOn() string {
	if s.forgets() {
		return "the thread is gone with the process; keep threads with --store sqlite:PATH"
	}
	return "finished work is kept; go on with " + s.Command("resume", "--thread", s.thread)
}

// queued says that an input waits for its turn.
func (s *session) queued() error {
	if s.JSON {
		return s.PrintJSON(ended{Thread: s.thread, Workflow: s.graph.Name(), Status: graph.Queued})
	}
	s.Note("the input is stored; its turn comes when thread %q has ended this one: see %s", s.thread, s.Command("inbox"))
	return nil
}
