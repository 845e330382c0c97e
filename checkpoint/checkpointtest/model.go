package checkpointtest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// model is the dumbest store: everything that was said, in order. It answers by
// looking through all of it.
type model struct {
	commits map[checkpoint.Key][]checkpoint.Commit
	pending map[checkpoint.Key]map[[2]string]checkpoint.Entry
	blobs   map[checkpoint.Key][]checkpoint.Blob
	fences  map[string]string        // of the newest lease of a thread, until it is released
	ends    map[string]time.Duration // when a thread expires
	now     time.Duration
}

func newModel() *model {
	return &model{
		commits: map[checkpoint.Key][]checkpoint.Commit{}, pending: map[checkpoint.Key]map[[2]string]checkpoint.Entry{},
		blobs: map[checkpoint.Key][]checkpoint.Blob{}, fences: map[string]string{}, ends: map[string]time.Duration{},
	}
}

func (m *model) head(k checkpoint.Key) uint64 {
	if n := len(m.commits[k]); n > 0 {
		return m.commits[k][n-1].Seq()
	}
	return 0
}

// commit reports whether c is refused.
func (m *model) commit(c checkpoint.Commit) (refused bool) {
	head := m.head(c.Key)
	switch n := len(m.commits[c.Key]); {
	case c.Fence != m.fences[c.Thread]:
		return true
	case head > 0 && head == c.Seq() && m.commits[c.Key][n-1].ID == c.ID:
		return false
	case head != c.Head:
		return true
	}
	m.commits[c.Key] = append(m.commits[c.Key], c)
	m.blobs[c.Key] = append(m.blobs[c.Key], c.Blobs...)
	m.pending[c.Key] = map[[2]string]checkpoint.Entry{}
	m.keep(c.Key, c.Pending)
	if c.TTL > 0 {
		m.ends[c.Thread] = m.now + c.TTL
	}
	return false
}

// put reports whether entries are refused.
func (m *model) put(p checkpoint.Pending) (refused bool) {
	if p.Head == 0 || p.Head != m.head(p.Key) || p.Fence != m.fences[p.Thread] {
		return true
	}
	m.keep(p.Key, p.Entries)
	return false
}

func (m *model) keep(k checkpoint.Key, entries []checkpoint.Entry) {
	for _, e := range entries {
		at := [2]string{e.Task, e.Slot}
		if _, there := m.pending[k][at]; !there || !e.Keep {
			m.pending[k][at] = e
		}
	}
}

// drop reports whether it is refused.
func (m *model) drop(d checkpoint.Drop) (refused bool) {
	if d.Head != m.head(d.Key) || d.Fence != m.fences[d.Thread] {
		return true
	}
	m.commits[d.Key] = slices.DeleteFunc(m.commits[d.Key], func(c checkpoint.Commit) bool { return slices.Contains(d.Commits, c.Seq()) })
	m.blobs[d.Key] = slices.DeleteFunc(m.blobs[d.Key], func(b checkpoint.Blob) bool {
		return slices.ContainsFunc(d.Blobs, func(o checkpoint.Blob) bool { return b.Field == o.Field && b.Base == o.Base && b.Chunk == o.Chunk })
	})
	return false
}

// advance lets time pass, and threads end.
func (m *model) advance(d time.Duration) {
	m.now += d
	for thread, end := range m.ends {
		if end <= m.now {
			m.delete(thread)
		}
	}
}

// find returns the index of a commit, or -1.
func (m *model) find(k checkpoint.Key, seq uint64) int {
	return slices.IndexFunc(m.commits[k], func(c checkpoint.Commit) bool { return c.Seq() == seq })
}

// list returns a commit as listings show it.
func (m *model) list(k checkpoint.Key, seq uint64) checkpoint.Snapshot {
	c := m.commits[k][m.find(k, seq)]
	snap := checkpoint.Snapshot{Key: k, Seq: seq, Head: m.head(k), ID: c.ID, Labels: c.Labels, Header: c.Header, Refs: c.Refs}
	if seq == snap.Head {
		snap.Pending = slices.SortedFunc(maps.Values(m.pending[k]), func(a, b checkpoint.Entry) int {
			return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Slot, b.Slot))
		})
	}
	return snap
}

// load returns a commit with the blobs that its references name.
func (m *model) load(k checkpoint.Key, seq uint64) checkpoint.Snapshot {
	snap := m.list(k, seq)
	for _, r := range snap.Refs {
		for n := 0; n <= r.Chunks; n++ {
			for _, b := range m.blobs[k] {
				if b.Field == r.Field && b.Base == r.Base && b.Chunk == n {
					snap.Blobs = append(snap.Blobs, b)
				}
			}
		}
	}
	return snap
}

// history returns commits as Query asks for them.
func (m *model) history(k checkpoint.Key, q checkpoint.Query) (list []checkpoint.Snapshot) {
	for _, c := range slices.Backward(m.commits[k]) {
		seq := c.Seq()
		if has(c.Labels, q.Where) && (q.Before == 0 || seq < q.Before) && (q.Limit == 0 || len(list) < q.Limit) {
			list = append(list, m.list(k, seq))
		}
	}
	return list
}

func has(labels, where map[string]string) bool {
	for key, value := range where {
		if got, found := labels[key]; !found || got != value {
			return false
		}
	}
	return true
}

// threads returns the root heads as ThreadQuery asks for them.
func (m *model) threads(q checkpoint.ThreadQuery) (list []checkpoint.Snapshot) {
	ids := map[string]bool{}
	for k, list := range m.commits {
		ids[k.Thread] = ids[k.Thread] || k.Namespace == "" && len(list) > 0
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if ids[id] && id > q.After && (q.Limit == 0 || len(list) < q.Limit) {
			k := checkpoint.Key{Thread: id}
			list = append(list, m.list(k, m.head(k)))
		}
	}
	return list
}

// delete forgets a thread.
func (m *model) delete(thread string) {
	gone := func(k checkpoint.Key) bool { return k.Thread == thread }
	maps.DeleteFunc(m.commits, func(k checkpoint.Key, _ []checkpoint.Commit) bool { return gone(k) })
	maps.DeleteFunc(m.blobs, func(k checkpoint.Key, _ []checkpoint.Blob) bool { return gone(k) })
	delete(m.fences, thread)
	delete(m.ends, thread)
	maps.DeleteFunc(m.pending, func(k checkpoint.Key, _ map[[2]string]checkpoint.Entry) bool { return gone(k) })
}
