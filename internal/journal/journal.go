package journal

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// Durability is when commits are stored.
type Durability uint8

const (
	Sync  Durability = iota // each commit before Commit returns
	Async                   // each commit beside what follows, in order and one at a time
	Exit                    // at the end of the run, or when something pending must be stored
)

// Source is what a journal stores: the run. Its methods are called while no step changes the state,
// one at a time, and must not block.
type Source interface {
	// Record describes the position of the run. The journal adds Recovered and Trace.
	Record() (*checkpoint.Record, error)
	// State returns the state, and which of its fields differ from the last commit. The journal
	// clears the marks once a commit is made.
	State() (v state.View, changed []bool)
	// Check returns an error if a commit of so many bytes must not be stored.
	Check(bytes int) error
	// Encoded is called when a commit is encoded, before it is sent to the store. What Record
	// and State return from then on is for the next commit.
	Encoded()
	// Stored is called when a commit is stored. It returns a function that reports the commit, or
	// nil. The run's goroutine calls the function later, and it may block.
	Stored(seq uint64) (report func())
	// Restate is called before a commit that stores again what the store has lost: it must describe
	// all that the lost commits described.
	Restate() error
}

// Config describes the chain of a journal. All fields but Parent, Disposable, Keep, Now and
// Observe must be set.
type Config struct {
	Source     Source
	Store      checkpoint.Store
	Key        checkpoint.Key
	Run        string // the id of the run, for the ids of its commits
	Durability Durability
	Parent     *Journal         // that of the run around a subgraph; nil at the root
	Disposable bool             // the end of the run needs no commit if its parent's task finishes
	Keep       checkpoint.Keep  // what is not pruned; the zero value keeps all
	Now        func() time.Time // for Keep
	Writes     *atomic.Int32    // counts the writes that are under way

	Allowed func() error          // why the run must not write any more; nil while it may
	Cancel  func(cause error)     // stops the run, because a commit that was on its way has failed
	Fail    func(error) error     // adds the place of the run to an error
	Panic   func(value any) error // makes the error of a panic in the store
	// Observe, if it is not nil, is called before a call of the store, which gets the context.
	Observe func(ctx context.Context, name string) (inner context.Context, end func(error))
}

// Journal is the storage of one chain while a run owns it.
type Journal struct {
	// Chain is the position in the chain. It is read between steps, and by Source.
	Chain *checkpoint.Chain

	ctx    context.Context // the run's
	cfg    Config
	opened string // the id of the commit at which the chain was opened

	lock     lock         // guards the chain while tasks run, and what follows
	flight   *flight      // the commit on its way
	inline   flight       // the memory of flight, unless the commit is sent beside a step
	stored   uint64       // the newest commit that is known to be stored
	unsaved  bool         // there is something to commit
	restates bool         // the next commit stores again what the store has lost
	before   func() error // stores what the next commit depends on; nil if there is nothing
	trace    []checkpoint.Entry
	traces   []traced      // what was recorded with the run's commits
	reports  []func()      // of the commits that are stored
	pruning  chan struct{} // closed when the pruning that was begun has ended
	writes   Late          // the context of the writes that begin before the run's context has ended
}

// New returns the journal of a run whose context is ctx, on a chain that was opened for it.
func New(ctx context.Context, chain *checkpoint.Chain, cfg Config) *Journal {
	j := &Journal{Chain: chain, ctx: ctx, cfg: cfg, opened: chain.ID(), stored: chain.Head(), lock: make(lock, 1)}
	j.writes.Open(ctx, 0)
	return j
}

// lock is held while the store is called. It is not a sync.Mutex, which must not be held while
// others wait for something slow: in simulated time they would wait for ever.
type lock chan struct{}

func (l lock) Lock()   { l <- struct{}{} }
func (l lock) Unlock() { <-l }

// flight is a commit on its way to the store.
type flight struct {
	seq  uint64
	done chan struct{} // closed when err is set; nil if it is set already
	err  error
}

// CommitID returns the id of the commit with this number that a run made.
func CommitID(run string, seq uint64) string {
	var room [checkpoint.MaxID]byte
	return string(strconv.AppendUint(append(append(room[:0], run...), '.'), seq, 10))
}

// Stored returns the number of the newest commit that is known to be stored.
func (j *Journal) Stored() uint64 {
	j.lock.Lock()
	defer j.lock.Unlock()
	return j.stored
}

