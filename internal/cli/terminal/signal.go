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

// ErrSignal is the cause of a context that a signal cancelled.
var ErrSignal = errors.New("stopped by a signal")

// Signals handles SIGINT and SIGTERM for one command. The first signal calls the function set by
// OnFirst, if there is one. The next cancels the context. A further one calls the function set by
// OnKill, and then ends the process as an uncaught signal does.
type Signals struct {
	mu   sync.Mutex
	soft func() // called by the next signal in place of cancelling the context, or nil
	tidy func() // called before a signal ends the process, or nil
}

// Context returns a context that signals cancel. The caller calls stop at the end.
func (s *Signals) Context(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	received := make(chan os.Signal, 2)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case sig := <-received:
				if ctx.Err() != nil {
					signal.Stop(received)
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
		signal.Stop(received)
		close(stopped)
		<-ended
		cancel(nil)
	}
}

// tidyTimeout is how long kill waits for the terminal, which may block on output.
const tidyTimeout = 200 * time.Millisecond

// kill ends the process as an uncaught signal does.
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
		case <-time.After(tidyTimeout):
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

// OnKill sets the function that is called before a signal ends the process. The caller calls undo
// to remove it.
func (s *Signals) OnKill(do func()) (undo func()) {
	set := func(f func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tidy = f
	}
	set(do)
	return func() { set(nil) }
}

// softly calls the function set by OnFirst once, and reports whether there was one.
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

// OnFirst sets the function that the next signal calls in place of cancelling the context. The
// caller calls undo to remove it. When undo returns, the function is not running.
func (s *Signals) OnFirst(do func()) (undo func()) {
	set := func(f func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.soft = f
	}
	set(do)
	return func() { set(nil) }
}
