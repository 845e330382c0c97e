package checkpoint

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"time"
)

// memoryLease is the newest lease of a thread. Its fence is "" when it was released, or when
// the thread was never leased.
type memoryLease struct {
	fence, owner string
	until        time.Time
	log          LeaseLog // outlives the lease
}

// fenced returns a *FencedError unless a writer with this fence may write. A nil thread has
// no lease.
func (t *memoryThread) fenced(thread, fence string) error {
	var l memoryLease
	if t != nil {
		l = t.lease
	}
	if fence != l.fence {
		return &FencedError{Thread: thread, Owner: l.owner}
	}
	return nil
}

// Acquire implements Leaser.
func (m *Memory) Acquire(ctx context.Context, r LeaseRequest) (got Lease, err error) {
	if err := r.Check(); err != nil {
		return Lease{}, err
	}
	r = r.NewID()
	err = m.write(ctx, r.Thread, func(t *memoryThread, now time.Time) error {
		if r.Fence != "" {
			if err := t.fenced(r.Thread, r.Fence); err != nil {
				return err
			}
		} else {
			t = m.thread(r.Thread)
			if err := t.lease.grant(r, now); err != nil {
				return err
			}
			m.occupy(t)
		}
		t.lease.until = now.Add(r.TTL)
		got = Lease{Fence: t.lease.fence, Owner: t.lease.owner, TTL: r.TTL}
		return nil
	})
	return got, err
}

// grant grants a new lease, unless the request was granted before.
func (l *memoryLease) grant(r LeaseRequest, now time.Time) error {
	switch left := l.until.Sub(now); {
	case l.fence == r.ID:
		return nil
	case l.log.Has(r.ID):
		return &FencedError{Thread: r.Thread, Owner: l.owner}
	case l.fence != "" && left > 0 && !r.Takes(l.owner):
		return &BusyError{Thread: r.Thread, Owner: l.owner, Remaining: left}
	}
	l.fence, l.owner, l.log = r.ID, r.Owner, l.log.With(r.ID)
	return nil
}

// Release implements Leaser.
func (m *Memory) Release(ctx context.Context, thread, fence string) error {
	return m.write(ctx, thread, func(t *memoryThread, now time.Time) error {
		if t == nil || fence == "" || t.lease.fence != fence {
			return nil
		}
		t.lease = memoryLease{log: t.lease.log}
		m.vacate(t, now)
		return nil
	})
}

// vacant is how long a thread without commits and lease is remembered for its lease log.
const vacant = time.Hour

// vacate lets a thread expire after vacant if it has no commits and no lease. The caller holds
// the lock.
func (m *Memory) vacate(t *memoryThread, now time.Time) {
	switch {
	case !t.isEmpty() || t.lease.fence != "":
	case t.lease.log == "":
		m.remove(t)
	default:
		m.expire(t, now.Add(vacant))
	}
}

// occupy reverses vacate. The caller holds the lock.
func (m *Memory) occupy(t *memoryThread) {
	if t.isEmpty() {
		m.expire(t, time.Time{})
	}
}

// Drop implements Dropper.
func (m *Memory) Drop(ctx context.Context, d Drop) error {
	if err := d.Check(); err != nil {
		return err
	}
	return m.write(ctx, d.Thread, func(t *memoryThread, now time.Time) error {
		if err := t.fenced(d.Thread, d.Fence); err != nil {
			return err
		}
		ch := t.chain(d.Namespace)
		switch head := ch.head(); {
		case head != d.Head:
			return d.Result(&ConflictError{Key: d.Key, Want: d.Head, Head: head})
		case ch == nil:
		case d.All:
			delete(t.others, d.Namespace)
			m.vacate(t, now)
		default:
			ch.drop(d)
		}
		return nil
	})
}

func (ch *memoryChain) drop(d Drop) {
	gone := make(map[uint64]bool, len(d.Commits))
	for _, n := range d.Commits {
		gone[n] = true
	}
	ch.commits = slices.DeleteFunc(slices.Clone(ch.commits), func(c memoryCommit) bool { return gone[c.seq] })
	for _, b := range d.Blobs {
		ch.remove(b)
	}
}

// Expire implements Expirer.
func (m *Memory) Expire(ctx context.Context, thread string, ttl time.Duration) error {
	if err := CheckTTL(ttl); err != nil {
		return err
	}
	return m.write(ctx, thread, func(t *memoryThread, now time.Time) error {
		switch {
		case t == nil || t.isEmpty():
			return fmt.Errorf("%w: thread %q", ErrNotFound, thread)
		case ttl == 0:
			m.expire(t, time.Time{})
		default:
			m.expire(t, now.Add(ttl))
		}
		return nil
	})
}

// ended reports whether a thread has expired.
func (t *memoryThread) ended(now time.Time) bool {
	return !t.expires.IsZero() && !now.Before(t.expires)
}

// expire sets when a thread ends; the zero time means never. The caller holds the lock.
func (m *Memory) expire(t *memoryThread, at time.Time) {
	was := t.expires
	t.expires = at
	switch {
	case was.IsZero() && at.IsZero():
	case was.IsZero():
		heap.Push(&m.ending, t)
	case at.IsZero():
		heap.Remove(&m.ending, t.place)
	default:
		heap.Fix(&m.ending, t.place)
	}
}

// perWrite is how many expired threads one write may remove.
const perWrite = 2

// sweep removes up to perWrite expired threads. The caller holds the lock.
func (m *Memory) sweep(now time.Time) {
	for n := 0; n < perWrite && len(m.ending) > 0 && m.ending[0].ended(now); n++ {
		m.remove(m.ending[0])
	}
}

// deadlines are threads that expire, as a heap: the first to end comes first.
type deadlines []*memoryThread

func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].expires.Before(d[j].expires) }
func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].place, d[j].place = i, j
}

// Push implements heap.Interface.
func (d *deadlines) Push(x any) {
	t := x.(*memoryThread)
	t.place = len(*d)
	*d = append(*d, t)
}

// Pop implements heap.Interface.
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	t := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	return t
}
