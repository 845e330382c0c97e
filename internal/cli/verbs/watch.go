package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
)

// watch starts a run, shows its events, and then its result. The first signal lets the run finish
// its step.
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
	return s.result(ctx, res.State, res.Starved...)
}

// follow shows the events of a run until it has ended. Wait returns its error.
func (s *session) follow(live *graph.Handle[json.RawMessage]) {
	v := s.View()
	say := v.Say
	s.shown.Store(&say)
	end := sync.OnceFunc(func() {
		s.shown.Store(nil)
		v.Close()
	})
	defer end()
	if reports.DrawsLines(v) {
		defer s.signals.OnKill(end)()
	}
	modes, traced := v.Modes(), graph.Mode(0)
	trace := func(graph.Event) {}
	if s.trace != "" {
		var closeTrace func()
		trace, closeTrace = s.openTrace()
		defer closeTrace()
		traced = reports.TraceModes
	}
	events := live.Join(graph.Reader{Modes: modes | traced})
	defer s.signals.OnFirst(func() {
		live.Drain(terminal.ErrSignal.Error())
		v.Say(s.Name + ": finishing the step; one more signal stops at once")
	})()
	for ev, err := range events {
		if err != nil {
			return
		}
		trace(ev)
		if ev.Mode&modes != 0 && !reports.IsHidden(ev) {
			v.Event(ev)
		}
	}
}

// openTrace returns a function that adds an event to the trace, and one that ends it. A file that
// cannot be written is a note, since the run goes on.
func (s *session) openTrace() (event func(graph.Event), end func()) {
	f, err := os.Create(s.trace)
	if err != nil {
		s.Note("there is no trace: %v", err)
		return func(graph.Event) {}, func() {}
	}
	t := reports.NewTrace(f, s.graph.Name(), s.thread)
	return t.Event, func() {
		if err := errors.Join(t.Close(), f.Close()); err != nil {
			s.Note("the trace is not complete: %v", err)
		}
	}
}

// stopped adds to the error of a run how to resume it.
func (s *session) stopped(ctx context.Context, err error) error {
	f := *s.Classify(err)
	switch {
	case f.Next == "" && s.refused(ctx):
		f.Next = "nothing of this turn was stored; change the input or the workflow, and give the same command again"
	case s.inMemory():
		f.Next = "the thread is gone with the process; keep threads with --store sqlite:PATH"
	case f.Code == reports.ExitUsage:
		f.Next = strings.TrimPrefix(f.Next+"; "+s.Command("resume", "--thread", s.thread)+" shows what is open", "; ")
	case f.Next == "":
		f.Next = cmp.Or(s.askAgain(ctx, err), s.goOn())
	}
	return &f
}

// askAgain describes how a question is asked again that was closed without an answer; "" if none
// was closed.
func (s *session) askAgain(ctx context.Context, err error) string {
	if !errors.Is(err, graph.ErrExpired) && !errors.Is(err, graph.ErrDeclined) {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), toLook)
	defer cancel()
	p, found, err := s.inspect(ctx)
	if err != nil || !found || len(p.Interrupts) > 0 {
		return ""
	}
	return "the question stays closed; ask it again with " + s.Command("fork", s.thread, "--at", strconv.FormatUint(p.Checkpoint, 10))
}

// toLook limits the time to read the thread before the error is reported.
const toLook = 2 * time.Second

// refused reports whether a failed run has left no work, since its input was not stored.
func (s *session) refused(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), toLook)
	defer cancel()
	p, found, err := s.inspect(ctx)
	return err == nil && (!found || p.Status == graph.Done)
}

// goOn describes how to resume a run that was stopped.
func (s *session) goOn() string {
	if s.inMemory() {
		return "the thread is gone with the process; keep threads with --store sqlite:PATH"
	}
	return "finished work is stored; go on with " + s.Command("resume", "--thread", s.thread)
}

// queued reports that an input waits for its turn.
func (s *session) queued() error {
	if s.JSON {
		return s.PrintJSON(ended{Thread: s.thread, Workflow: s.graph.Name(), Status: graph.Queued})
	}
	s.Note("the input is stored; its turn comes when thread %q has ended this one: see %s", s.thread, s.Command("inbox"))
	return nil
}
