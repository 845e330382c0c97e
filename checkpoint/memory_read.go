package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"
)

// read calls f to read the store. It holds the lock for reading.
func (m *Memory) read(ctx context.Context, f func(now time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now := m.now()
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return ErrClosed
	}
	return f(now)
}

// Load implements Store.
func (m *Memory) Load(ctx context.Context, k Key, seq uint64) (s Snapshot, err error) {
	err = m.read(ctx, func(now time.Time) (err error) {
		s, err = m.live(k.Thread, now).chain(k.Namespace).gather(k, seq)
		return err
	})
	if err != nil {
		return Snapshot{}, err
	}
	s = s.clone()
	cloneBlobs(s.Blobs)
	return s, nil
}

// gather returns a commit with its blobs; the bytes still belong to the store.
func (ch *memoryChain) gather(k Key, seq uint64) (Snapshot, error) {
	if seq == 0 {
		seq = ch.head()
	}
	i, found := ch.find(seq)
	if !found {
		return Snapshot{}, &missingError{k, seq}
	}
	s := ch.snapshot(k, i)
	for _, r := range s.Refs {
		s.Blobs = slices.Grow(s.Blobs, max(0, min(r.Chunks, len(ch.commits))+1))
		base := ch.base(r.Field, r.Base)
		for n := 0; n <= r.Chunks; n++ {
			data := base.get(n)
			if data == nil {
				return Snapshot{}, &CorruptError{Key: k, Seq: seq, Field: r.Field, Why: fmt.Sprintf("chunk %d of base %d is missing", n, r.Base)}
			}
			s.Blobs = append(s.Blobs, Blob{Field: r.Field, Base: r.Base, Chunk: n, Data: data})
		}
	}
	return s, nil
}

// missingError is the ErrNotFound of a Load. Each new thread begins with one.
type missingError struct {
	Key
	seq uint64
}

func (e *missingError) Error() string {
	return fmt.Sprintf("%v: thread %q, namespace %q, commit %d", ErrNotFound, e.Thread, e.Namespace, e.seq)
}

func (e *missingError) Is(target error) bool { return target == ErrNotFound }

// find returns the index of the commit with a number, or the index of the first one after it.
func (ch *memoryChain) find(seq uint64) (i int, found bool) {
	if ch == nil {
		return 0, false
	}
	return slices.BinarySearchFunc(ch.commits, seq, func(c memoryCommit, seq uint64) int { return cmp.Compare(c.seq, seq) })
}

// snapshot returns a commit without blobs; the bytes still belong to the store.
// The caller holds the lock.
func (ch *memoryChain) snapshot(k Key, i int) Snapshot {
	s := ch.commits[i].snapshot(k, ch.head())
	if i == len(ch.commits)-1 {
		s.Pending = slices.Clone(ch.pending)
	}
	return s
}

// clone copies everything that the store has but the data of blobs.
func (s Snapshot) clone() Snapshot {
	s.Header = bytes.Clone(s.Header)
	s.Pending = cloneEntries(s.Pending)
	return s
}

// cloneBlobs replaces the data of blobs by copies. Small blobs share memory with some others.
func cloneBlobs(blobs []Blob) {
	var room []byte
	for i := range blobs {
		data := blobs[i].Data
		if len(data) >= maxShared {
			blobs[i].Data = bytes.Clone(data)
			continue
		}
		if room == nil || cap(room)-len(room) < len(data) {
			size := len(data)
			for _, b := range blobs[i+1:] {
				if size += len(b.Data); size > maxRoom || len(b.Data) >= maxShared {
					size -= len(b.Data)
					break
				}
			}
			room = make([]byte, 0, size)
		}
		from := len(room)
		room = append(room, data...)
		blobs[i].Data = room[from:len(room):len(room)]
	}
}

// History implements Store. It yields the commits as of its first read: later commits and drops
// have no effect on it.
func (m *Memory) History(ctx context.Context, k Key, q Query) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		first, commits, err := m.newest(ctx, k, q.Before)
		if err != nil {
			yield(Snapshot{}, err)
			return
		}
		n := 0
		for i := len(commits) - 1; i >= 0 && within(n, q.Limit); i-- {
			if err := ctx.Err(); err != nil {
				yield(Snapshot{}, err)
				return
			}
			if !commits[i].has(q.Where) {
				continue
			}
			n++
			s := first
			if i < len(commits)-1 {
				s = commits[i].snapshot(k, first.Head)
			}
			if !yield(s.clone(), nil) {
				return
			}
		}
	}
}

// newest returns the commits before a number, and the newest of them as a snapshot.
func (m *Memory) newest(ctx context.Context, k Key, before uint64) (first Snapshot, commits []memoryCommit, err error) {
	if before == 0 {
		before = math.MaxUint64
	}
	err = m.read(ctx, func(now time.Time) error {
		ch := m.live(k.Thread, now).chain(k.Namespace)
		if n, _ := ch.find(before); n > 0 {
			first, commits = ch.snapshot(k, n-1), ch.commits[:n]
		}
		return nil
	})
	return first, commits, err
}

func within(n, limit int) bool { return limit <= 0 || n < limit }

// Threads implements Store. It may or may not yield threads that start or end while it is read. It
// yields every other thread once.
func (m *Memory) Threads(ctx context.Context, q ThreadQuery) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		after := q.After
		for n := 0; within(n, q.Limit); n++ {
			s, found, err := m.next(ctx, after, q.Where)
			if err != nil {
				yield(Snapshot{}, err)
				return
			}
			if !found || !yield(s.clone(), nil) {
				return
			}
			after = s.Thread
		}
	}
}

// next returns the head of the first thread with these labels whose id is greater than after.
func (m *Memory) next(ctx context.Context, after string, where map[string]string) (_ Snapshot, found bool, _ error) {
	if err := ctx.Err(); err != nil {
		return Snapshot{}, false, err
	}
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return Snapshot{}, false, ErrClosed
	}
	m.sortRoots()
	i, found := slices.BinarySearch(m.roots, after)
	if found {
		i++
	}
	for ; i < len(m.roots); i++ {
		ch := m.live(m.roots[i], now).chain("")
		if ch != nil && ch.last().has(where) {
			return ch.snapshot(Key{Thread: m.roots[i]}, len(ch.commits)-1), true, nil
		}
	}
	return Snapshot{}, false, nil
}

// Namespaces implements Store.
func (m *Memory) Namespaces(ctx context.Context, thread string) (list []string, err error) {
	err = m.read(ctx, func(now time.Time) error {
		if t := m.live(thread, now); t != nil {
			list = slices.Sorted(maps.Keys(t.others))
			if len(t.root.commits) > 0 {
				list = slices.Insert(list, 0, "")
			}
		}
		return nil
	})
	return list, err
}
