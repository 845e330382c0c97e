package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/graph"
)

// view shows how a run goes. close is called once, when no more events come; say may be
// called at any time before.
type view interface {
	modes() graph.Mode // of the events that it shows
	event(graph.Event)
	say(line string)
	close()
}

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
		return &failure{exitSignal, fmt.Errorf("%w, at the end of a step", errSignal), s.goOn()}
	}
	for _, node := range res.Starved {
		s.note("the join into %q was never complete, so it did not run", node)
	}
	return s.result(ctx, res.State)
}

// follow shows what happens until the run has ended. Why it failed is for Wait.
func (s *session) follow(live *graph.Handle[json.RawMessage]) {
	v := s.view()
	end := sync.OnceFunc(v.close)
	defer end()
	if draws(v) {
		defer s.signals.last(end)()
	}
	events := live.Join(graph.Reader{Modes: v.modes()})
	defer s.signals.first(func() {
		live.Drain(errSignal.Error())
		v.say(s.Name + ": finishing the step; one more signal stops at once")
	})()
	for ev, err := range events {
		if err != nil {
			return
		}
		if !hidden(ev) {
			v.event(ev)
		}
	}
}

// stopped adds to the error of a run how to go on.
func (s *session) stopped(ctx context.Context, err error) error {
	f := *s.classify(err)
	switch {
	case f.next == "" && s.refused(ctx):
		f.next = "nothing of this turn was stored; change the input or the workflow, and give the same command again"
	case s.forgets():
		f.next = "the thread is gone with the process; keep threads with --store sqlite:PATH"
	case f.code == exitUsage:
		f.next = strings.TrimPrefix(f.next+"; "+s.command("resume", "--thread", s.thread)+" shows what is open", "; ")
	case f.next == "":
		f.next = s.goOn()
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
	return "finished work is kept; go on with " + s.command("resume", "--thread", s.thread)
}

// queued says that an input waits for its turn.
func (s *session) queued() error {
	if s.json {
		return s.printJSON(ended{Thread: s.thread, Workflow: s.graph.Name(), Status: graph.Queued})
	}
	s.note("the input is stored; its turn comes when thread %q has ended this one: see %s", s.thread, s.command("inbox"))
	return nil
}

// view returns the view that suits where stderr leads.
func (s *session) view() view {
	term := terminalOf(s.progress)
	switch {
	case s.json:
		return silent{}
	case term == nil:
		return newPlain(s.Stderr)
	}
	return newLive(term)
}

// silent shows nothing.
type silent struct{}

func (silent) modes() graph.Mode { return graph.Tasks } // some there must be
func (silent) event(graph.Event) {}
func (silent) say(string)        {}
func (silent) close()            {}
