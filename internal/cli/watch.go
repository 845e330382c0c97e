package cli

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// view shows how a run goes. close is called once, when no more events come.
type view interface {
	event(graph.Event)
	close()
}

// watch shows the events of a run and then how it ended.
func (s *session) watch(ctx context.Context, events iter.Seq2[graph.Event, error]) error {
	last, err := s.follow(events)
	if err != nil {
		return s.stopped(err)
	}
	if last.Status == graph.Interrupted {
		return s.waits(ctx, last.Interrupts)
	}
	for _, node := range last.Starved {
		s.note("the join into %q was never complete, so it did not run", node)
	}
	end, ok := last.State.(*state.Record)
	if !ok {
		return errors.New("the run ended without a state")
	}
	return s.result(end)
}

// follow returns the last event of a run.
func (s *session) follow(events iter.Seq2[graph.Event, error]) (last graph.Event, err error) {
	v := s.view()
	defer v.close()
	for ev, err := range events {
		if err != nil {
			return last, err
		}
		if !hidden(ev) {
			v.event(ev)
		}
		last = ev
	}
	return last, nil
}

// stopped adds to the error of a run how to go on.
func (s *session) stopped(err error) error {
	f := *s.classify(err)
	resume := s.command("resume", "--thread", s.thread)
	switch {
	case s.forgets():
		f.next = "the thread is gone with the process; keep threads with --store sqlite:PATH"
	case f.code == exitUsage:
		f.next = strings.TrimPrefix(f.next+"; "+resume+" shows what is open", "; ")
	case f.next == "":
		f.next = "finished work is kept; go on with " + resume
	}
	return &f
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

func (silent) event(graph.Event) {}
func (silent) close()            {}
