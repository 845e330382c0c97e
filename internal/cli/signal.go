package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// errSignal is the cause of a context that a signal has ended.
var errSignal = errors.New("stopped by a signal")

// signals are the SIGINT and SIGTERM of one command. The first asks what runs to come
// to an end by itself, if something does that; the next ends the context; after that
// signals do what they do to any program, so one more kills.
type signals struct {
	mu   sync.Mutex
	soft func() // what the next signal does instead of ending the context, or nil
}

// until returns a context that signals end.
func (s *signals) until(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	heard := make(chan os.Signal, 2)
	signal.Notify(heard, os.Interrupt, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-heard:
			case <-ctx.Done():
				return
			}
			if !s.softly() {
				signal.Stop(heard)
				cancel(errSignal)
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(heard)
		cancel(nil)
		<-ended
	}
}

// softly does what is to be done first, and reports whether there was something.
func (s *signals) softly() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	do := s.soft
	if do == nil {
		return false
	}
	s.soft = nil
	do()
	return true
}

// first lets the next signal do something gentle, until undo. After undo it is not
// under way any more.
func (s *signals) first(do func()) (undo func()) {
	set := func(f func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.soft = f
	}
	set(do)
	return func() { set(nil) }
}
