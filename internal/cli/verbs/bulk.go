package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
)

// bulkFlags are the flags with which a verb works on many threads.
type bulkFlags struct {
	where    []string
	dryRun   bool
	again    bool // also what an earlier call has done; only of some verbs
	parallel int
	limit    int
	timeout  time.Duration // for each

	drain *graph.Drain // asked by the first signal; for runs
}

func (f *bulkFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.where, "where", nil, "KEY=VALUE, in place of the argument: all that fit; repeatable")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "with --where, only show what fits and what would be done")
	cmd.Flags().IntVar(&f.parallel, "parallel", 1, "with --where, so many at once")
	cmd.Flags().IntVar(&f.limit, "limit", 0, "with --where, at most so many (0 means all)")
	cmd.Flags().DurationVar(&f.timeout, "timeout", defaultTimeout, "with --where, the longest time for each")
}

// defaultTimeout is how long a verb may work on one of many threads.
const defaultTimeout = 10 * time.Minute

// againFlag adds --again.
func (f *bulkFlags) againFlag(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&f.again, "again", false, "with --where, "+what)
}

const bulkHelp = whereHelp + `
Threads are taken in the order of their names. One that fails does not stop the others, and
the same command does the rest. Ctrl-C once lets those that run finish, and prints the
report. The exit code is 1 if one failed, and 5 if another process works on one.`

// on reports whether the command line selects many threads.
func (f *bulkFlags) on() bool { return f.where != nil }

// maxParallel is the greatest value of --parallel.
const maxParallel = 256

// check returns an error for flags that do not fit together. alone are flags for one thread.
func (f *bulkFlags) check(cmd *cobra.Command, alone ...string) error {
	if !f.on() {
		for _, name := range []string{"dry-run", "parallel", "limit", "timeout", "again"} {
			if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
				return reports.Usage("add --where KEY=VALUE, or leave it out", "--%s requires --where", name)
			}
		}
		return nil
	}
	for _, name := range append(alone, "thread") {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			return reports.Usage("leave one of them out", "--%s is for one thread, and --where selects many", name)
		}
	}
	switch {
	case f.parallel < 1 || f.parallel > maxParallel:
		return reports.Usage("give a number that suits the store and the nodes", "--parallel must be from 1 to %d (got %d)", maxParallel, f.parallel)
	case f.limit < 0:
		return reports.Usage("give a number from 0 on", "the limit must not be negative (got %d)", f.limit)
	case f.timeout <= 0:
		return reports.Usage("give a time such as 10m", "--timeout must be positive (got %v)", f.timeout)
	}
	return nil
}

// arguments is app.arguments for a verb that takes a THREAD and then up to rest other arguments,
// or --where and those.
func (f *bulkFlags) arguments(a *app, rest int) cobra.PositionalArgs {
	one := a.arguments("THREAD, or --where KEY=VALUE", 1, 1+rest)
	return func(cmd *cobra.Command, args []string) error {
		if f.on() {
			return a.arguments("", 0, rest)(cmd, args)
		}
		return one(cmd, args)
	}
}

// The outcomes of a thread.
const (
	outcomeDone    = "done"
	outcomeWaiting = "waiting" // it was worked on, and has open questions
	outcomePlanned = "planned" // by --dry-run: it would be done
	outcomeSkipped = "skipped" // there was nothing to do
	outcomeStopped = "stopped" // a signal came
	outcomeBusy    = "busy"    // another process works on it
	outcomeFailed  = "failed"
	outcomeFits    = "fits"  // of check: the code can go on with it
	outcomeLacks   = "lacks" // of check: it cannot
)

// bulkOutcome is what came of one thread.
type bulkOutcome struct {
	Thread  string `json:"thread"`
	Run     string `json:"run,omitempty"` // of a server, if the verb works on runs
	Outcome string `json:"outcome"`
	Code    int    `json:"code"` // the exit code of the verb for this thread alone
	Detail  string `json:"detail,omitempty"`
	// Lacks is what the code of a check lacks.
	Lacks []string `json:"lacks,omitempty"`
}

func did(outcome, format string, args ...any) bulkOutcome {
	return bulkOutcome{Outcome: outcome, Detail: fmt.Sprintf(format, args...)}
}

// bulkReport counts the outcomes.
type bulkReport struct {
	Threads  int            `json:"threads"`
	Outcomes map[string]int `json:"outcomes"`
	Stopped  bool           `json:"stopped,omitempty"` // by a signal, before all were seen
}

