package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
)

// Sweeper ends the sessions whose deadline has passed, offloads the sessions that have ended, and
// removes them. Any number of sweepers with equal engines may run on a store concurrently. One of
// them offloads each session; after a failure or a crash it is offloaded again with the same key. A
// sweeper without an engine leaves sessions that must be offloaded to other sweepers.
type Sweeper struct {
	Manager *Manager
	// Every is the time between two sweeps of Run; 0 means a minute.
	Every time.Duration
	// After is the timer of Run; nil means time.After.
	After func(time.Duration) <-chan time.Time
}

// sweepPage is the number of sessions that a sweep reads at once.
const sweepPage = 100

// SweepStats counts the sessions of a sweep.
type SweepStats struct {
	Expired   int // sessions that ended because their deadline had passed
	Offloaded int
	Removed   int // sessions that were removed completely
}

// Run sweeps until ctx ends, and returns its cause. Failures are logged and retried.
func (s *Sweeper) Run(ctx context.Context) error {
	every, after := s.Every, s.After
	if every <= 0 {
		every = time.Minute
	}
	if after == nil {
		after = time.After
	}
	for {
		if _, err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.Manager.cfg.Log.Warn("session: a sweep failed", "error", err)
		}
		select {
		case <-after(every):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Sweep visits every session that is due, once. An error of one session does not stop it; it
// returns all errors.
func (s *Sweeper) Sweep(ctx context.Context) (SweepStats, error) {
	var done SweepStats
	var errs []error
	until := document.AtTime(s.Manager.now()) + "~" // include sessions that are due now
	seen := map[string]bool{}
	for skip := 0; ctx.Err() == nil; {
		docs, err := s.Manager.cfg.Store.Query(ctx, document.Query{Place: indexAt, Until: until, Skip: skip, Limit: new(sweepPage)})
		if err != nil {
			return done, errors.Join(append(errs, err)...)
		}
		for _, d := range docs {
			if seen[d.ID] {
				skip++ // it is still due
				continue
			}
			seen[d.ID] = true
			v := visit{s.Manager, d, &done}
			if err := v.run(ctx); err != nil {
				errs = append(errs, err)
			}
		}
		if len(docs) < sweepPage {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		errs = append(errs, err)
	}
	return done, errors.Join(errs...)
}

// visit is the work of a sweeper on one session.
type visit struct {
	*Manager
	entry document.Doc // of the index
	done  *SweepStats
}

func (v *visit) run(ctx context.Context) error {
	id := v.entry.ID
	h, err := v.head(ctx, id)
	if err != nil {
		return err
	}
	if h.Live && !v.now().Before(h.Deadline) {
		if err := v.end(ctx, id, h, ReasonTimeout); err != nil {
			if _, conflict := conflictAt(err); conflict {
				return nil // another worker ended it or appended to it
			}
			return err
		}
		v.done.Expired++
		if h, err = v.head(ctx, id); err != nil {
			return err
		}
	}
	next, failed := v.work(ctx, id)
	switch {
	case h.Live && (next.IsZero() || h.Deadline.Before(next)):
		next = h.Deadline
	case next.IsZero() && failed == nil:
		return v.remove(ctx, id, h)
	}
	if next.IsZero() {
		return failed // the entry stays as it is
	}
	return errors.Join(failed, v.move(ctx, id, next))
}

// work offloads and removes the generations that have ended. It returns when the rest of the work
// is due; zero means that nothing is left.
func (v *visit) work(ctx context.Context, id string) (next time.Time, err error) {
	docs, err := v.cfg.Store.Query(ctx, document.Query{Place: at(id), From: "o", Until: "o~"})
	if err != nil {
		return next, place(id, err)
	}
	for _, d := range docs {
		t := &todo{version: d.Version}
		if err = errors.Join(err, decode(d, t)); err != nil {
			return next, err
		}
		again, failed := v.dispose(ctx, id, t)
		err = errors.Join(err, failed)
		if !again.IsZero() && (next.IsZero() || again.Before(next)) {
			next = again
		}
	}
	return next, err
}

// dispose offloads a generation and removes it. It returns the time of the next attempt, or zero.
func (v *visit) dispose(ctx context.Context, id string, t *todo) (again time.Time, err error) {
	if !t.Offloaded {
		if v.now().Before(t.Next) || v.cfg.Engine == nil {
			return later(t.Next, v.now().Add(v.cfg.OffloadFor)), nil
		}
		if again, err := v.offload(ctx, id, t); err != nil || !again.IsZero() {
			return again, err
		}
		v.done.Offloaded++
	}
	return time.Time{}, v.erase(ctx, id, t)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// offload passes a generation to the engine. First it writes until when other sweepers must wait.
// That is also the time limit of the engine. At the end it writes the result.
func (v *visit) offload(ctx context.Context, id string, t *todo) (again time.Time, err error) {
	begun := v.now()
	t.Attempts++
	t.Next = begun.Add(v.cfg.OffloadFor)
	if taken, err := v.write(ctx, id, t); taken || err != nil {
		return t.Next, err
	}
	log, err := v.read(ctx, id, t.Generation, 0, t.Count, nil)
	if err != nil {
		return t.Next, err
	}
	e := Ended{Key: t.Key, ID: id, User: t.User, Reason: t.Reason, Created: t.Created, Ended: t.Ended, Messages: log}
	limited, cancel := context.WithTimeout(ctx, v.cfg.OffloadFor)
	defer cancel()
	if failed := guard(func() error { return v.cfg.Engine.Offload(limited, e) }); failed != nil {
		t.Next = v.now().Add(backoff(t.Attempts, v.cfg.OffloadFor))
		_, err := v.write(context.WithoutCancel(ctx), id, t)
		return t.Next, errors.Join(place(id, fmt.Errorf("offload, attempt %d: %w", t.Attempts, failed)), err)
	}
	t.Offloaded = true
	taken, err := v.write(ctx, id, t)
	if err != nil || taken {
		return t.Next, err
	}
	return time.Time{}, nil
}

// backoff doubles from a second up to a limit.
func backoff(attempts int, most time.Duration) time.Duration {
	return min(time.Second<<min(attempts-1, 20), most)
}

// write stores a note. With taken, another sweeper wrote it first.
func (v *visit) write(ctx context.Context, id string, t *todo) (taken bool, err error) {
	change, err := t.change()
	if err != nil {
		return false, place(id, err)
	}
	d, err := v.cfg.Store.Set(ctx, at(id), change)
	if _, conflict := conflictAt(err); conflict {
		return true, nil
	}
	if err != nil {
		return false, place(id, err)
	}
	t.version = d.Version
	return false, nil
}

// erase removes the messages of a generation, and then its note.
func (v *visit) erase(ctx context.Context, id string, t *todo) error {
	for {
		docs, err := v.cfg.Store.Query(ctx, document.Query{Place: at(id), From: order(t.Generation, 0), Until: order(t.Generation+1, 0), Limit: new(document.MaxBatch)})
		if err != nil {
			return place(id, err)
		}
		if len(docs) == 0 {
			break
		}
		changes := make([]document.Change, len(docs))
		for i, d := range docs {
			changes[i] = document.Change{ID: d.ID}
		}
		if _, err := v.cfg.Store.Batch(ctx, at(id), changes); err != nil {
			return place(id, err)
		}
	}
	return wrap(id, v.cfg.Store.Delete(ctx, at(id), t.id()))
}

// remove removes the head and the index entry of a session without generations.
func (v *visit) remove(ctx context.Context, id string, h *head) error {
	if h.version > 0 {
		_, err := v.cfg.Store.Batch(ctx, at(id), []document.Change{{ID: headID, If: &h.version}})
		if _, conflict := conflictAt(err); conflict {
			return nil // the id began again
		}
		if err != nil {
			return place(id, err)
		}
		v.done.Removed++
	}
	_, err := v.cfg.Store.Batch(ctx, indexAt, []document.Change{{ID: id, If: &v.entry.Version}})
	return v.unless(id, err)
}

// move sets the time of the next visit, unless another worker has set it.
func (v *visit) move(ctx context.Context, id string, next time.Time) error {
	_, err := v.cfg.Store.Set(ctx, indexAt, document.Change{ID: id, Value: v.entry.Value, Order: document.AtTime(next), If: &v.entry.Version})
	return v.unless(id, err)
}

// unless returns an error, or nil for a conflict.
func (v *visit) unless(id string, err error) error {
	if _, conflict := conflictAt(err); conflict {
		return nil
	}
	return wrap(id, err)
}
