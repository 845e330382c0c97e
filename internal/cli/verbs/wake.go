package verbs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/wake"
)

func (a *app) wakeVerb() *cobra.Command {
	var once bool
	var level string
	cmd := &cobra.Command{
		Use:   "wake [FILE|DIR|NAME...]",
		Short: "Go on with threads whose time has come",
		Long: `Wake goes on with the threads of the store whose time has come: questions without an
answer in time, sleeps that end, and failed runs that are tried again. It begins the runs
of schedules, and stores those of the files when it starts. It prints a line for each person who is to be reminded of
a question, or is asked in place of another. It must know the graphs of the threads: name their
files, in the same program. Servers and their workers wake threads too.

It runs until a signal. With --once it does what is due and ends, for a cron of the system.`,
		Args: a.arguments("FILE", 0, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error { return a.wake(cmd.Context(), args, once, level) },
	}
	cmd.Flags().BoolVar(&once, "once", false, "do what is due now, and end")
	cmd.Flags().StringVar(&level, "log", "info", "the least level of the lines on stderr: debug, info, warn or error")
	return cmd
}

func (a *app) wake(ctx context.Context, args []string, once bool, level string) error {
	log, err := a.logger(level)
	if err != nil {
		return err
	}
	a.busyTimeout = 30 * time.Second // other processes may write to the file
	return withStore(ctx, a.open, func(store checkpoint.Store) error {
		timers, err := wake.Open(store)
		if err != nil {
			return reports.Usage("name a store of sqlite:, redis: or postgres: with --store", "%w", err)
		}
		files := sources{app: a, args: args, store: store}
		first, err := files.open(ctx)
		if err != nil {
			return err
		}
		if err := first.declare(ctx, timers); err != nil {
			return err
		}
		graphs := slices.Collect(maps.Values(first.graphs))
		c := wake.Config{Store: store, Timers: timers, Resume: wake.Graphs(graphs...), Start: first.starts(graphs), Notify: a.printNotices(), Log: log}
		if !once {
			a.Note("waits for threads whose time comes; a signal ends it")
			return errors.Join(wake.Run(ctx, c), context.Cause(ctx))
		}
		report, err := wake.Once(ctx, c)
		if err == nil || report != (wake.Report{}) {
			err = errors.Join(a.printWoken(report), err)
		}
		return a.wakeFailure(err)
	})
}

func (a *app) printWoken(r wake.Report) error {
	if a.JSON {
		return a.PrintJSON(r)
	}
	_, err := fmt.Fprintf(a.Stdout, "started %d, resumed %d, notices %d, failed %d\n", r.Started, r.Resumed, r.Notified, r.Failed)
	return err
}

// wakeFailure adds what to do to the error of wake.Once, which may be that of many threads.
func (a *app) wakeFailure(err error) error {
	var node *graph.NodeError
	switch {
	case errors.Is(err, wake.ErrGraph):
		return &reports.Failure{Code: reports.ExitFailed, Err: err, Next: "name the files of these graphs too, or let a program that has them wake the store"}
	case errors.As(err, &node): // a report of it would have the first thread only, without its name
		return &reports.Failure{Code: reports.ExitFailed, Err: errors.New(err.Error()),
			Next: a.Command("resume", "--thread", "NAME") + " tries one again; the next wake goes on with all that is due"}
	}
	return err
}

// printNotices returns a function that prints each notice on a line.
func (a *app) printNotices() func(context.Context, wake.Notice) error {
	var mu sync.Mutex
	return func(_ context.Context, n wake.Notice) error {
		mu.Lock()
		defer mu.Unlock()
		if a.JSON {
			return a.PrintJSON(n)
		}
		to := n.To
		if to == "" {
			to = "anybody"
		}
		_, err := fmt.Fprintf(a.Stdout, "%s: %s: thread %s asks: %s\n", n.Kind, reports.Cell(to), reports.Cell(n.Thread), reports.Cell(n.Question.Prompt))
		return err
	}
}