func (r bulkReport) String() string {
	text := counted(r.Threads, "thread")
	for _, outcome := range []string{outcomeDone, outcomeWaiting, outcomePlanned, outcomeSkipped, outcomeStopped, outcomeBusy, outcomeFailed,
		outcomeFits, outcomeLacks} {
		if n := r.Outcomes[outcome]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, outcome)
		}
	}
	return text
}

// bulkTask is the work on one thread.
type bulkTask struct {
	thread, run string
	do          func(context.Context) (bulkOutcome, error)
}

// threadsPage is the number of threads that are read at once. No listing is open while threads are
// worked on.
const threadsPage = 100

// selected yields the threads that fit, by name. A thread that cannot be read comes with an error,
// since it may fit. An error without a thread ends the listing.
func selected(ctx context.Context, store checkpoint.Store, where []condition) iter.Seq2[graph.CommitInfo, error] {
	type listed struct {
		graph.CommitInfo
		err error
	}
	return func(yield func(graph.CommitInfo, error) bool) {
		labels, _ := labelsOf(where)
		for after := ""; ; {
			page := make([]listed, 0, threadsPage)
			for p, err := range graph.Threads(ctx, store, checkpoint.ThreadQuery{After: after, Limit: threadsPage, Where: labels}) {
				if err != nil && p.Thread == "" {
					yield(p, err)
					return
				}
				page = append(page, listed{p, err})
			}
			for _, p := range page {
				if (p.err != nil || fits(p.CommitInfo, where)) && !yield(p.CommitInfo, p.err) {
					return
				}
			}
			if len(page) < threadsPage {
				return
			}
			after = page[len(page)-1].Thread
		}
	}
}

// onSelected runs do for each thread of a store that fits.
func (a *app) onSelected(ctx context.Context, open func(context.Context) (checkpoint.Store, error), verb string, f bulkFlags,
	do func(context.Context, *session, graph.CommitInfo) (bulkOutcome, error)) error {
	where, err := threadTerms.parse(f.where)
	if err != nil {
		return err
	}
	return withStore(ctx, open, func(store checkpoint.Store) error {
		graphs := &openedGraphs{}
		tasks := func(yield func(bulkTask, error) bool) {
			for p, err := range selected(ctx, store, where) {
				work := func(ctx context.Context) (bulkOutcome, error) {
					if err != nil {
						return bulkOutcome{}, err
					}
					return do(ctx, &session{app: a, store: store, thread: p.Thread, opened: graphs}, p)
				}
				if p.Thread != "" {
					if !yield(bulkTask{thread: p.Thread, do: work}, nil) {
						return
					}
				} else if !yield(bulkTask{}, err) {
					return
				}
			}
		}
		n, err := a.bulk(ctx, verb, f, tasks)
		if err == nil && n == 0 {
			return a.explainNone(ctx, store, where)
		}
		return err
	})
}

// bulk does the tasks, a few at once, and prints what came of each, in their order. It returns the
// number of tasks.
func (a *app) bulk(ctx context.Context, verb string, f bulkFlags, tasks iter.Seq2[bulkTask, error]) (int, error) {
	if f.drain == nil {
		f.drain = new(graph.Drain)
	}
	b := &bulkRun{app: a, verb: verb, limits: f, report: bulkReport{Outcomes: map[string]int{}}, stop: make(chan struct{})}
	defer a.signals.OnFirst(func() {
		close(b.stop)
		f.drain.Request(terminal.ErrSignal.Error())
		a.Note("finishing what runs; one more signal stops at once")
	})()
	rows := make(chan (<-chan bulkOutcome), f.parallel+threadsPage)
	var failed error // of the listing; read after rows is closed
	go func() {
		defer close(rows)
		failed = b.start(ctx, tasks, rows)
	}()
	err := b.print(rows)
	if err == nil {
		err = failed
	}
	return b.report.Threads, b.end(ctx, err)
}

// bulkRun is one call of a verb for many threads.
type bulkRun struct {
	*app
	verb   string
	limits bulkFlags
	report bulkReport
	stop   chan struct{} // closed by the first signal
}

