package verbs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	from, to uint64
	yes, all bool
	junit    string
	limit    int
	timeout  time.Duration
}

func (a *app) replayVerb() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay THREAD [FILE] | --all FILE",
		Short: "Run the steps of a thread again and find the first that comes out otherwise",
		Long: `Replay runs each recorded step of a thread again, from the state in which it began, and
shows the first one that comes out otherwise: what a changed workflow would have made
of an old thread. Questions get the answers that were recorded. Nothing is written to
the store, but the nodes do their work again, requests and files included: --yes
permits that. The exit code is 1 if a step comes out otherwise. With --all, which takes a
FILE and no THREAD, it replays all threads of that workflow.`,
		Args: a.arguments("THREAD", 1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.all && (len(args) != 1 || f.from != 0 || f.to != 0):
				return reports.Usage("name the FILE alone", "--all takes one FILE, and no THREAD, --from or --to")
			case f.limit <= 0 || f.timeout <= 0:
				return reports.Usage("give greater numbers", "--limit and --timeout must be positive (got %d and %v)", f.limit, f.timeout)
			case !f.all && f.junit != "":
				return reports.Usage("add --all", "--junit requires --all")
			case !f.all && (cmd.Flags().Changed("limit") || cmd.Flags().Changed("timeout")):
				return reports.Usage("add --all", "--limit and --timeout require --all")
			case f.to != 0 && f.from > f.to:
				return reports.Usage("give the smaller one to --from", "--from %d comes after --to %d", f.from, f.to)
			case !f.yes:
				return reports.Usage("add --yes to run them", "the nodes of thread %q would do their work again, requests and files included", args[0])
			}
			if f.all {
				return a.replayAll(cmd.Context(), args[0], f)
			}
			return a.onThread(cmd.Context(), a.openToRead, args[0], func(s *session) error {
				return s.replay(cmd.Context(), first(args[1:]), f)
			})
		},
	}
	cmd.Flags().Uint64Var(&f.from, "from", 0, "the first checkpoint to replay (default the oldest)")
	cmd.Flags().Uint64Var(&f.to, "to", 0, "the last checkpoint to replay (default the newest)")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "run the nodes again, with all that they do")
	cmd.Flags().BoolVar(&f.all, "all", false, "replay all threads of a FILE")
	cmd.Flags().StringVar(&f.junit, "junit", "", "with --all, also write the results to this file, as JUnit XML")
	cmd.Flags().IntVar(&f.limit, "limit", 100, "with --all, at most so many threads")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 5*time.Minute, "with --all, the longest time for a thread")
	return cmd
}

// replayAll replays the threads of a graph.
func (a *app) replayAll(ctx context.Context, file string, f replayFlags) error {
	return a.evaluateAll(ctx, file, f.junit, recordedFlags{limit: f.limit, timeout: f.timeout},
		func(ctx context.Context, s *session, _ opening) (e evaluation, err error) {
			done, err := s.graph.Thread(s.thread).Replay(ctx, 0, 0)
			if err != nil {
				return e, err
			}
			e.Result = evaluatedOK
			if done.Divergence != nil {
				for line := range strings.SplitSeq(done.Divergence.String(), "\n") {
					e.fail("%s", strings.TrimSpace(line))
				}
			}
			return e, nil
		})
}

func (s *session) replay(ctx context.Context, file string, f replayFlags) error {
	p, err := s.mustInspect(ctx)
	if err != nil {
		return err
	}
	if err := s.find(ctx, "replay", file, p, s.thread); err != nil {
		return err
	}
	done, err := s.graph.Thread(s.thread).Replay(ctx, f.from, f.to)
	if errors.Is(err, graph.ErrUnknownThread) {
		return reports.Usage(s.Command("history", "--thread", s.thread)+" lists its checkpoints", "thread %q has no such checkpoints", s.thread)
	}
	if err != nil {
		return err
	}
	if err := s.printReplay(done); err != nil {
		return err
	}
	if done.Divergence != nil {
		return &reports.Failure{Code: reports.ExitFailed}
	}
	return nil
}

func (s *session) printReplay(done graph.Replayed) (err error) {
	if s.JSON {
		return s.PrintJSON(struct {
			Thread string `json:"thread"`
			graph.Replayed
		}{s.thread, done})
	}
	if n := len(done.Skipped); n > 0 {
		s.Note("%s hold the input of their turn too, or the store had lost it, and cannot be run again", counted(n, "checkpoint"))
	}
	if d := done.Divergence; d != nil {
		_, err = fmt.Fprintf(s.Stdout, "%s\nbefore it, %s came out as recorded\n", d, counted(done.Steps, "step"))
	} else {
		_, err = fmt.Fprintf(s.Stdout, "%s came out as recorded\n", counted(done.Steps, "step"))
	}
	return err
}

// counted returns a number with its noun, in the plural if needed.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