// Record adds entries to the Trace of the next commit.
func (j *Journal) Record(entries ...checkpoint.Entry) { j.trace = append(j.trace, entries...) }

// Before lets f store what the next commit depends on, once, before that commit is sent.
func (j *Journal) Before(f func() error) { j.before = f }

// Commit stores the state of the run when its durability requires it. It also reports the commits
// that were stored for a task. done reports whether the run has no more tasks. With wait the commit
// is stored before Commit returns, unless the durability is Exit.
func (j *Journal) Commit(done, wait bool) error {
	j.lock.Lock()
	defer j.unlockAndReport()
	if j.cfg.Durability == Exit && (!done || j.cfg.Disposable) {
		j.unsaved = true
		return nil
	}
	return j.save(j.cfg.Durability == Async && !done && !wait)
}

// CommitNow commits what the run has come to, with pending writes, and waits for it.
func (j *Journal) CommitNow(pending ...checkpoint.Entry) error {
	j.lock.Lock()
	defer j.unlockAndReport()
	return j.save(false, pending...)
}

// Put stores pending writes, after everything that comes before them.
func (j *Journal) Put(entries []checkpoint.Entry) error {
	j.lock.Lock()
	defer j.unlockAndReport()
	return j.put(entries)
}

// PutWhile is Put for a task, on any goroutine. It stores nothing if allowed, which is called
// when all earlier writes have ended, returns an error.
func (j *Journal) PutWhile(allowed func() error, entries []checkpoint.Entry) error {
	j.lock.Lock()
	defer j.lock.Unlock()
	if err := allowed(); err != nil {
		return err
	}
	return j.put(entries)
}

// Wait waits for the writes that are under way. What a PutWhile or a subgraph is not allowed
// from now on is not stored afterwards.
func (j *Journal) Wait() {
	j.lock.Lock()
	defer j.lock.Unlock()
}

// unlockAndReport releases the lock, and then reports the commits that are stored: a slow reader of
// these reports keeps no task from storing what it has.
func (j *Journal) unlockAndReport() {
	reports := j.reports
	j.reports = nil
	j.lock.Unlock()
	for _, report := range reports {
		report()
	}
}

// put is Put, with the lock held.
func (j *Journal) put(entries []checkpoint.Entry) error {
	if err := j.catchUp(); err != nil {
		return err
	}
	put := func(ctx context.Context) error { return j.Chain.Put(ctx, entries) }
	err := j.Write("put", put)
	if isLoss(err) {
		if err = j.recover(err); err == nil {
			err = j.Write("put", put)
		}
	}
	if err != nil {
		return j.cfg.Fail(err)
	}
	j.Chain.Pending = merge(j.Chain.Pending, entries)
	return nil
}

// Flush stores everything that is not stored yet.
func (j *Journal) Flush() error {
	j.lock.Lock()
	defer j.unlockAndReport()
	return j.catchUp()
}

// flushWhile is Flush for the journal of a subgraph, on any goroutine. It returns the reports of
// the stored commits. The subgraph sends them before its own reports.
func (j *Journal) flushWhile(allowed func() error) (reports []func(), err error) {
	j.lock.Lock()
	defer j.lock.Unlock()
	if err = allowed(); err == nil {
		err = j.catchUp()
	}
	reports, j.reports = j.reports, nil
	return reports, err
}

// allowed returns why the run must not write any more, with its place.
func (j *Journal) allowed() error {
	if err := j.cfg.Allowed(); err != nil {
		return j.cfg.Fail(err)
	}
	return nil
}

// CanWait reports whether there is something to store that the run's parent will only need if its
// own task does not finish.
func (j *Journal) CanWait() bool { return j.unsaved && j.cfg.Disposable }

// catchUp is Flush, with the lock held.
func (j *Journal) catchUp() error {
	if j.unsaved {
		if err := j.save(false); err != nil {
			return err
		}
	}
	return j.recover(j.land())
}

