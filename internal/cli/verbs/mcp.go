package verbs

import (
	"context"
	"errors"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/cli/serve"
)

func (a *app) mcpVerb() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "mcp [FILE|DIR|NAME...]",
		Short: "Serve graphs on stdin and stdout to a client of the Model Context Protocol",
		Long: `Mcp serves the graphs that are named, as serve does, to the program that starts it: each graph
is a tool. If a run asks, the client gets the question, and answers it with another tool. It
sees the threads of all callers of servers on the store. The log goes to stderr.

It ends when its stdin ends. A run that has not ended goes on in another process.`,
		Args: a.arguments("FILE", 0, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error { return a.serveMCP(cmd.Context(), f, args) },
	}
	f.workFlags(cmd)
	return cmd
}

// serveMCP serves the process that has started this one, until stdin ends.
func (a *app) serveMCP(ctx context.Context, f serveFlags, args []string) error {
	log, err := a.logger(f.log)
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return err
	}
	if f.workers.Slots == 0 {
		f.workers.Slots = -1 // 0 is the default of the server
	}
	a.busyTimeout = 30 * time.Second // other processes may write to the file
	return withStore(ctx, a.open, func(store checkpoint.Store) error {
		o, err := a.openServer(ctx, f, args, store, log)
		if err != nil {
			return err
		}
		ended := make(chan error, 1)
		err = a.runServer(ctx, serve.Config{Server: o.Server, Workers: f.workers, Log: log}, func(ctx context.Context, stop func()) {
			ended <- o.ServeMCP(ctx, io.NopCloser(a.config.Stdin), stdout{a.Stdout})
			stop()
		})
		served := <-ended
		if errors.Is(served, context.Canceled) { // by a signal
			served = nil
		}
		return errors.Join(err, served)
	})
}

// stdout leaves it to the process to close it.
type stdout struct{ io.Writer }

func (stdout) Close() error { return nil }
