package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/topic"
)

// DefaultLease is the Lease of a Config without one.
const DefaultLease = 1500 * time.Millisecond

// Config are the settings of a Queue. Store and Documents are required.
type Config struct {
	// Store has the threads. It must be a checkpoint.Leaser, and for rollbacks a
	// checkpoint.Dropper.
	Store checkpoint.Store
	// Documents has the runs. It must be that of the Store, or as durable.
	Documents document.Store
	// Bus announces changes to other processes; without one they notice them within a second.
	Bus topic.Bus
	// Lease is how long a claim lasts whose process has died: DefaultLease if it is 0.
	Lease time.Duration
	// Engine is true where an engine carries out the runs and leases their threads. A claim then
	// has a lease of its own, and leaves that of the thread to the engine. All processes with the
	// same runs must agree on it.
	Engine bool
	// Line is how many unfinished runs a thread may have: 10,000 if it is 0.
	Line int
	// Attempts is how many attempts in a row may commit nothing before the run fails: 3 if it is 0.
	Attempts int
	// LogEnd, unless it is nil, returns the position of the newest event in the log of a thread. It
	// is called when a run is created on a thread without unfinished runs.
	LogEnd func(ctx context.Context, thread string) (uint64, error)
	// Ended, unless it is nil, is called for each run that has ended without a worker: it was
	// cancelled, or it had no attempts left. alone is false if another run of the thread is
	// running. It may be called by several goroutines at once.
	Ended func(ctx context.Context, r Run, alone bool)
	// Claimed, unless it is nil, is called for each claim, by several goroutines at once. It must
	// not block.
	Claimed func(Claimed)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Claimed describes a claim.
type Claimed struct {
	// Lag is how long the run could have been claimed before it was: since its turn came, or since
	// the lease of a process ran out that had died.
	Lag time.Duration
	// Reaped is true if the process of another claim left the run behind.
	Reaped bool
}

// Queue is the queue of all runs on a store. It is safe for concurrent use, by many processes.
type Queue struct {
	config Config
	leaser checkpoint.Leaser
	news   signals
	id     string // of this queue among those that announce changes
	search search // for the runs of dead processes

	lookedForLeft atomic.Int64 // the interval, see passEvery, in which Claim has looked for them

	announcements announcements
}

const (
	runsOf  = "weft.runs"  // collection: a partition for each thread, with its runs and its line
	looksAt = "weft.lines" // collection: when to look at a thread, in one partition
	lineID  = "line"       // of the document in the partition of a thread
)

var looks = document.At(looksAt, "all")

// New returns the queue on a store.
func New(c Config) (*Queue, error) {
	leaser, ok := c.Store.(checkpoint.Leaser)
	if !ok || c.Documents == nil {
		return nil, fmt.Errorf("%w: Store must have leases and Documents must be set (got %T and %T)", ErrConfig, c.Store, c.Documents)
	}
	c.Lease, c.Attempts, c.Line = cmp.Or(c.Lease, DefaultLease), cmp.Or(c.Attempts, 3), cmp.Or(c.Line, 10_000)
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Queue{config: c, leaser: leaser, id: checkpoint.NewFence()}, nil
}

// Created is what Create has done.
type Created struct {
	Run Run
	// Cancelled are the ids of the runs that the rule cancels. Those that are running end later.
	Cancelled []string
}

// Create stores a run, and puts it into the line of its thread. When it returns, the run survives
// every process.
func (q *Queue) Create(ctx context.Context, r Run, rule Rule) (Created, error) {
	switch {
	case r.ID == "" || r.ID == lineID:
		return Created{}, fmt.Errorf("%w: the id of a run must not be %q", ErrRequest, r.ID)
	case !slices.Contains([]Rule{"", Enqueue, Reject, Interrupt, Rollback}, rule):
		return Created{}, fmt.Errorf("%w: rule must be enqueue, reject, interrupt or rollback (got %.100q)", ErrRequest, rule)
	}
	if err := checkpoint.CheckThread(r.Thread); err != nil {
		return Created{}, err
	}
	done := Created{}
	var unread *thread
	if r.Thread == r.ID && !r.Due.After(q.config.Now()) { // a run without a thread gets a new one
		unread = q.thread(r.Thread)
	}
	var changed *thread
	err := q.changeFrom(ctx, unread, r.Thread, func(t *thread) error {
		done, changed = Created{}, t
		if t.line.find(r.ID) >= 0 {
			return exists(r)
		}
		r.LogStart = q.logStart(ctx, t)
		switch rule {
		case Reject:
			if len(t.line.Runs) > 0 {
				return fmt.Errorf("%w: thread %.100q", ErrThreadBusy, r.Thread)
			}
		case Interrupt, Rollback:
			for _, e := range slices.Clone(t.line.Runs) {
				if err := t.cancel(ctx, e.ID, map[Rule]Action{Interrupt: Stop, Rollback: Undo}[rule]); err != nil {
					return err
				}
				done.Cancelled = append(done.Cancelled, e.ID)
			}
		}
		if len(t.line.Runs) >= q.config.Line {
			return fmt.Errorf("%w: thread %.100q has %d unfinished runs", ErrFull, r.Thread, len(t.line.Runs))
		}
		r.Status, r.Created, r.Updated, r.Attempt = Pending, t.now, t.now, 0
		t.line.LogStart = r.LogStart
		t.line.Runs = append(t.line.Runs, entry{ID: r.ID, Owner: r.Owner, Due: r.Due, Since: t.now, LogStart: r.LogStart})
		t.set(r)
		t.changes[len(t.changes)-1].If = new(uint64(0))
		done.Run = r
		return nil
	})
	switch {
	case errors.Is(err, document.ErrConflict):
		err = exists(r)
	case errors.Is(err, checkpoint.ErrUnknownOutcome) && q.isStored(ctx, done.Run):
		changed.report(ctx)
		err = nil // the caller would create it again
	}
	return done, err
}

// logTime bounds a call of Config.LogEnd: a run can be created without it.
const logTime = 500 * time.Millisecond

// logStart returns the LogStart of a run that is added to a thread. If the log cannot be asked, it
// is that of the run before: readers then read more than they need.
func (q *Queue) logStart(ctx context.Context, t *thread) uint64 {
	switch {
	case len(t.line.Runs) > 0:
		return t.line.Runs[0].LogStart
	case q.config.LogEnd == nil || t.version == 0: // the thread is new
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	end, err := q.config.LogEnd(ctx, t.id)
	if err != nil {
		return t.line.LogStart
	}
	return end
}

// isStored reports whether a run was stored by a call whose reply was lost.
func (q *Queue) isStored(ctx context.Context, r Run) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.config.Lease)
	defer cancel()
	stored, err := q.Get(ctx, r.Thread, r.ID)
	return err == nil && stored.Created.Equal(r.Created) // else another process has created it
}

