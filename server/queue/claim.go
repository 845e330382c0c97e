package queue

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/server/wire"
)

// Claim is a run that this process runs. Finish or Return must be called.
type Claim struct {
	Run  Run
	held *checkpoint.Held
}

// Context ends when the lease of the thread is lost. Then another process runs the run.
func (c *Claim) Context() context.Context { return c.held.Context() }

// Fence is the lease of the thread, for the options of the run; "" for a store without leases.
func (c *Claim) Fence() string { return c.held.Fence() }

const (
	// claimPause is the time until a line is looked at again. The thread of the line is leased to
	// another program, or its run is not stored yet.
	claimPause = 100 * time.Millisecond
	// abandoned is the age at which an entry without a run is removed.
	abandoned = 10 * time.Second
)

// Claim claims up to most runs that are due, of different threads, oldest due first. It returns the
// claims beside an error.
func (q *Queue) Claim(ctx context.Context, most int) (claims []*Claim, err error) {
	now := q.now()
	query := document.Query{Place: q.lines, From: waiting, Until: waiting + document.AtTime(now.Add(time.Nanosecond)), Limit: &most}
	docs, err := q.docs.Query(ctx, query)
	for i := 0; i < len(docs) && err == nil; i++ {
		var c *Claim
		if c, err = q.claim(ctx, docs[i]); c != nil {
			claims = append(claims, c)
		}
	}
	return claims, err
}

// claim claims the next run of a line. It returns nil if there is nothing to run now, or another
// process was first.
func (q *Queue) claim(ctx context.Context, d document.Doc) (*Claim, error) {
	l, err := decodeLine(d)
	if err != nil {
		return nil, err
	}
	e, ok := l.next(q.now())
	switch {
	case !ok || l.Running != "":
		return nil, nil
	case e.Order != None:
		return nil, q.end(ctx, d.ID, e)
	}
	if _, err := q.Get(ctx, d.ID, e.ID); errors.Is(err, ErrNotFound) {
		return nil, q.absent(ctx, d, e)
	} else if err != nil {
		return nil, err
	}
	held, err := q.hold(ctx, d.ID)
	if errors.Is(err, checkpoint.ErrOwned) {
		return nil, q.pause(ctx, d)
	}
	if err != nil {
		return nil, err
	}
	l.Running = e.ID
	if err := q.store(ctx, d.ID, l, d.Version); err != nil {
		return nil, errors.Join(ignoreConflict(err), held.Release(ctx))
	}
	r, err := q.Update(ctx, d.ID, e.ID, func(r *Run) error {
		r.Status, r.Attempt = wire.RunRunning, r.Attempt+1
		if r.Started.IsZero() {
			r.Started = wire.At(q.now())
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, held.Release(ctx)) // Sweep finds the line
	}
	c := &Claim{r, held}
	if r.Attempt > q.attempts() {
		return nil, q.Finish(ctx, c, wire.RunFailed, &wire.RunError{
			Error: "RunAttemptsExceeded", Message: "the process of the run has ended too often",
		})
	}
	return c, nil
}

// hold leases a thread. The lease is renewed while its Held lasts, whatever becomes of the caller's
// context.
func (q *Queue) hold(ctx context.Context, thread string) (*checkpoint.Held, error) {
	return checkpoint.Hold(context.WithoutCancel(ctx), q.commits, thread, checkpoint.HoldOptions{
		TTL: q.lease(), Owner: q.Owner, ID: rand.Text(),
	})
}

// absent is called for an entry whose run is not stored: not yet, or its process has ended.
func (q *Queue) absent(ctx context.Context, d document.Doc, e entry) error {
	if q.now().Sub(e.Added.Time) < abandoned {
		return q.pause(ctx, d)
	}
	return q.remove(ctx, d.ID, e.ID)
}

// pause lets other lines come first for a moment.
func (q *Queue) pause(ctx context.Context, d document.Doc) error {
	_, err := q.docs.Set(ctx, q.lines, document.Change{
		ID: d.ID, Value: d.Value, Order: waiting + document.AtTime(q.now().Add(claimPause)), If: &d.Version,
	})
	return ignoreConflict(err)
}

func ignoreConflict(err error) error {
	if errors.Is(err, document.ErrConflict) {
		return nil
	}
	return err
}

// Finish stores how a run ended, takes it out of its line and releases the thread. A run with the
// order Rollback is removed.
func (q *Queue) Finish(ctx context.Context, c *Claim, status wire.RunStatus, failure *wire.RunError) error {
	if err := c.Context().Err(); err != nil {
		c.held.Leave()
		return context.Cause(c.Context())
	}
	order, err := q.OrderOf(ctx, c.Run.ThreadID, c.Run.RunID)
	if err != nil {
		return err
	}
	if order == Rollback {
		err = q.docs.Delete(ctx, q.runs(c.Run.ThreadID), c.Run.RunID)
	} else {
		c.Run, err = q.Update(ctx, c.Run.ThreadID, c.Run.RunID, func(r *Run) error {
			r.Status, r.Error, r.Ended = status, failure, wire.At(q.now())
			return nil
		})
	}
	if err == nil || errors.Is(err, ErrNotFound) {
		err = q.remove(ctx, c.Run.ThreadID, c.Run.RunID)
	}
	return errors.Join(err, c.held.Release(context.WithoutCancel(ctx)))
}

// Return puts a run back as pending, at its place in the line, without counting the attempt. A
// process that ends calls it, so that another one goes on at once.
func (q *Queue) Return(ctx context.Context, c *Claim) error {
	if c.Context().Err() != nil {
		c.held.Leave()
		return nil
	}
	err := q.requeue(ctx, c.Run.ThreadID, c.Run.RunID, func(r *Run) { r.Attempt-- })
	return errors.Join(err, c.held.Release(context.WithoutCancel(ctx)))
}

func (q *Queue) requeue(ctx context.Context, thread, id string, change func(r *Run)) error {
	_, err := q.Update(ctx, thread, id, func(r *Run) error {
		r.Status = wire.RunPending
		change(r)
		return nil
	})
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	_, err = q.change(ctx, thread, func(l *line) error {
		if l.Running == id {
			l.Running = ""
		}
		return nil
	})
	return err
}

// Sweep makes runs pending again whose process has ended. It returns their number. Every process
// calls it from time to time.
func (q *Queue) Sweep(ctx context.Context) (found int, err error) {
	const most = 200
	docs, err := q.docs.Query(ctx, document.Query{Place: q.lines, From: running, Limit: new(most)})
	for i := 0; i < len(docs) && err == nil; i++ {
		var lost bool
		if lost, err = q.recover(ctx, docs[i]); lost {
			found++
		}
	}
	return found, err
}

// recover makes the running run of a line pending again if no process has its thread.
func (q *Queue) recover(ctx context.Context, d document.Doc) (lost bool, err error) {
	var l line
	if err := json.Unmarshal(d.Value, &l); err != nil || l.Running == "" {
		return false, err
	}
	held, err := q.hold(ctx, d.ID)
	if errors.Is(err, checkpoint.ErrOwned) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r, err := q.Get(ctx, d.ID, l.Running)
	if err == nil && r.Status.Final() {
		err = q.remove(ctx, d.ID, l.Running) // its process ended after it had stored the end
	} else if err == nil || errors.Is(err, ErrNotFound) {
		err = q.requeue(ctx, d.ID, l.Running, func(*Run) {})
	}
	return err == nil, errors.Join(err, held.Release(context.WithoutCancel(ctx)))
}
