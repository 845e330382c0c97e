package queue

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
)

// Claim is a run that this process runs. It holds the lease of the thread, or with Config.Engine
// one of its own, until Finish, PutBack or Abandon, one of which must be called.
type Claim struct {
	Run    Run
	Action Action // the run was cancelled before it was claimed: it must not run
	Again  bool   // the run was claimed before, and may have commits
	Last   bool   // the run is not begun again unless this attempt commits something
	Head   uint64 // the newest checkpoint of the thread before this attempt; 0 for the first attempt
	queue  *Queue
	held   *checkpoint.Held
	taken  *thread // as the claim stored it
	unsure bool    // an end may be stored whose reply was lost
}

// claim claims the next run of a thread; nil if there is none, or another process runs it. Then it
// stores when to look at the thread again.
func (q *Queue) claim(ctx context.Context, look document.Doc) (*Claim, error) {
	o := checkpoint.HoldOptions{TTL: q.config.Lease, Owner: "weft"}
	held, err := checkpoint.Hold(context.WithoutCancel(ctx), q.config.Store, q.leased(look.ID), o)
	var busy *checkpoint.BusyError
	if errors.As(err, &busy) {
		if due, ok := turnOf(look); ok && due.at.After(q.config.Now()) {
			return nil, nil // it is looked at then
		}
		return nil, q.pass(ctx, look, busy.Remaining)
	}
	if err != nil {
		return nil, err
	}
	c := &Claim{queue: q, held: held}
	reaped, err := c.take(ctx, look.ID, &look)
	for err == nil && c.Run.ID == "" && len(c.taken.ended) > 0 { // it had no attempts left
		reaped, err = c.take(ctx, look.ID, c.taken.looked)
	}
	if err != nil || c.Run.ID == "" {
		return nil, errors.Join(err, c.release(ctx))
	}
	if due, ok := turnOf(look); ok && q.config.Claimed != nil {
		now := q.config.Now()
		lag := min(now.Sub(due.at), now.Sub(c.Run.Updated)) // since it was put back, if it was
		q.config.Claimed(Claimed{Lag: max(0, lag), Reaped: reaped})
	}
	return c, nil
}

// pass stores when to look again at a thread whose lease is held for a time, and wakes the workers
// then. A run of another process has the lease, or it is about to be released.
func (q *Queue) pass(ctx context.Context, look document.Doc, remaining time.Duration) error {
	t, err := q.open(ctx, look.ID)
	if err != nil || !t.line.running() {
		return err
	}
	at := t.now.Add(max(remaining, time.Millisecond))
	time.AfterFunc(at.Truncate(passEvery).Add(passEvery).Sub(t.now), func() { q.news.changed(anyThread) })
	return q.lookAgain(ctx, look, turn{at, true})
}

// passEvery is the time between the moments at which leases that end wake the workers: the leases
// of many runs wake them together.
const passEvery = 50 * time.Millisecond

// leased returns the name of the lease of a claim. That of an engine is a thread without commits,
// which stores remove by themselves.
func (q *Queue) leased(thread string) string {
	if !q.config.Engine {
		return thread
	}
	return fmt.Sprintf("weft.claim/%x", sha256.Sum256([]byte(thread)))
}

// take marks the next run of a thread as running under the lease of c. The run stays empty if there
// is none. reaped is true if another claim had marked it. looked is the document that has when to
// look at the thread; nil if that is not known.
func (c *Claim) take(ctx context.Context, threadID string, looked *document.Doc) (reaped bool, err error) {
	err = c.queue.change(ctx, threadID, func(t *thread) error {
		if c.held.Context().Err() != nil { // another process may have the run
			return context.Cause(c.held.Context())
		}
		c.taken, t.looked = t, looked
		c.Run, c.Action, c.Again, c.Last, c.Head = Run{}, "", false, false, 0
		i := t.line.next(t.now)
		if i < 0 {
			t.look, t.later = turn{at: t.line.wake(t.now)}, true
			return nil
		}
		e := &t.line.Runs[i]
		r, err := t.get(ctx, e.ID)
		if errors.Is(err, ErrNotFound) { // it was removed since the line was read
			return errUnchanged
		}
		if err != nil {
			return err
		}
		if r.Attempt > 0 && e.Action == "" {
			if err := c.progress(ctx, r, e); err != nil {
				return err
			}
		}
		left := c.queue.config.Attempts - (r.Attempt - e.Before)
		if left <= 0 && e.Action == "" || left <= -c.queue.config.Attempts { // or its end cannot be stored
			r.Status, r.Ended = Failed, t.now
			r.Error = &Failure{AttemptsExceeded, fmt.Sprintf("the run was begun %d times, and no process has ended it; the last %d attempts committed nothing", r.Attempt, r.Attempt-e.Before)}
			t.leave(r.ID)
			t.set(r)
			t.ended = append(t.ended, r)
			t.look, t.later = turn{at: t.line.wake(t.now)}, true
			return nil
		}
		reaped = e.Fence != ""
		e.Fence = c.held.Fence()
		r.Status, r.Attempt = Running, r.Attempt+1
		if c.Again = !r.Started.IsZero(); !c.Again {
			r.Started = t.now
		}
		t.look, t.later = turn{t.now.Add(c.queue.config.Lease), true}, true
		t.set(r)
		c.Run, c.Action, c.Last = r, e.Action, left <= 1
		return nil
	})
	return reaped, err
}