// Cancel cancels a run. A pending run has ended when it returns; a running one ends soon, see
// [Claim.Cancelled]. For a run that has ended it does nothing.
func (q *Queue) Cancel(ctx context.Context, threadID, id string, a Action) (Run, error) {
	if a != Stop && a != Undo {
		return Run{}, fmt.Errorf("%w: action must be interrupt or rollback (got %.100q)", ErrRequest, a)
	}
	var r Run
	err := q.change(ctx, threadID, func(t *thread) (err error) {
		if r, err = t.get(ctx, id); err != nil || r.Status.Ended() {
			return cmp.Or(err, errUnchanged)
		}
		if err = t.cancel(ctx, id, a); err == nil {
			r = t.changed(id, r)
		}
		return err
	})
	return r, err
}

// Get returns a run, or ErrNotFound.
func (q *Queue) Get(ctx context.Context, threadID, id string) (Run, error) {
	d, err := q.config.Documents.Get(ctx, document.At(runsOf, threadID), id)
	if errors.Is(err, document.ErrNotFound) || id == lineID {
		return Run{}, notFound(threadID, id)
	}
	if err != nil {
		return Run{}, err
	}
	return runIn(d)
}

// List returns the runs of a thread in the order of Create.
func (q *Queue) List(ctx context.Context, threadID string) (runs []Run, err error) {
	docs, err := q.config.Documents.Query(ctx, document.Query{Place: document.At(runsOf, threadID)})
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		if d.ID == lineID {
			continue
		}
		r, err := runIn(d)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// Threads returns the threads that have runs, or have had some.
func (q *Queue) Threads(ctx context.Context) (threads []string, err error) {
	page := document.Query{Place: document.At(runsOf, ""), Limit: new(lookPage)}
	for {
		docs, err := q.config.Documents.Query(ctx, page)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			if n := len(threads); n == 0 || threads[n-1] != d.Partition { // they are in the order of partitions
				threads = append(threads, d.Partition)
			}
		}
		if len(docs) < lookPage {
			return threads, nil
		}
		page.After = new(docs[len(docs)-1].Position())
	}
}

