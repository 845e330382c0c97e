package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
)

// Load implements Store.
func (m *Memory) Load(ctx context.Context, k Key, seq uint64) (Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return Snapshot{}, err
	}
	s, err := m.gather(k, seq)
	if err != nil {
		return Snapshot{}, err
	}
	s = s.clone()
	for i := range s.Blobs {
		s.Blobs[i].Data = bytes.Clone(s.Blobs[i].Data)
	}
	return s, nil
}

// gather returns a commit with its blobs; the bytes still belong to m.
func (m *Memory) gather(k Key, seq uint64) (Snapshot, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return Snapshot{}, ErrClosed
	}
	ch := m.chains[k]
	if seq == 0 {
		seq = ch.head()
	}
	if seq == 0 || seq > ch.head() {
		return Snapshot{}, fmt.Errorf("%w: thread %q, namespace %q, commit %d", ErrNotFound, k.Thread, k.Namespace, seq)
	}
	s := ch.snapshot(k, seq)
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

// snapshot returns a commit without blobs; the bytes still belong to the store.
// The caller holds the lock.
func (ch *memoryChain) snapshot(k Key, seq uint64) Snapshot {
	l := ch.commits[seq-1]
	s := Snapshot{Key: k, Seq: seq, Head: ch.head(), ID: l.id, Header: l.header, Refs: l.refs}
	if seq == s.Head {
		s.Pending = slices.Clone(ch.pending)
	}
	return s
}

// clone copies everything but the data of blobs.
func (s Snapshot) clone() Snapshot {
	s.Header = bytes.Clone(s.Header)
	s.Refs = slices.Clone(s.Refs)
	s.Pending = cloneEntries(s.Pending)
	return s
}

// History implements Store. Commits that are made while it is read do not show.
func (m *Memory) History(ctx context.Context, k Key, q Query) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		first, commits, err := m.newest(ctx, k, q.Before)
		if err != nil {
			yield(Snapshot{}, err)
			return
		}
		for n := 0; n < len(commits) && within(n, q.Limit); n++ {
			if err := ctx.Err(); err != nil {
				yield(Snapshot{}, err)
				return
			}
			s := first
			if n > 0 {
				i := len(commits) - 1 - n
				s = Snapshot{Key: k, Seq: uint64(i) + 1, Head: first.Head, ID: commits[i].id, Header: commits[i].header, Refs: commits[i].refs}
			}
			if !yield(s.clone(), nil) {
				return
			}
		}
	}
}

// newest returns the commits before a number, and the newest of them as a snapshot.
func (m *Memory) newest(ctx context.Context, k Key, before uint64) (Snapshot, []memoryCommit, error) {
	if err := ctx.Err(); err != nil {
		return Snapshot{}, nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return Snapshot{}, nil, ErrClosed
	}
	if before == 0 {
		before = math.MaxUint64
	}
	ch := m.chains[k]
	last := min(ch.head(), before-1)
	if last == 0 {
		return Snapshot{}, nil, nil
	}
	return ch.snapshot(k, last), ch.commits[:last], nil
}

func within(n, limit int) bool { return limit <= 0 || n < limit }

// Threads implements Store. Threads that start or end while it is read may show or
// not; every other thread shows once.
func (m *Memory) Threads(ctx context.Context, q ThreadQuery) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		after := q.After
		for n := 0; within(n, q.Limit); n++ {
			s, found, err := m.next(ctx, after)
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

// next returns the head of the first thread after another one.
func (m *Memory) next(ctx context.Context, after string) (_ Snapshot, found bool, _ error) {
	if err := ctx.Err(); err != nil {
		return Snapshot{}, false, err
	}
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
	if i == len(m.roots) {
		return Snapshot{}, false, nil
	}
	k := Key{Thread: m.roots[i]}
	ch := m.chains[k]
	return ch.snapshot(k, ch.head()), true, nil
}

// Namespaces implements Store.
func (m *Memory) Namespaces(ctx context.Context, thread string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return nil, ErrClosed
	}
	return slices.Sorted(slices.Values(m.spaces[thread])), nil
}