// progress looks for a commit of a run since the claim before, at the top level of its graph. If
// there is one, the attempts until then no longer count. So a long run may meet any number of
// deaths, and one that kills its process at the same step again and again is given up.
func (c *Claim) progress(ctx context.Context, r Run, e *entry) error {
	for snap, err := range c.queue.config.Store.History(ctx, checkpoint.Key{Thread: r.Thread}, checkpoint.Query{Limit: 1}) {
		var rec *checkpoint.Record
		if err == nil {
			c.Head = snap.Seq
			rec, err = checkpoint.ReadRecord(snap)
		}
		switch {
		case err != nil && isAway(ctx, err):
			return err
		case err != nil: // the attempt will report what is wrong with the thread
		case rec.Run == r.ID && snap.Seq > e.Newest:
			e.Newest, e.Before = snap.Seq, r.Attempt
		}
	}
	return nil
}

// Lease returns the lease of the thread, for graph.RunOptions. The claim renews it, so the run must
// end with Context. With Config.Engine the run has to acquire a lease, and waits for a run before
// it that was given up.
func (c *Claim) Lease() checkpoint.HoldOptions {
	if c.queue.config.Engine {
		return checkpoint.HoldOptions{TTL: c.queue.config.Lease, Policy: checkpoint.Wait}
	}
	return checkpoint.HoldOptions{Fence: c.held.Fence(), TTL: c.queue.config.Lease, Renewed: true}
}

// Lost reports whether the claim is lost. It asks the store, which may know before Context ends. If
// the store does not answer, the claim is taken for lost.
func (c *Claim) Lost(ctx context.Context) bool {
	if c.held.Context().Err() != nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, c.queue.config.Lease)
	defer cancel()
	r := checkpoint.LeaseRequest{Thread: c.queue.leased(c.Run.Thread), TTL: c.queue.config.Lease, Fence: c.held.Fence()}
	_, err := c.queue.leaser.Acquire(ctx, r)
	return err != nil
}

// Context returns a context that ends when the claim is lost.
func (c *Claim) Context() context.Context { return c.held.Context() }

// Cancelled waits until the run is to be cancelled, and returns how. It returns "" when ctx ends,
// or the claim is lost.
func (c *Claim) Cancelled(ctx context.Context) Action {
	for {
		changed := c.queue.news.next(c.Run.Thread)
		t, err := c.queue.open(ctx, c.Run.Thread)
		if err == nil {
			i := c.at(t)
			if i < 0 {
				return ""
			}
			if a := t.line.Runs[i].Action; a != "" {
				return a
			}
		}
		if await(ctx, changed, 500*time.Millisecond) != nil {
			return ""
		}
	}
}

// at returns the place of the claimed run in its line; -1 if it was taken over.
func (c *Claim) at(t *thread) int {
	if i := t.line.find(c.Run.ID); i >= 0 && t.line.Runs[i].Fence == c.held.Fence() {
		return i
	}
	return -1
}

// Amend replaces the request of the run. ErrLost means that the run belongs to another process.
func (c *Claim) Amend(ctx context.Context, request json.RawMessage) error {
	return c.queue.changeFrom(ctx, c.taken.again(), c.Run.Thread, func(t *thread) error {
		if c.at(t) < 0 {
			return fmt.Errorf("%w: run %.100q of thread %.100q", ErrLost, c.Run.ID, c.Run.Thread)
		}
		r := c.Run
		r.Request = request
		t.set(r)
		t.look, t.later, t.looked = turn{t.now.Add(c.queue.config.Lease), true}, true, c.taken.looked
		c.Run, c.taken = r, t
		return nil
	})
}

