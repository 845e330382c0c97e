package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Memory is a Store in the memory of this process: for tests, for examples, and
// for runs that need not outlive it. The zero value is ready for use. A Memory must
// not be copied after first use.
//
// It copies bytes in and out, and so behaves like a store on a disk. The cost of a commit
// depends on what it adds, and the cost of a load on what it returns, whatever the age of
// the thread. Only Drop, Delete, Close and the expiry of a thread remove data.
type Memory struct {
	// Now is the clock of leases and of expiry; nil means time.Now. Set it before the first
	// use. It must be safe for concurrent use.
	Now func() time.Time

	mu      sync.RWMutex // never held while bytes are copied or a caller's code runs
	threads map[string]*memoryThread
	roots   []string // threads with a root chain, sorted up to sorted
	sorted  int
	ending  deadlines // threads that expire
	closed  bool
}

var (
	_ Store   = (*Memory)(nil)
	_ Leaser  = (*Memory)(nil)
	_ Dropper = (*Memory)(nil)
	_ Expirer = (*Memory)(nil)
)

// memoryThread is a thread with commits, with a lease, or with both.
type memoryThread struct {
	id      string
	root    memoryChain             // without commits if there is none
	others  map[string]*memoryChain // by namespace, without the root
	lease   memoryLease
	expires time.Time // zero for never
	place   int       // in Memory.ending, while expires is set
}

// memoryChain is one namespace of a thread. Its commits and blobs are written once, so a
// reader may take slices of them and read them without the lock. Only the pending entries
// change in place; Drop makes a new slice of commits.
type memoryChain struct {
	commits []memoryCommit // in order of seq
	fields  []memoryField
	byName  map[string]int // the index of a field, if there are many
	pending []Entry        // in order of Task, then Slot

	firstCommits [2]memoryCommit // where commits begins
	firstFields  [1]memoryField  // where fields begins
}

func (m *Memory) now() time.Time {
	if m.Now == nil {
		return time.Now()
	}
	return m.Now()
}

// live returns a thread that exists and has not expired, or nil. The caller holds the
// lock, at least for reading.
func (m *Memory) live(thread string, now time.Time) *memoryThread {
	t := m.threads[thread]
	if t == nil || t.ended(now) {
		return nil
	}
	return t
}

// chain returns a chain that exists, or nil.
func (t *memoryThread) chain(namespace string) *memoryChain {
	switch {
	case t == nil:
		return nil
	case namespace != "":
		return t.others[namespace]
	case len(t.root.commits) == 0:
		return nil
	}
	return &t.root
}

// isEmpty reports whether a thread has no commits.
func (t *memoryThread) isEmpty() bool { return len(t.root.commits) == 0 && len(t.others) == 0 }

// write calls f to change the store. It holds the lock, and first removes the thread if it has
// expired.
func (m *Memory) write(ctx context.Context, thread string, f func(t *memoryThread, now time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	if t := m.threads[thread]; t != nil && t.ended(now) {
		m.remove(t)
	}
	m.sweep(now)
	return f(m.threads[thread], now)
}

// Commit implements Store.
func (m *Memory) Commit(ctx context.Context, c Commit) error {
	if err := c.Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.Pending = cloneEntries(c.Pending)
	own := copyOf(&c)
	return m.write(ctx, c.Thread, func(t *memoryThread, now time.Time) error { return m.append(t, &c, &own, now) })
}

// append adds c to its chain. It stores the copy and not the bytes of c.
func (m *Memory) append(t *memoryThread, c *Commit, own *memoryCopy, now time.Time) error {
	if err := t.fenced(c.Thread, c.Fence); err != nil {
		return err
	}
	ch := t.chain(c.Namespace)
	switch head := ch.head(); {
	case head > 0 && head == c.Seq() && ch.last().id == c.ID:
		return nil
	case head != c.Head:
		return &ConflictError{Key: c.Key, Want: c.Head, Head: head}
	}
	if err := ch.checkNew(c); err != nil {
		return err
	}
	if t == nil {
		t = m.thread(c.Thread)
	}
	m.occupy(t)
	if ch == nil {
		ch = m.start(t, c.Namespace)
	}
	for i := range c.Blobs {
		ch.add(&c.Blobs[i], own.next(i, len(c.Blobs[i].Data)))
	}
	ch.commits = append(ch.commits, own.commit)
	ch.pending = nil
	for _, e := range c.Pending {
		ch.put(e)
	}
	if c.TTL > 0 {
		m.expire(t, now.Add(c.TTL))
	}
	return nil
}

// thread returns a thread and creates it if it does not exist. The caller holds the lock.
func (m *Memory) thread(id string) *memoryThread {
	t := m.threads[id]
	if t == nil {
		if m.threads == nil {
			m.threads = map[string]*memoryThread{}
		}
		t = &memoryThread{id: id}
		m.threads[id] = t
	}
	return t
}

// start adds an empty chain. The caller holds the lock.
func (m *Memory) start(t *memoryThread, namespace string) *memoryChain {
	ch := &t.root
	if namespace == "" {
		m.roots = append(m.roots, t.id)
	} else {
		if t.others == nil {
			t.others = map[string]*memoryChain{}
		}
		ch = new(memoryChain)
		t.others[namespace] = ch
	}
	ch.commits, ch.fields = ch.firstCommits[:0], ch.firstFields[:0]
	return ch
}

// head returns the number of the newest commit, 0 for a nil chain.
func (ch *memoryChain) head() uint64 {
	if ch == nil {
		return 0
	}
	return ch.last().seq
}

func (ch *memoryChain) last() *memoryCommit { return &ch.commits[len(ch.commits)-1] }

// Put implements Store.
func (m *Memory) Put(ctx context.Context, p Pending) error {
	p.Entries = cloneEntries(p.Entries)
	return m.write(ctx, p.Thread, func(t *memoryThread, _ time.Time) error {
		if err := t.fenced(p.Thread, p.Fence); err != nil {
			return err
		}
		ch := t.chain(p.Namespace)
		if head := ch.head(); head != p.Head {
			return &ConflictError{Key: p.Key, Want: p.Head, Head: head}
		}
		if ch == nil {
			return fmt.Errorf("%w: thread %q, namespace %q has no commit for pending entries", ErrNotFound, p.Thread, p.Namespace)
		}
		for _, e := range p.Entries {
			ch.put(e)
		}
		return nil
	})
}

func (ch *memoryChain) put(e Entry) {
	keep := e.Keep
	e.Keep = false // Keep is an instruction for Put and is not stored
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
	return m.write(ctx, thread, func(t *memoryThread, _ time.Time) error {
		if t != nil {
			m.remove(t)
		}
		return nil
	})
}

// remove removes a thread. The caller holds the lock.
func (m *Memory) remove(t *memoryThread) {
	m.expire(t, time.Time{})
	delete(m.threads, t.id)
	if len(t.root.commits) == 0 {
		return
	}
	m.sortRoots()
	if i, found := slices.BinarySearch(m.roots, t.id); found {
		m.roots = slices.Delete(m.roots, i, i+1)
		m.sorted--
	}
}

// sortRoots sorts the ids of threads that were added since the last call. The caller holds
// the lock.
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
	m.threads, m.roots, m.sorted, m.ending, m.closed = nil, nil, 0, nil, true
	return nil
}
