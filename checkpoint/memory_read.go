package checkpoint

import (
	"bytes"
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
	for i := range s.Blobs {
		s.Blobs[i].Data = bytes.Clone(s.Blobs[i].Data)
	}
	return s, nil
}

// gather returns a commit with its blobs; the bytes still belong to the store.
func (ch *memoryChain) gather(k Key, seq uint64) (Snapshot, error) {
	if seq == 0 {
		seq = ch.head()
	}
	i, found := ch.find(seq)
	if !found {
		return Snapshot{}, fmt.Errorf("%w: thread %q, namespace %q, commit %d", ErrNotFound, k.Thread, k.Namespace, seq)
	}
	s := ch.snapshot(k, i)
	for _, r := range s.Refs {
		for n := 0; n <= r.Chunks; n++ {
			data, found := ch.blobs[blobAddress{r.Field, r.Base, n}]
			if !found {
				return Snapshot{}, &CorruptError{Key: k, Seq: seq, Field: r.Field, Why: fmt.Sprintf("chunk %d of base %d is missing", n, r.Base)}
			}
			s.Blobs = append(s.Blobs, Blob{Field: r.Field, Base: r.Base, Chunk: n, Data: data})
		}
	}
	return s, nil
}

// find returns the index of the commit with a number, or the index of the first one after it.
func (ch *memoryChain) find(seq uint64) (i int, found bool) {
	if ch == nil {
		return 0, false
	}
	return slices.BinarySearchFunc(ch.commits, seq, func(c memoryCommit, seq uint64) int {
		switch {
		case c.seq < seq:
			return -1
		case c.seq > seq:
			return 1
		}
		return 0
	})
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

func (c memoryCommit) snapshot(k Key, head uint64) Snapshot {
	return Snapshot{Key: k, Seq: c.seq, Head: head, ID: c.id, Labels: labelMap(c.labels), Header: c.header, Refs: c.refs}
}

// clone copies everything but the labels and the data of blobs.
func (s Snapshot) clone() Snapshot {
	s.Header = bytes.Clone(s.Header)
	s.Refs = slices.Clone(s.Refs)
	s.Pending = cloneEntries(s.Pending)
	return s
}

// label is a label of a commit.
type label struct{ key, value string }

func labelsOf(m map[string]string) []label {
	labels := make([]label, 0, len(m))
	for key, value := range m {
		labels = append(labels, label{key, value})
	}
	return labels
}

func labelMap(labels []label) map[string]string {
	if len(labels) == 0 {
		return nil
	}
	m := make(map[string]string, len(labels))
	for _, l := range labels {
		m[l.key] = l.value
	}
	return m
}

// has reports whether labels have all that a query asks for.
func has(labels []label, where map[string]string) bool {
	for key, want := range where {
		if !slices.Contains(labels, label{key, want}) {
			return false
		}
	}
	return true
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
			if !has(commits[i].labels, q.Where) {
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
		if ch != nil && has(ch.last().labels, where) {
			return ch.snapshot(Key{Thread: m.roots[i]}, len(ch.commits)-1), true, nil
		}
	}
	return Snapshot{}, false, nil
}

// Namespaces implements Store.
func (m *Memory) Namespaces(ctx context.Context, thread string) (list []string, err error) {
	err = m.read(ctx, func(now time.Time) error {
		if t := m.live(thread, now); t != nil {
			list = slices.Sorted(maps.Keys(t.chains))
		}
		return nil
	})
	return list, err
}