// save commits what the run has come to, with the lock held. What its parent has come to is stored
// first.
func (j *Journal) save(async bool, pending ...checkpoint.Entry) error {
	if err := j.allowed(); err != nil {
		return err
	}
	if j.cfg.Parent != nil {
		reports, err := j.cfg.Parent.flushWhile(j.allowed)
		j.reports = append(j.reports, reports...)
		if err != nil {
			return err
		}
	}
	rec, err := j.cfg.Source.Record()
	if err != nil {
		return err
	}
	rec.Recovered, rec.Trace = j.restates, j.trace
	v, changed := j.cfg.Source.State()
	p, err := j.Chain.Prepare(CommitID(j.cfg.Run, j.Chain.Head()+1), rec, v, changed, pending...)
	if err != nil {
		return j.cfg.Fail(err)
	}
	if err := j.cfg.Source.Check(p.Bytes()); err != nil {
		return err
	}
	if before := j.before; before != nil {
		j.before = nil
		if err := before(); err != nil {
			return j.cfg.Fail(err)
		}
	}
	j.pruned()
	if err := j.land(); err != nil {
		return j.recoverWith(err, pending) // with this commit in it
	}
	j.Chain.Advance(p)
	j.Chain.Pending = p.Pending()
	clear(changed)
	if j.trace != nil {
		j.traces = append(j.traces, traced{p.Seq(), j.trace})
	}
	j.unsaved, j.restates, j.trace = false, false, nil
	j.cfg.Source.Encoded()
	if async {
		j.flight = &flight{seq: p.Seq(), done: make(chan struct{})}
		go j.send(j.flight, p)
		return nil
	}
	j.inline = flight{seq: p.Seq()}
	j.flight = &j.inline
	j.send(j.flight, p)
	return j.recover(j.land())
}

// send stores p. If that fails beside a step, the run must not go on.
func (j *Journal) send(f *flight, p *checkpoint.Prepared) {
	if f.done != nil {
		defer close(f.done)
	}
	if f.err = j.Write("commit", p.Store); f.err != nil && j.cfg.Durability == Async && !isLoss(f.err) {
		j.cfg.Cancel(f.err)
	}
}

// land waits for the commit that is on its way, if one is, with the lock held. A commit that failed
// fails everything after it.
func (j *Journal) land() error {
	f := j.flight
	if f == nil {
		return nil
	}
	if f.done != nil {
		<-f.done
	}
	if f.err != nil {
		return j.cfg.Fail(f.err)
	}
	j.flight, j.stored = nil, f.seq
	if report := j.cfg.Source.Stored(f.seq); report != nil {
		j.reports = append(j.reports, report)
	}
	j.prune(f.seq)
	return nil
}

// merge returns the pending writes with entries added: of two in one place the later one counts.
func merge(pending, entries []checkpoint.Entry) []checkpoint.Entry {
	all := slices.Clip(pending)
	for _, e := range entries {
		same := func(o checkpoint.Entry) bool { return o.Task == e.Task && o.Slot == e.Slot }
		if at := slices.IndexFunc(all, same); at >= 0 {
			all = slices.Delete(slices.Clone(all), at, at+1)
		}
		all = append(all, e)
	}
	return all
}

// WriteTime bounds a write that goes on after its run was cancelled.
const WriteTime = 5 * time.Second

// WriteError is the error of a write to the store.
type WriteError struct{ Err error }

func (e WriteError) Error() string { return e.Err.Error() }

// Unwrap returns what the store returned.
func (e WriteError) Unwrap() error { return e.Err }

// Write calls write, which makes the named call of the store. Its context outlives that of the run
// by WriteTime, so that cancelling a run does not lose what it has finished. Write returns a
// WriteError if write fails or panics. A run that was given up writes nothing.
func (j *Journal) Write(name string, write func(context.Context) error) error {
	if err := j.cfg.Allowed(); err != nil {
		return err
	}
	j.cfg.Writes.Add(1)
	defer j.cfg.Writes.Add(-1)
	ctx := context.Context(&j.writes)
	if j.ctx.Err() != nil || j.writes.Err() != nil {
		late := new(Late)
		late.Open(j.ctx, 0)
		defer late.Close()
		ctx = late
	}
	if err := j.guarded(ctx, name, write); err != nil {
		return WriteError{err}
	}
	return nil
}

// guarded calls f; a panic of the store is an error.
func (j *Journal) guarded(ctx context.Context, name string, f func(context.Context) error) (err error) {
	if j.cfg.Observe != nil {
		inner, end := j.cfg.Observe(ctx, name)
		ctx = inner
		defer func() { end(err) }()
	}
	defer func() {
		if v := recover(); v != nil {
			err = j.cfg.Panic(v)
		}
	}()
	return f(ctx)
}

// isLoss reports whether err means that a chain is shorter than it was.
func isLoss(err error) bool {
	if err == nil {
		return false
	}
	var conflict *checkpoint.ConflictError
	return errors.As(err, &conflict) && conflict.Head < conflict.Want || errors.Is(err, checkpoint.ErrNotFound)
}