// start starts the tasks, and sends a channel for the outcome of each.
func (b *bulkRun) start(ctx context.Context, tasks iter.Seq2[bulkTask, error], rows chan<- (<-chan bulkOutcome)) error {
	permits := make(chan struct{}, b.limits.parallel)
	var running sync.WaitGroup
	defer running.Wait()
	n := 0
	for t, err := range tasks {
		if err != nil {
			return err
		}
		if n++; b.limits.limit > 0 && n > b.limits.limit {
			return nil
		}
		select {
		case <-b.stop:
			return nil
		case <-ctx.Done():
			return nil
		case permits <- struct{}{}:
		}
		row := make(chan bulkOutcome, 1)
		rows <- row
		running.Go(func() {
			row <- b.one(ctx, t)
			<-permits
		})
	}
	return nil
}

// one does a task within its time.
func (b *bulkRun) one(ctx context.Context, t bulkTask) (o bulkOutcome) {
	own, cancel := context.WithTimeout(ctx, b.limits.timeout)
	defer cancel()
	o, err := t.do(own)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		o = did(outcomeStopped, "finished work is stored")
		o.Code = terminal.ExitSignal
	case own.Err() != nil:
		o = did(outcomeFailed, "it took longer than %v", b.limits.timeout)
		o.Code = reports.ExitFailed
	default:
		f := b.Classify(err)
		o = did(outcomeFailed, "%s", reports.OneLine(b.Public(reports.Message(err))))
		if o.Code = cmp.Or(f.Code, reports.ExitFailed); isBusy(err) {
			o.Outcome, o.Code = outcomeBusy, reports.ExitBusy
		}
	}
	o.Thread, o.Run = t.thread, t.run
	return o
}

// isBusy reports whether an error is that of a thread on which another process works.
func isBusy(err error) bool {
	for _, is := range []error{checkpoint.ErrOwned, checkpoint.ErrFenced, checkpoint.ErrConflict, graph.ErrMoved} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// rowsPage is the number of rows whose columns are aligned.
const rowsPage = 50

// print prints the outcomes in their order until all have come.
func (b *bulkRun) print(rows <-chan (<-chan bulkOutcome)) (err error) {
	p := b.progress()
	defer p.Clear()
	t := b.Table("THREAD", "OUTCOME", "CODE", "DETAIL")
	for row := range rows {
		o := <-row
		b.report.Threads++
		b.report.Outcomes[o.Outcome]++
		if err != nil {
			continue // the output is closed, and what runs has to end
		}
		detail := o.Detail
		if o.Run != "" {
			detail = "run " + o.Run + ": " + detail
		}
		if err = t.Add(o, o.Thread, o.Outcome, o.Code, detail); err == nil && b.report.Threads%rowsPage == 0 {
			p.Clear()
			err = t.Flush()
		}
		p.Show(b.verb, b.report)
	}
	p.Clear()
	return errors.Join(err, t.Flush())
}

// end prints the report, and returns how the command ends.
func (b *bulkRun) end(ctx context.Context, err error) error {
	select {
	case <-b.stop:
		b.report.Stopped = true
	default:
		b.report.Stopped = ctx.Err() != nil
	}
	if b.JSON {
		err = errors.Join(err, b.PrintJSON(map[string]bulkReport{"report": b.report}))
	} else {
		_, perr := fmt.Fprintln(b.Stdout, b.report)
		err = errors.Join(err, perr)
	}
	switch n := b.report.Outcomes; {
	case b.report.Stopped:
		return &reports.Failure{Code: terminal.ExitSignal, Err: terminal.ErrSignal, Next: "the same command does the rest"}
	case err != nil:
		return err
	case n[outcomeFailed]+n[outcomeLacks] > 0:
		return &reports.Failure{Code: reports.ExitFailed}
	case n[outcomeBusy] > 0:
		return &reports.Failure{Code: reports.ExitBusy}
	}
	return nil
}

// openedGraphs are the graphs that a command has opened for many threads.
type openedGraphs struct {
	mu    sync.Mutex
	graph map[string]openedGraph
}

type openedGraph struct {
	declared
	err error
}

// open opens a graph, or returns it as it was opened.
func (o *openedGraphs) open(ctx context.Context, s *session, path string) (declared, error) {
	if o == nil {
		return s.openGraph(ctx, path)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if g, ok := o.graph[path]; ok {
		return g.declared, g.err
	}
	d, err := s.openGraph(context.WithoutCancel(ctx), path) // the graph outlives the thread
	if o.graph == nil {
		o.graph = map[string]openedGraph{}
	}
	o.graph[path] = openedGraph{d, err}
	return d, err
}
