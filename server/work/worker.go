package work

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/server/queue"
)

// Config are the settings of a Worker. Queue, Store, Bus and Host are required.
type Config struct {
	Queue *queue.Queue
	Store checkpoint.Store // the store of the queue
	Bus   topic.Bus        // the bus of the event log
	Host  Host
	Slots int // runs at once: 64 if it is 0
	// Every is how often the worker looks for runs of other processes, and for those that a dead
	// process left behind: 250 ms if it is 0.
	Every time.Duration
	// Grace is the Grace of runs whose RunOptions have none: 10 s if it is 0.
	Grace time.Duration
	// Drain is how long a run may go on when the worker stops, before it is cancelled: 25 s if it
	// is 0.
	Drain time.Duration
	// Abort, when it is closed, ends the time of Drain at once. nil means never.
	Abort <-chan struct{}
	Now   func() time.Time // nil means time.Now
	Log   *slog.Logger     // nil means slog.Default
}

// Worker runs the runs of a queue.
type Worker struct {
	config Config
	log    eventlog.Log
	drain  graph.Drain
	leave  chan struct{} // closed when the worker stops and leaves remote runs to their engines
	busy   atomic.Int64  // slots with a run
}

// Slots returns how many runs may run at once, and how many do.
func (w *Worker) Slots() (all, busy int) { return w.config.Slots, int(w.busy.Load()) }

