package wake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
)

// Config are the settings of a waker. Store, Timers and Resume are required.
type Config struct {
	// Store has the threads.
	Store checkpoint.Store
	// Timers is that of the graphs' Config.Timers.
	Timers *Timers
	// Resume resumes a thread without an answer, which closes its questions that have expired; see
	// [Graphs]. It returns when the run has ended, or will be carried out by others.
	Resume func(ctx context.Context, t graph.Timer) error
	// Start begins a run of a schedule; see [Starts]. It returns a graph.ErrMoved if the thread is
	// there already. nil means that schedules wait.
	Start func(ctx context.Context, s Start) error
	// Notify sends a notice; nil drops all notices. After an error the notice is sent again later.
	Notify func(ctx context.Context, n Notice) error
	// Poll is how long a new timer may go unnoticed; 0 means 1 second.
	Poll time.Duration
	// Concurrency bounds how many threads are resumed at once; 0 means 16. Others that are due wait
	// for one of them.
	Concurrency int
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log gets what fails; nil means slog.Default.
	Log *slog.Logger
}

// Kind is why a Notice is sent.
type Kind string

// The kinds of notices.
const (
	Reminder   Kind = "reminder"   // the question is still open
	Escalation Kind = "escalation" // another person is asked from now on
)

// Notice reports that a question waits.
type Notice struct {
	Kind     Kind            `json:"kind"`
	Thread   string          `json:"thread"`
	Graph    string          `json:"graph"`
	To       string          `json:"to,omitempty"` // who is asked now; "" is anybody
	At       time.Time       `json:"at"`           // when the notice was due
	Question graph.Interrupt `json:"question"`
}

// Report counts what a waker has done.
type Report struct {
	Started  int `json:"started"`  // threads that schedules began
	Resumed  int `json:"resumed"`  // threads that went on
	Notified int `json:"notified"` // notices that were sent
	Failed   int `json:"failed"`   // threads that are tried again later
}

// foreignTime is how long a waker leaves a thread to others whose graph it does not have.
const foreignTime = time.Minute

// maxForeign is how many of them a waker remembers.
const maxForeign = 10_000

// leaseTime is how long a thread waits for the waker that holds it, if its process dies.
const leaseTime = 1500 * time.Millisecond

// page is how many entries are read at once.
const page = 128

// Graphs returns a Config.Resume for graphs in this process.
func Graphs(graphs ...graph.Untyped) func(context.Context, graph.Timer) error {
	return func(ctx context.Context, t graph.Timer) error {
		i := slices.IndexFunc(graphs, func(g graph.Untyped) bool { return g.Name() == t.Graph })
		if i < 0 {
			return fmt.Errorf("%w: %q, of thread %.100q", ErrGraph, t.Graph, t.Thread)
		}
		_, err := graphs[i].Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: t.Thread, Via: Via, Lease: checkpoint.HoldOptions{TTL: leaseTime}})
		return err
	}
}

// Via is the RunOptions.Via of the runs that [Graphs] resumes.
const Via = "timer"

// ErrGraph is returned by a Config.Resume that does not have the graph of a thread.
var ErrGraph = errors.New("wake: unknown graph")

// Run resumes threads whose time has come until ctx ends. Then it returns nil when the runs that
// it has begun have ended. It returns an ErrConfig for a Config that cannot be used. While the
// store is away, it tries again.
func Run(ctx context.Context, c Config) error {
	w, err := newWaker(c)
	if err != nil {
		return err
	}
	defer w.running.Wait()
	for ctx.Err() == nil {
		next := w.pass(ctx, w.config.Now())
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return nil
}

// Once does what is due now, and returns what it did. The error joins those of the threads that
// failed, which are tried again by a later call.
func Once(ctx context.Context, c Config) (Report, error) {
	w, err := newWaker(c)
	if err != nil {
		return Report{}, err
	}
	w.pass(ctx, w.config.Now())
	w.running.Wait()
	return w.report, errors.Join(append(w.errs, context.Cause(ctx))...)
}

// waker is one that runs.
type waker struct {
	config  Config
	slots   chan struct{} // one for each thread that is attended to
	running sync.WaitGroup

	mu   sync.Mutex
	open map[string]bool // the ids of the entries that are attended to
	// foreign are the entries whose graphs this waker does not have, and until when it leaves them
	// to others.
	foreign map[string]time.Time
	report  Report
	errs    []error // of the newest pass
}

func newWaker(c Config) (*waker, error) {
	if c.Store == nil || c.Timers == nil || c.Resume == nil {
		return nil, fmt.Errorf("%w: Store, Timers and Resume must be set", ErrConfig)
	}
	if c.Poll < 0 || c.Concurrency < 0 {
		return nil, fmt.Errorf("%w: Poll and Concurrency must not be negative (got %v and %d)", ErrConfig, c.Poll, c.Concurrency)
	}
	c.Poll, c.Concurrency = cmp.Or(c.Poll, time.Second), cmp.Or(c.Concurrency, 16)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return &waker{config: c, slots: make(chan struct{}, c.Concurrency), open: map[string]bool{}, foreign: map[string]time.Time{}}, nil
}

// pass begins what is due at a time, and returns how long to wait before the next pass. What an
// earlier pass has begun goes on meanwhile.
func (w *waker) pass(ctx context.Context, now time.Time) time.Duration {
	w.mu.Lock()
	w.errs = nil
	w.mu.Unlock()
	var after *document.Position
	for {
		docs, err := w.config.Timers.query(ctx, document.Query{Until: document.AtTime(now.Add(1)), After: after, Limit: new(page)})
		if err != nil {
			w.failed(ctx, "read the timers", err)
			return w.config.Poll
		}
		for _, d := range docs {
			if !w.enter(d.ID) {
				continue
			}
			select {
			case w.slots <- struct{}{}:
			case <-ctx.Done():
				w.exit(d.ID)
				return 0
			}
			w.running.Go(func() {
				defer func() { <-w.slots }()
				w.wake(ctx, d)
			})
		}
		if len(docs) < page {
			break
		}
		after = new(docs[len(docs)-1].Position())
	}
	return w.untilNext(ctx, now)
}

// enter reports whether an entry is not open yet, and opens it. The caller then calls exit.
func (w *waker) enter(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[id] || w.config.Now().Before(w.foreign[id]) {
		return false
	}
	delete(w.foreign, id)
	w.open[id] = true
	return true
}

// skip leaves an entry to wakers that have its graph.
func (w *waker) skip(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.foreign) >= maxForeign {
		clear(w.foreign)
	}
	w.foreign[id] = w.config.Now().Add(foreignTime)
}

func (w *waker) exit(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, id)
}

// untilNext returns how long nothing is due, at most Poll.
func (w *waker) untilNext(ctx context.Context, now time.Time) time.Duration {
	first, err := w.config.Timers.query(ctx, document.Query{From: document.AtTime(now.Add(1)), Limit: new(1)})
	if err != nil || len(first) == 0 {
		return w.config.Poll
	}
	s, err := storedIn(first[0])
	if err != nil {
		return w.config.Poll
	}
	return min(max(s.At.Sub(now), time.Millisecond), w.config.Poll)
}

// failed notes what went wrong.
func (w *waker) failed(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, fmt.Errorf("%s: %w", what, err))
	w.config.Log.Warn("wake: "+what, "error", err)
}

// count adds to the report.
func (w *waker) count(add Report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Started += add.Started
	w.report.Resumed += add.Resumed
	w.report.Notified += add.Notified
	w.report.Failed += add.Failed
}