// Unfinished returns the ids of the runs of a thread that have not ended, in their order.
func (q *Queue) Unfinished(ctx context.Context, threadID string) (ids []string, err error) {
	t, err := q.open(ctx, threadID)
	for _, e := range t.line.Runs {
		ids = append(ids, e.ID)
	}
	return ids, err
}

// Delete removes a run. A pending run ends without running; a running one is an ErrRunning.
func (q *Queue) Delete(ctx context.Context, threadID, id string) error {
	return q.change(ctx, threadID, func(t *thread) error {
		r, err := t.get(ctx, id)
		if err != nil {
			return err
		}
		if r.Status == Running {
			return fmt.Errorf("%w: run %.100q of thread %.100q", ErrRunning, id, threadID)
		}
		t.remove(id)
		return nil
	})
}

// Forget removes the runs of a thread and its line. All its runs must have ended, else it returns
// ErrThreadBusy.
func (q *Queue) Forget(ctx context.Context, threadID string) error {
	for {
		var moved *document.ConflictError
		if err := q.forget(ctx, threadID); !errors.As(err, &moved) || moved.ID != lineID {
			return err
		}
	}
}

// forget is Forget for once: a ConflictError is that of another writer of the line.
func (q *Queue) forget(ctx context.Context, threadID string) error {
	t, err := q.open(ctx, threadID)
	if err != nil {
		return err
	}
	if len(t.line.Runs) > 0 {
		return fmt.Errorf("%w: thread %.100q", ErrThreadBusy, threadID)
	}
	runs, err := q.List(ctx, threadID)
	if err != nil {
		return err
	}
	var gone []document.Change
	for _, r := range runs {
		gone = append(gone, document.Change{ID: r.ID})
	}
	if t.version != 0 {
		gone = append(gone, document.Change{ID: lineID, If: &t.version})
	}
	for part := range slices.Chunk(gone, 100) { // the line is last
		if _, err := q.config.Documents.Batch(ctx, t.place, part); err != nil {
			return err
		}
	}
	return nil
}

// retryFor is how long Wait waits for a store that is away.
const retryFor = 30 * time.Second

// Wait waits until a run has ended or was removed, which is an ErrNotFound. A store that is away
// for a moment is no error: the run goes on.
func (q *Queue) Wait(ctx context.Context, threadID, id string) (Run, error) {
	for answered := time.Now(); ; {
		changed := q.news.next(threadID)
		switch r, err := q.Get(ctx, threadID, id); {
		case checkpoint.IsTemporary(err) && time.Since(answered) < retryFor:
		case err != nil || r.Status.Ended():
			return r, err
		default:
			answered = time.Now()
		}
		if err := await(ctx, changed, time.Second); err != nil {
			return Run{}, err
		}
	}
}

// await waits for news, or for a time; an error is that of ctx.
func await(ctx context.Context, news <-chan struct{}, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-news:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

func runIn(d document.Doc) (r Run, err error) {
	if err := json.Unmarshal(d.Value, &r); err != nil {
		return r, fmt.Errorf("queue: %v, id %.100q: %w", d.Place, d.ID, err)
	}
	return r, nil
}
