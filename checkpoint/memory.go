package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
)

// Memory keeps threads in the memory of this process: for tests, for examples, and
// for runs that need not outlive it. The zero value is ready for use. A Memory must
// not be copied after first use.
//
// It copies bytes in and out, and so behaves like a store on a disk. A commit
// costs what it adds and a load costs what it returns, whatever the age of the
// thread. Nothing is ever dropped but by Delete and Close.
type Memory struct {
	mu     sync.RWMutex // never held while bytes are copied or a caller's code runs
	chains map[Key]*memoryChain
	spaces map[string][]string // thread: its namespaces
	roots  []string            // threads with a root chain, sorted up to sorted
	sorted int
	closed bool
}

var _ Store = (*Memory)(nil)

// memoryChain is one namespace of a thread. What it points to is written once, so a
// reader may take slices of it away and read them without the lock. Only the
// pending entries change in place.
type memoryChain struct {
	commits []memoryCommit // commits[i] has the number i+1
	blobs   map[blobAddress][]byte
	pending []Entry // in order of Task, then Slot
}

type memoryCommit struct {
	id     string
	header []byte
	refs   []Ref
}

type blobAddress struct {
	field string
	base  uint64
	chunk int
}

// Commit implements Store.
func (m *Memory) Commit(ctx context.Context, c Commit) error {
	if err := CheckThread(c.Thread); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.Header, c.Refs, c.Blobs = bytes.Clone(c.Header), slices.Clone(c.Refs), slices.Clone(c.Blobs)
	for i := range c.Blobs {
		c.Blobs[i].Data = bytes.Clone(c.Blobs[i].Data)
	}
	return m.append(c)
}

// append adds c to its chain, and keeps its slices.
func (m *Memory) append(c Commit) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	ch := m.chains[c.Key]
	switch head := ch.head(); {
	case head > 0 && head == c.Seq() && ch.commits[head-1].id == c.ID:
		return nil
	case head != c.Head:
		return &ConflictError{Key: c.Key, Want: c.Head, Head: head}
	}
	if err := ch.checkNew(c); err != nil {
		return err
	}
	if ch == nil {
		ch = m.start(c.Key)
	}
	for _, b := range c.Blobs {
		ch.blobs[blobAddress{b.Field, b.Base, b.Chunk}] = b.Data
	}
	ch.commits = append(ch.commits, memoryCommit{id: c.ID, header: c.Header, refs: c.Refs})
	ch.pending = nil
	return nil
}

// start adds an empty chain. The caller holds the lock.
func (m *Memory) start(k Key) *memoryChain {
	if m.chains == nil {
		m.chains, m.spaces = map[Key]*memoryChain{}, map[string][]string{}
	}
	ch := &memoryChain{blobs: map[blobAddress][]byte{}}
	m.chains[k] = ch
	m.spaces[k.Thread] = append(m.spaces[k.Thread], k.Namespace)
	if k.Namespace == "" {
		m.roots = append(m.roots, k.Thread)
	}
	return ch
}

// head returns the number of the newest commit, 0 for a chain that is not there.
func (ch *memoryChain) head() uint64 {
	if ch == nil {
		return 0
	}
	return uint64(len(ch.commits))
}

// checkNew makes sure that no blob of c would change one that is stored.
func (ch *memoryChain) checkNew(c Commit) error {
	seen := make(map[blobAddress]bool, len(c.Blobs))
	for _, b := range c.Blobs {
		a := blobAddress{b.Field, b.Base, b.Chunk}
		old := seen[a]
		if ch != nil && !old {
			_, old = ch.blobs[a]
		}
		if old {
			return fmt.Errorf("checkpoint: thread %q, namespace %q, commit %d: chunk %d of field %q, base %d, is stored already; a blob is written once",
				c.Thread, c.Namespace, c.Seq(), b.Chunk, b.Field, b.Base)
		}
		seen[a] = true
	}
	return nil
}

// Put implements Store.
func (m *Memory) Put(ctx context.Context, p Pending) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	k, entries := p.Key, cloneEntries(p.Entries)

	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	ch := m.chains[k]
	if head := ch.head(); head != p.Head {
		return &ConflictError{Key: k, Want: p.Head, Head: head}
	}
	if ch == nil {
		return fmt.Errorf("%w: thread %q, namespace %q has no commit to put entries beside", ErrNotFound, k.Thread, k.Namespace)
	}
	for _, e := range entries {
		ch.put(e)
	}
	return nil
}

func (ch *memoryChain) put(e Entry) {
	keep := e.Keep
	e.Keep = false // says how to put, and is not part of what is stored
	i, found := slices.BinarySearchFunc(ch.pending, e, byTaskAndSlot)
	switch {
	case !found:
		ch.pending = slices.Insert(ch.pending, i, e)
	case !keep:
		ch.pending[i] = e
	}
}

func byTaskAndSlot(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Slot, b.Slot))
}

func cloneEntries(entries []Entry) []Entry {
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Data = bytes.Clone(entries[i].Data)
	}
	return entries
}

// Delete implements Store.
func (m *Memory) Delete(ctx context.Context, thread string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	for _, ns := range m.spaces[thread] {
		delete(m.chains, Key{thread, ns})
	}
	delete(m.spaces, thread)
	m.sortRoots()
	if i, found := slices.BinarySearch(m.roots, thread); found {
		m.roots = slices.Delete(m.roots, i, i+1)
		m.sorted--
	}
	return nil
}

// sortRoots puts the threads in order that were started since the last call. The
// caller holds the lock.
func (m *Memory) sortRoots() {
	if m.sorted < len(m.roots) {
		slices.Sort(m.roots)
		m.sorted = len(m.roots)
	}
}

// Close drops everything. It never fails.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.chains, m.spaces, m.roots, m.sorted, m.closed = nil, nil, nil, 0, true
	return nil
}
