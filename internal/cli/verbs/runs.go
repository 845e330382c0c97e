package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/server/queue"
)

// runsFlags are the flags of runs and the verbs below it.
type runsFlags struct {
	server   string
	thread   string
	status   string
	limit    int
	rollback bool
	bulk     bulkFlags // of cancel
}

// servedRun is a run of a server, as the verbs print it.
type servedRun struct {
	Run       string          `json:"run"`
	Thread    string          `json:"thread"`
	Graph     string          `json:"graph"`
	Status    string          `json:"status"`
	Created   time.Time       `json:"created"`
	Updated   time.Time       `json:"updated"`
	Attempt   int             `json:"attempt,omitempty"`
	Error     *queue.Failure  `json:"error,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Assistant string          `json:"assistant,omitempty"`
}

// servedRuns are the runs of a store, or those that a server shows.
type servedRuns interface {
	// list returns the runs of a thread, the oldest first; for "" those of all threads that have
	// not ended.
	list(ctx context.Context, thread string) ([]servedRun, error)
	// active yields the runs that have not ended.
	active(ctx context.Context) iter.Seq2[servedRun, error]
	cancel(ctx context.Context, r servedRun, rollback bool) error
}

func (a *app) runsVerb() *cobra.Command {
	var f runsFlags
	cmd := a.runsLsVerb(&f)
	cmd.Use, cmd.Short = "runs", "List, show and cancel the runs of servers"
	cmd.Long = `Runs looks at the runs that servers have accepted: those of the store, or with --server those
that a server shows to this caller, whose key is in $` + keyVariable + `. Alone it lists them, as ls does.`
	ls := a.runsLsVerb(&f)
	cmd.AddCommand(ls, a.runsShowVerb(&f), a.runsCancelVerb(&f))
	for _, c := range append(cmd.Commands(), cmd) {
		c.Flags().StringVar(&f.server, "server", "", "the URL of a server, in place of the store")
		c.Flags().StringVar(&f.thread, "thread", "", "only the runs of this thread, those that have ended too")
	}
	return cmd
}

func (a *app) runsLsVerb(f *runsFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the runs that have not ended, or all of a thread",
		Args:  a.arguments("", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.limit < 0 {
				return reports.Usage("give a number from 0 on", "the limit must not be negative (got %d)", f.limit)
			}
			if cmd.Flags().Changed("status") && !slices.Contains(runStatuses, f.status) {
				return reports.Usage(didYouMean(f.status, runStatuses, "use one of "), "there is no status %q", f.status)
			}
			return a.withRuns(cmd.Context(), f, func(runs servedRuns) error { return a.listRuns(cmd.Context(), runs, f) })
		},
	}
	cmd.Flags().StringVar(&f.status, "status", "", "only runs that are pending, running, success, error, timeout or interrupted")
	cmd.Flags().IntVar(&f.limit, "limit", 0, "at most so many (0 means all)")
	return cmd
}

func (a *app) runsShowVerb(f *runsFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN",
		Short: "Show one run",
		Long: `Show prints a run that has not ended, or with --thread any run of that thread. A unique
prefix of the id is enough.`,
		Args: a.arguments("RUN", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRuns(cmd.Context(), f, func(runs servedRuns) error {
				r, err := a.findRun(cmd.Context(), runs, f.thread, args[0])
				if err != nil {
					return err
				}
				return a.printRun(r)
			})
		},
	}
}

func (a *app) runsCancelVerb(f *runsFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel RUN | --where KEY=VALUE",
		Short: "Cancel a run, or many",
		Long: `Cancel cancels a run: a pending one ends at once, and a running one soon. What it has
committed stays, or is removed with --rollback. The whole id is needed.

--where KEY=VALUE selects the runs that have not ended: ` + runKeys + `. Of several all
must fit, and KEY!=VALUE selects what does not. One that fails does not stop the others,
and the same command does the rest.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.bulk.on() {
				return a.arguments("", 0, 0)(cmd, args)
			}
			return a.arguments("RUN", 1, 1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.bulk.check(cmd); err != nil {
				return err
			}
			if f.bulk.on() {
				return a.cancelMany(cmd.Context(), f)
			}
			return a.withRuns(cmd.Context(), f, func(runs servedRuns) error {
				r, err := a.findRun(cmd.Context(), runs, f.thread, args[0])
				switch {
				case err != nil:
					return err
				case r.Run != args[0]:
					return reports.Usage(a.Command("runs", "cancel", r.Run), "cancel needs the whole id of run %s", r.Run)
				}
				if err := runs.cancel(cmd.Context(), r, f.rollback); err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(map[string]string{"run": r.Run, "cancel": "requested"})
				}
				_, err = fmt.Fprintf(a.Stdout, "run %s is cancelled\n", r.Run)
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&f.rollback, "rollback", false, "remove the run and what it has committed")
	f.bulk.flags(cmd)
	return cmd
}

// runStatuses are the values of --status.
var runStatuses = []string{
	string(queue.Pending), string(queue.Running), string(queue.Success), string(queue.Failed), string(queue.TimedOut), string(queue.Interrupted),
}

// runKeys are the keys of --where for runs.
const runKeys = "run, thread, graph, assistant, status"

var runTerms = terms{
	keys:  strings.Split(runKeys, ", "),
	words: map[string][]string{"status": {string(queue.Pending), string(queue.Running)}},
}

// matches reports whether a run meets all conditions.
func (r servedRun) matches(where []condition) bool {
	values := map[string]string{"run": r.Run, "thread": r.Thread, "graph": r.Graph, "assistant": r.Assistant, "status": r.Status}
	return !slices.ContainsFunc(where, func(c condition) bool { return c.matches(values[c.key]) == c.not })
}

// cancelMany cancels the runs that fit and have not ended.
func (a *app) cancelMany(ctx context.Context, f *runsFlags) error {
	where, err := runTerms.parse(f.bulk.where)
	if err != nil {
		return err
	}
	return a.withRuns(ctx, f, func(runs servedRuns) error {
		_, err := a.bulk(ctx, "cancel", f.bulk, func(yield func(bulkTask, error) bool) {
			for r, err := range runs.active(ctx) {
				switch {
				case err != nil:
					yield(bulkTask{}, err)
					return
				case !r.matches(where):
					continue
				}
				cancel := func(ctx context.Context) (bulkOutcome, error) {
					if f.bulk.dryRun {
						return did(outcomePlanned, "it is %s", r.Status), nil
					}
					return did(outcomeDone, "it was %s", r.Status), runs.cancel(ctx, r, f.rollback)
				}
				if !yield(bulkTask{thread: r.Thread, run: r.Run, do: cancel}, nil) {
					return
				}
			}
		})
		return err
	})
}

// withRuns runs fn with the runs of the store, or of a server.
func (a *app) withRuns(ctx context.Context, f *runsFlags, fn func(servedRuns) error) error {
	if f.server != "" {
		s, err := newRemoteRuns(f.server)
		if err != nil {
			return err
		}
		return fn(s)
	}
	return withStore(ctx, a.openToRead, func(store checkpoint.Store) error {
		q, err := server.OpenQueue(ctx, store)
		if err != nil {
			return err
		}
		defer q.Announced(context.WithoutCancel(ctx)) // this process ends
		return fn(storedRuns{q})
	})
}

var runHead = []string{"RUN", "THREAD", "GRAPH", "STATUS", "ATTEMPT", "CREATED"}

func (r servedRun) row(t *reports.Table) error {
	return t.Add(r, r.Run, r.Thread, r.Graph, r.Status, r.Attempt, r.Created)
}

func (a *app) listRuns(ctx context.Context, runs servedRuns, f *runsFlags) error {
	all, err := runs.list(ctx, f.thread)
	if err != nil {
		return err
	}
	t, n := a.Table(runHead...), 0
	for _, r := range all {
		if f.status != "" && r.Status != f.status {
			continue
		}
		if n++; f.limit > 0 && n > f.limit {
			break
		}
		r.Input = nil
		if err := r.row(t); err != nil {
			return err
		}
	}
	return t.Flush()
}

// findRun finds a run by its id, or a unique prefix of it.
func (a *app) findRun(ctx context.Context, runs servedRuns, thread, start string) (servedRun, error) {
	all, err := runs.list(ctx, thread)
	if err != nil {
		return servedRun{}, err
	}
	var names []string
	for _, r := range all {
		if strings.HasPrefix(r.Run, start) {
			names = append(names, r.Run)
		}
	}
	if len(names) == 0 {
		return servedRun{}, reports.Usage("name its thread with --thread, if it has ended", "there is no run %q", start)
	}
	id, err := a.begun("run", start, names, a.Command("runs"))
	if err != nil {
		return servedRun{}, err
	}
	return all[slices.IndexFunc(all, func(r servedRun) bool { return r.Run == id })], nil
}

func (a *app) printRun(r servedRun) error {
	if a.JSON {
		return a.PrintJSON(r)
	}
	t := a.Table(runHead...)
	if err := errors.Join(r.row(t), t.Flush()); err != nil {
		return err
	}
	if len(r.Input) > 0 {
		fmt.Fprintf(a.Stdout, "\ninput: %s\n", r.Input)
	}
	if r.Error != nil {
		fmt.Fprintf(a.Stdout, "\n%s: %s\n", r.Error.Name, r.Error.Message)
	}
	return nil
}

// storedRuns are the runs of a store.
type storedRuns struct{ queue *queue.Queue }

func (s storedRuns) list(ctx context.Context, thread string) (all []servedRun, err error) {
	if thread != "" {
		runs, err := s.queue.List(ctx, thread)
		for _, r := range runs {
			all = append(all, shownRun(r))
		}
		return all, err
	}
	for r, err := range s.active(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func (s storedRuns) active(ctx context.Context) iter.Seq2[servedRun, error] {
	return func(yield func(servedRun, error) bool) {
		for r, err := range s.queue.Active(ctx) {
			if !yield(shownRun(r), err) {
				return
			}
		}
	}
}

func (s storedRuns) cancel(ctx context.Context, r servedRun, rollback bool) error {
	action := queue.Stop
	if rollback {
		action = queue.Undo
	}
	_, err := s.queue.Cancel(ctx, r.Thread, r.Run, action)
	return err
}

// shownRun returns a run of the queue as it is printed.
func shownRun(r queue.Run) servedRun {
	var request struct {
		Graph     string          `json:"graph"`
		Assistant string          `json:"assistant"`
		Input     json.RawMessage `json:"input"`
		AsSent    bool            `json:"as_sent"`
		Kwargs    struct {
			Input json.RawMessage `json:"input"`
		} `json:"kwargs"`
	}
	_ = json.Unmarshal(r.Request, &request) // a run of a newer version may have another form
	if request.AsSent {
		request.Input = request.Kwargs.Input
	}
	return servedRun{
		Run: r.ID, Thread: r.Thread, Graph: request.Graph, Assistant: request.Assistant, Status: string(r.Status),
		Created: r.Created, Updated: r.Updated, Attempt: r.Attempt, Error: r.Error, Input: request.Input,
	}
}