// Finish ends the run, and releases the lease. With [Undo] in line for the run, its commits and its
// document are removed instead. ErrLost means that the run belongs to another process. After an
// error that is temporary the claim still has the lease: call Finish again, or Abandon.
func (c *Claim) Finish(ctx context.Context, end End) error {
	if !end.Status.Ended() {
		return fmt.Errorf("%w: the status of an end must be final (got %q)", ErrRequest, end.Status)
	}
	return c.leave(ctx, func(t *thread, i int) error {
		if t.line.Runs[i].Action == Undo {
			if err := c.deleteCommits(ctx); err != nil {
				return err
			}
			t.remove(c.Run.ID)
			return nil
		}
		r := c.Run
		r.Status, r.Error, r.Result, r.Ended = end.Status, end.Error, end.Result, t.now
		t.leave(r.ID)
		t.set(r)
		c.Run = r
		return nil
	})
}

// deleteCommits deletes what the run has committed.
func (c *Claim) deleteCommits(ctx context.Context) error {
	store, thread := c.queue.config.Store, c.Run.Thread
	if !c.queue.config.Engine {
		return checkpoint.DeleteRunsHeld(ctx, store, thread, c.held.Fence(), c.Run.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, undoTime)
	defer cancel()
	held, err := checkpoint.Hold(ctx, store, thread, checkpoint.HoldOptions{Owner: "weft", Policy: checkpoint.Wait})
	if err != nil {
		return err
	}
	err = checkpoint.DeleteRunsHeld(held.Context(), store, thread, held.Fence(), c.Run.ID)
	return errors.Join(err, held.Release(context.WithoutCancel(ctx)))
}

// undoTime bounds the wait for the lease of a thread whose commits are deleted. The engine has
// ended the run, and a worker that died leaves its lease behind for 30 seconds.
const undoTime = time.Minute

// PutBack makes the run pending again in its place, without counting the attempt, and releases the
// lease: another process goes on with it at once. Its errors are as those of Finish.
func (c *Claim) PutBack(ctx context.Context) error {
	return c.leave(ctx, func(t *thread, i int) error {
		t.line.Runs[i].Fence = ""
		r := c.Run
		r.Status, r.Attempt = Pending, r.Attempt-1
		t.set(r)
		return nil
	})
}

// Abandon stops renewing the lease without ending the run, which another process goes on with when
// the lease has run out.
func (c *Claim) Abandon() { c.held.Leave() }

// leave changes the line of the claimed run, and releases the lease.
func (c *Claim) leave(ctx context.Context, do func(t *thread, i int) error) error {
	var known *thread
	if c.Action == "" { // an Undo deletes commits, which needs to know that the claim is not lost
		known = c.taken.again()
	}
	err := c.queue.changeFrom(ctx, known, c.Run.Thread, func(t *thread) error {
		if i := c.at(t); i >= 0 {
			if err := do(t, i); err != nil {
				return err
			}
		} else if lost := !c.unsure || c.held.Context().Err() != nil; lost { // else the change before was stored
			return fmt.Errorf("%w: run %.100q of thread %.100q", ErrLost, c.Run.ID, c.Run.Thread)
		}
		t.look, t.later = turn{at: t.line.wake(t.now)}, true // behind the threads that wait
		if t.line.find(c.Run.ID) >= 0 {                      // it was put back, and has its turn again
			t.look.at = c.Run.Created
			if c.Run.Due.After(t.look.at) {
				t.look.at = c.Run.Due
			}
		}
		if looked := c.taken.looked; looked != nil {
			if due, ok := turnOf(*looked); ok && due.at.After(t.now) {
				t.looked = looked // no worker has looked since
			}
		}
		return nil
	})
	if checkpoint.IsTemporary(err) { // the caller may try again
		c.unsure = c.unsure || errors.Is(err, checkpoint.ErrUnknownOutcome)
		return err
	}
	return errors.Join(err, c.release(ctx))
}

// release releases the lease, so that the next run of the thread can be claimed.
func (c *Claim) release(ctx context.Context) error {
	err := c.held.Release(context.WithoutCancel(ctx))
	c.queue.news.changed(anyThread)
	return err
}
