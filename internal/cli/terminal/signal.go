package terminal

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// ExitSignal is the exit code of a command that a signal has stopped.
const ExitSignal = 130

// ErrSignal is the cause of a context that a signal has ended.
var ErrSignal = errors.New("stopped by a signal")

// Signals are the SIGINT and SIGTERM of one command. The first asks what runs to come
// to an end by itself, if something does that; the next ends the context; one more does what it
// does to any program: it kills, once the terminal is tidy.
type Signals struct {
	mu   sync.Mutex
	soft func() // what the next signal does instead of ending the context, or nil
	tidy func() // what is to be done before a signal kills, or nil
}

// Context returns a context that signals end.
func (s *Signals) Context(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	heard := make(chan os.Signal, 2)
	signal.Notify(heard, os.Interrupt, syscall.SIGTERM)
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case sig := <-heard:
				if ctx.Err() != nil {
					signal.Stop(heard)
					s.kill(sig)
					return
				}
			case <-stopped:
				return
			}
			if !s.softly() {
				cancel(ErrSignal)
			}
		}
	}()
	return ctx, func() {
		signal.Stop(heard)
		close(stopped)
		<-ended
		cancel(nil)
	}
}

// toTidy is how long a signal that kills waits for the terminal, which may take no output.
const toTidy = 200 * time.Millisecond

// kill ends the process as the signal does where nothing catches it.
func (s *Signals) kill(sig os.Signal) {
	s.mu.Lock()
	tidy := s.tidy
	s.mu.Unlock()
	if tidy != nil {
		done := make(chan struct{})
		go func() {
			defer close(done)
			tidy()
		}()
		select {
		case <-done:
		case <-time.After(toTidy):
		}
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(sig)
	}
	if err != nil { // a system on which a process cannot send itself a signal
		os.Exit(ExitSignal)
	}
}

// OnKill sets what is to be done before a signal kills, until undo.
func (s *Signals) OnKill(do func()) (undo func()) {
	set := func(f func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tidy = f
	}
	set(do)
	return func() { set(nil) }
}

// softly does what is to be done first, and reports whether there was something.
func (s *Signals) softly() bool {
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

// OnFirst lets the next signal do something gentle, until undo. After undo it is not
// under way any more.
func (s *Signals) OnFirst(do func()) (undo func()) {
	set := func(f func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.soft = f
	}
	set(do)
	return func() { set(nil) }
}