// New returns a worker. Call its Work only once.
func New(c Config) *Worker {
	c.Slots = cmp.Or(c.Slots, 64)
	c.Every = cmp.Or(c.Every, 250*time.Millisecond)
	c.Grace, c.Drain = cmp.Or(c.Grace, 10*time.Second), cmp.Or(c.Drain, 25*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return &Worker{config: c, log: eventlog.Log{Bus: c.Bus}, leave: make(chan struct{})}
}

// claimsAtOnce is how many runs are claimed before they begin. When a process has died, the first
// of its runs do not wait until all of them are claimed.
const claimsAtOnce = 4

// Work claims and runs runs until ctx ends. Then it drains, and returns when it runs nothing more.
func (w *Worker) Work(ctx context.Context) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer w.announced(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	free := make(chan struct{}, w.config.Slots)
	for range w.config.Slots {
		free <- struct{}{}
	}
	ended := make(chan struct{}, 1)
	tick := time.NewTicker(w.config.Every)
	defer tick.Stop()
	for ctx.Err() == nil {
		news := w.config.Queue.Changed("")
		claims, err := w.config.Queue.Claim(ctx, min(len(free), claimsAtOnce))
		if err != nil && ctx.Err() == nil {
			w.config.Log.ErrorContext(ctx, "work: claim runs", "error", err)
		}
		for _, c := range claims {
			<-free
			wg.Go(func() {
				w.busy.Add(1)
				w.run(running, c)
				w.busy.Add(-1)
				free <- struct{}{}
				select {
				case ended <- struct{}{}:
				default:
				}
			})
		}
		if err == nil && len(claims) == claimsAtOnce { // there may be more
			continue
		}
		select {
		case <-news:
		case <-ended:
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	w.drain.Request("the worker stops")
	close(w.leave)
	timer := time.AfterFunc(w.config.Drain, stop)
	defer timer.Stop()
	drained := make(chan struct{})
	go func() { wg.Wait(); close(drained) }()
	select {
	case <-w.config.Abort:
		stop()
		<-drained
	case <-drained:
	}
}

// announceTime bounds how long a worker that has drained waits until other processes are notified.
const announceTime = time.Second

// announced waits until the runs that were put back are announced to other processes.
func (w *Worker) announced(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), announceTime)
	defer cancel()
	w.config.Queue.Announced(ctx)
}

// run runs a claim to its end, and logs how it ended.
func (w *Worker) run(ctx context.Context, c *queue.Claim) {
	began := time.Now()
	o, err := w.attempt(ctx, c)
	switch {
	case errors.Is(err, queue.ErrLost):
		c.Abandon()
		w.config.Log.WarnContext(ctx, "work: the claim of a run was lost", "run_id", c.Run.ID, "thread", c.Run.Thread, "attempt", c.Run.Attempt)
		return
	case errors.Is(err, errAgain):
		c.Abandon()
		w.config.Log.WarnContext(ctx, "work: the run will be begun again", "run_id", c.Run.ID, "thread", c.Run.Thread, "attempt", c.Run.Attempt, "error", o.Err)
		return
	case err != nil:
		c.Abandon() // it is begun again when the lease has run out
		w.config.Log.ErrorContext(ctx, "work: end a run", "run_id", c.Run.ID, "thread", c.Run.Thread, "error", err)
		return
	}
	w.config.Log.InfoContext(ctx, "work: run", "run_id", c.Run.ID, "thread", c.Run.Thread, "attempt", c.Run.Attempt,
		"status", o.Status, "ms", time.Since(began).Milliseconds())
}

// attempt runs one attempt, and ends the run or puts it back.
func (w *Worker) attempt(ctx context.Context, c *queue.Claim) (o Outcome, err error) {
	journal := w.log.Writer(c.Run.Thread, c.Run.ID, c.Run.Attempt)
	var job Job
	o = w.outcome(ctx, c, journal, func() (err error) {
		if job, err = w.config.Host.Job(c.Context(), c.Run); err == nil && job.Request != nil {
			err = c.Amend(c.Context(), job.Request)
		}
		return err
	}, &job)
	switch {
	case c.Context().Err() != nil, w.ownsNoMore(ctx, c, o.Err):
		w.close(ctx, c, journal)
		return o, queue.ErrLost
	case (!c.Last || o.Result.Checkpoint > c.Head) && storeWasAway(job.Graph, o):
		w.close(ctx, c, journal)
		return o, errAgain
	}
	if job.Start != nil {
		w.note(journal, o.note(job.Options.MaxSteps))
		if o.Status != queue.Pending && !logs(job.Graph) {
			journal.End()
		}
	}
	w.close(ctx, c, journal)
	if o.Status == queue.Pending {
		return o, store(ctx, c, c.PutBack)
	}
	ended := func(ctx context.Context) error { return w.config.Host.Ended(ctx, c.Run, o) }
	if err := store(ctx, c, ended); err != nil {
		return o, err
	}
	return o, store(ctx, c, func(ctx context.Context) error { return c.Finish(ctx, o.end(job.Options.MaxSteps)) })
}

// store stores the end of an attempt. While its store is away it tries again, until the claim is
// lost or the worker has no more time: another attempt would run what has ended.
func store(ctx context.Context, c *queue.Claim, end func(context.Context) error) error {
	for wait := firstWait; ; wait = min(2*wait, mostWait) {
		err := end(context.WithoutCancel(ctx))
		if !checkpoint.IsTemporary(err) {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-c.Context().Done():
			timer.Stop()
			return err
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// The times between two tries to store an end.
const firstWait, mostWait = 50 * time.Millisecond, time.Second

// errAgain is returned for an attempt that is followed by another when the lease has run out.
var errAgain = errors.New("work: the run is to be begun again")

// ownsNoMore reports whether an attempt failed because its claim is lost.
func (w *Worker) ownsNoMore(ctx context.Context, c *queue.Claim, err error) bool {
	return errors.Is(err, checkpoint.ErrLeaseLost) || errors.Is(err, queue.ErrLost) || errors.Is(err, checkpoint.ErrFenced) && c.Lost(context.WithoutCancel(ctx))
}

// storeWasAway reports whether an attempt failed because its store did not answer: the next attempt
// may succeed. An engine tries again by itself.
func storeWasAway(g graph.Untyped, o Outcome) bool {
	if o.Status != queue.Failed || !checkpoint.IsTemporary(o.Err) || errors.Is(o.Err, checkpoint.ErrFull) {
		return false
	}
	var before *jobError
	if errors.As(o.Err, &before) {
		return true
	}
	_, remote := g.(Engine)
	return !remote && graph.StoreWasAway(o.Err)
}

// note adds a note to the log.
func (w *Worker) note(journal *eventlog.Writer, n note) {
	n.At = w.config.Now().UTC()
	if n.Ended != nil {
		n.Ended.Time = n.At
	}
	data, err := json.Marshal(n)
	if err != nil {
		w.config.Log.Error("work: a note for the log of events", "error", err)
		return
	}
	journal.Note(data)
}

// closeTime bounds the wait for the last events of an attempt.
const closeTime = 10 * time.Second

// close closes journal, and waits until all that was written to it is in the log.
func (w *Worker) close(ctx context.Context, c *queue.Claim, journal *eventlog.Writer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if err := journal.Close(ctx); err != nil {
		w.config.Log.ErrorContext(ctx, "work: the log of events", "run_id", c.Run.ID, "thread", c.Run.Thread, "error", err)
	}
}

// outcome runs the graph of a claim. prepare sets job. A panic, such as one of the host, is the
// failure of the run.
func (w *Worker) outcome(ctx context.Context, c *queue.Claim, journal *eventlog.Writer, prepare func() error, job *Job) (o Outcome) {
	defer func() {
		if v := recover(); v != nil {
			o = Outcome{Status: queue.Failed, Err: &graph.PanicError{Value: v, Stack: debug.Stack()}}
		}
	}()
	if c.Action != "" && !c.Again {
		return Outcome{Status: queue.Interrupted}
	}
	err := prepare()
	engine, remote := job.Graph.(Engine)
	switch {
	case c.Action != "" && (err != nil || !remote): // no engine runs it
		*job = Job{}
		return Outcome{Status: queue.Interrupted}
	case err != nil:
		return Outcome{Status: queue.Failed, Err: &jobError{c.Run, err}}
	}
	again, err := w.hasCommits(c)
	if err != nil {
		return Outcome{Status: queue.Failed, Err: &jobError{c.Run, err}}
	}
	if remote && c.Again {
		job.Graph = engine.Rejoin()
	}
	work, stop := context.WithCancelCause(context.WithoutCancel(c.Context()))
	defer stop(nil)
	defer context.AfterFunc(c.Context(), func() { stop(w.lost(c, remote)) })()
	defer context.AfterFunc(ctx, func() { stop(errDrained) })()
	if c.Action != "" {
		stop(errCancelled)
	}
	var watcher sync.WaitGroup
	defer watcher.Wait()
	watching, unwatch := context.WithCancel(work)
	defer unwatch()
	watcher.Go(func() {
		if c.Cancelled(watching) != "" {
			stop(errCancelled)
		}
	})
	options := job.Options
	options.ID, options.Thread, options.Lease, options.Hold, options.Drain = c.Run.ID, c.Run.Thread, c.Lease(), true, &w.drain
	options.Grace = cmp.Or(options.Grace, w.config.Grace)
	if remote {
		options.Drain, options.Lease.TTL = nil, 0 // the engine has its own
		watcher.Go(func() {
			select {
			case <-w.leave:
				stop(errLeft)
			case <-watching.Done():
			}
		})
	}
	if job.Start != nil {
		w.begin(work, c, journal, job, again)
	}
	h := job.start(work, options, again)
	if job.Start != nil && !logs(job.Graph) {
		for ev, err := range h.Join(eventlog.Reader()) {
			if err == nil {
				journal.Write(ev)
			}
		}
	}
	return outcomeOf(h.Wait())
}

// lost returns the cause with which the worker ends its call for a run whose claim is lost. A
// remote run goes on in its engine, and the process that claims it next rejoins it.
func (w *Worker) lost(c *queue.Claim, remote bool) error {
	if remote {
		return errLeft
	}
	return context.Cause(c.Context())
}

// begin notes the beginning of an attempt in the log. again is true if an earlier attempt has made
// commits; begin then adds the events of these commits that the log lacks.
func (w *Worker) begin(ctx context.Context, c *queue.Claim, journal *eventlog.Writer, job *Job, again bool) {
	begin := note{Begin: job.Start, Step: job.Step, Head: job.Head, Engine: logs(job.Graph)}
	var lacks restored
	if again && !logs(job.Graph) {
		var err error
		if lacks, err = w.restore(ctx, c, job); err != nil && ctx.Err() == nil { // the run goes on all the same
			w.config.Log.ErrorContext(ctx, "work: restore the log of events", "run_id", c.Run.ID, "thread", c.Run.Thread, "error", err)
		}
	}
	if lacks.begins {
		if begin.Step, begin.Head = -2, 0; lacks.before != nil && job.StepOf != nil {
			begin.Step = job.StepOf(*lacks.before)
		}
	}
	if logs(job.Graph) { // the engine writes the events, and the note is in the log before them
		first := w.log.Writer(c.Run.Thread, c.Run.ID, c.Run.Attempt)
		w.note(first, begin)
		w.close(ctx, c, first)
		return
	}
	w.note(journal, begin)
	for _, ev := range lacks.events {
		journal.Write(ev)
	}
}

// restore returns the events of the run's commits that the log lacks.
func (w *Worker) restore(ctx context.Context, c *queue.Claim, job *Job) (lacks restored, err error) {
	ctx, cancel := context.WithTimeout(ctx, restoreTime)
	defer cancel()
	r := restorer{store: w.config.Store, graph: job.Graph, thread: c.Run.Thread, run: c.Run.ID}
	if r.seen, err = readLogged(ctx, w.log, c.Run.Thread, c.Run.ID, c.Run.LogStart); err != nil {
		return lacks, err
	}
	return r.restore(ctx)
}

// hasCommits reports whether the newest commit of the thread is one of the run's, from an attempt
// before.
func (w *Worker) hasCommits(c *queue.Claim) (bool, error) {
	if !c.Again {
		return false, nil
	}
	p, err := graph.Inspect(c.Context(), w.config.Store, checkpoint.Key{Thread: c.Run.Thread})
	if errors.Is(err, graph.ErrUnknownThread) {
		return false, nil
	}
	return p.Run == c.Run.ID, err
}
