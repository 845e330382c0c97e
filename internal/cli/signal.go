package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// errSignal is the cause of a context that a signal has ended.
var errSignal = errors.New("stopped by a signal")

// untilSignal returns a context that the first SIGINT or SIGTERM ends. After it
// signals do what they do to any program, so a second one kills.
func untilSignal(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-signals:
			signal.Stop(signals)
			cancel(errSignal)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
		<-ended
	}
}
