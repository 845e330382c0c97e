package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// lease is the newest lease in a row of threads. The fence is "" when the lease was released, or
// when there never was one.
type lease struct {
	fence, owner string
	until        int64
	log          checkpoint.LeaseLog // outlives the lease
}

// vacant is how long the row of a thread stays that has no commits and no lease, only a LeaseLog.
const vacant = time.Hour

// millis rounds up, so that a caller does not get less time than it asked for. The longest
// durations lose a millisecond.
func millis(d time.Duration) int64 {
	return int64((min(d, math.MaxInt64-time.Millisecond) + time.Millisecond - 1) / time.Millisecond)
}

// Acquire implements checkpoint.Leaser.
func (s *Store) Acquire(ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	if err := r.Check(); err != nil {
		return checkpoint.Lease{}, s.typed(err)
	}
	r = r.NewID()
	var got checkpoint.Lease // the writer's until submit returns nil
	err := s.submit(ctx, func(w *writer) (err error) {
		got, err = w.acquire(r)
		return err
	})
	if err != nil {
		return checkpoint.Lease{}, err
	}
	return got, nil
}

func (w *writer) acquire(r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	h, err := w.find(checkpoint.Key{Thread: r.Thread})
	if err != nil {
		return checkpoint.Lease{}, err
	}
	switch left := h.until - w.now; {
	case r.Fence != "" && r.Fence != h.fence, r.ID != "" && r.ID != h.fence && h.log.Has(r.ID):
		return checkpoint.Lease{}, &checkpoint.FencedError{Thread: r.Thread, Owner: h.owner}
	case r.Fence != "", r.ID == h.fence:
	case h.fence != "" && left > 0 && !r.Takes(h.owner):
		return checkpoint.Lease{}, &checkpoint.BusyError{Thread: r.Thread, Owner: h.owner, Remaining: time.Duration(left) * time.Millisecond}
	default:
		h.fence, h.owner, h.log = r.ID, r.Owner, h.log.With(r.ID)
		if err := w.occupy(r.Thread, h); err != nil {
			return checkpoint.Lease{}, err
		}
	}
	ttl := millis(r.TTL)
	err = w.exec(w.setLease, r.Thread, h.fence, h.owner, w.now+ttl, h.log)
	return checkpoint.Lease{Fence: h.fence, Owner: h.owner, TTL: time.Duration(ttl) * time.Millisecond}, err
}

// Release implements checkpoint.Leaser.
func (s *Store) Release(ctx context.Context, thread, fence string) error {
	return s.submit(ctx, func(w *writer) error {
		h, err := w.find(checkpoint.Key{Thread: thread})
		if err != nil || fence == "" || h.fence != fence {
			return err
		}
		if err := w.exec(w.setLease, thread, "", "", 0, h.log); err != nil {
			return err
		}
		return w.vacate(thread)
	})
}

// vacate sets a thread without a lease to expire after vacant if it has no commits.
func (w *writer) vacate(thread string) error {
	if empty, err := w.isEmpty(thread); err != nil || !empty {
		return err
	}
	return w.exec(w.setExpires, thread, w.now+millis(vacant))
}

// isEmpty reports whether a thread has no commits.
func (w *writer) isEmpty(thread string) (bool, error) {
	var known bool
	err := w.plain.QueryRowContext(context.Background(), thread).Scan(&known)
	return !known, err
}

// occupy undoes vacate.
func (w *writer) occupy(thread string, h head) error {
	if h.expires == 0 || h.chain != 0 {
		return nil
	}
	if empty, err := w.isEmpty(thread); err != nil || !empty {
		return err
	}
	return w.exec(w.setExpires, thread, 0)
}

// Drop implements checkpoint.Dropper.
func (s *Store) Drop(ctx context.Context, d checkpoint.Drop) error {
	if err := d.Check(); err != nil {
		return s.typed(err)
	}
	d.Commits, d.Blobs = append([]uint64(nil), d.Commits...), append([]checkpoint.Blob(nil), d.Blobs...)
	return d.Result(s.submit(ctx, func(w *writer) error { return w.drop(d) }))
}

func (w *writer) drop(d checkpoint.Drop) error {
	h, err := w.findFor(d.Key, d.Fence)
	switch {
	case err != nil:
		return err
	case h.seq != d.Head:
		return &checkpoint.ConflictError{Key: d.Key, Want: d.Head, Head: h.seq}
	case d.All:
		if err := w.execAll(w.raze, h.chain); err != nil || h.log == "" || h.fence != "" {
			return err
		}
		return w.vacate(d.Thread)
	}
	for _, n := range d.Commits {
		if err := w.exec(w.dropCommit, h.chain, int64(n)); err != nil {
			return err
		}
	}
	for _, b := range d.Blobs {
		if err := w.exec(w.dropBlob, h.chain, b.Field, int64(b.Base), b.Chunk); err != nil {
			return err
		}
	}
	return nil
}

// Expire implements checkpoint.Expirer.
func (s *Store) Expire(ctx context.Context, thread string, ttl time.Duration) error {
	if err := checkpoint.CheckTTL(ttl); err != nil {
		return s.typed(err)
	}
	return s.submit(ctx, func(w *writer) error {
		if _, err := w.find(checkpoint.Key{Thread: thread}); err != nil {
			return err
		}
		empty, err := w.isEmpty(thread)
		if err != nil {
			return err
		}
		if empty {
			return fmt.Errorf("%w: thread %q", checkpoint.ErrNotFound, thread)
		}
		at := int64(0)
		if ttl > 0 {
			at = w.now + millis(ttl)
		}
		if err := w.exec(w.setExpires, thread, at); err != nil {
			return err
		}
		return w.exec(w.forget, thread)
	})
}

// bury hides an expired thread from all calls; sweep removes its rows later.
func (w *writer) bury(thread string) error {
	w.nothingAt = 0
	if err := w.exec(w.discard, thread); err != nil {
		return err
	}
	return w.execAll(w.erase[len(w.erase)-2:], thread)
}

// sweepEvery is how long sweep does nothing after there was nothing to do. A call finds a thread
// that has expired in any case.
const sweepEvery = time.Second

// sweep buries one expired thread, and removes a few rows of one that is buried. So each
// transaction does a bounded amount of work.
func (w *writer) sweep() error {
	if w.nothingAt > 0 && w.now >= w.nothingAt && w.now < w.nothingAt+sweepEvery.Milliseconds() {
		return nil
	}
	var chain int64
	var thread sql.NullString
	if err := w.waste.QueryRowContext(context.Background(), w.now).Scan(&chain, &thread); err != nil {
		return err
	}
	if thread.Valid {
		if err := w.bury(thread.String); err != nil {
			return err
		}
	}
	if chain == 0 {
		w.nothingAt = 0
		if !thread.Valid {
			w.nothingAt = w.now
		}
		return nil
	}
	for _, stmt := range w.clean {
		res, err := stmt.ExecContext(context.Background(), chain)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err // the rest is for later
		}
	}
	return w.exec(w.buried, chain)
}
