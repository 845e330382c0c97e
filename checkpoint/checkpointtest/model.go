package checkpointtest

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weftrun/weft/checkpoint"
)

// model is the dumbest store: everything that was said, in order. It answers by
// looking through all of it.
type model struct {
	commits map[checkpoint.Key][]checkpoint.Commit
	pending map[checkpoint.Key]map[[2]string]checkpoint.Entry
}

func newModel() *model {
	return &model{map[checkpoint.Key][]checkpoint.Commit{}, map[checkpoint.Key]map[[2]string]checkpoint.Entry{}}
}

func (m *model) head(k checkpoint.Key) uint64 { return uint64(len(m.commits[k])) }

// commit reports whether c is refused.
func (m *model) commit(c checkpoint.Commit) (refused bool) {
	head := m.head(c.Key)
	if head > 0 && head == c.Seq() && m.commits[c.Key][head-1].ID == c.ID {
		return false
	}
	if head != c.Head {
		return true
	}
	m.commits[c.Key] = append(m.commits[c.Key], c)
	m.pending[c.Key] = map[[2]string]checkpoint.Entry{}
	return false
}

// put reports whether entries are refused.
func (m *model) put(k checkpoint.Key, seq uint64, entries []checkpoint.Entry) (refused bool) {
	if seq == 0 || seq != m.head(k) {
		return true
	}
	for _, e := range entries {
		at := [2]string{e.Task, e.Slot}
		if _, there := m.pending[k][at]; !there || !e.Keep {
			m.pending[k][at] = e
		}
	}
	return false
}

// list returns a commit as listings show it.
func (m *model) list(k checkpoint.Key, seq uint64) checkpoint.Snapshot {
	c := m.commits[k][seq-1]
	snap := checkpoint.Snapshot{Key: k, Seq: seq, Head: m.head(k), ID: c.ID, Header: c.Header, Refs: c.Refs}
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
			for _, c := range m.commits[k] {
				for _, b := range c.Blobs {
					if b.Field == r.Field && b.Base == r.Base && b.Chunk == n {
						snap.Blobs = append(snap.Blobs, b)
					}
				}
			}
		}
	}
	return snap
}

// history returns commits as Query asks for them.
func (m *model) history(k checkpoint.Key, q checkpoint.Query) (list []checkpoint.Snapshot) {
	for seq := m.head(k); seq > 0; seq-- {
		if (q.Before == 0 || seq < q.Before) && (q.Limit == 0 || len(list) < q.Limit) {
			list = append(list, m.list(k, seq))
		}
	}
	return list
}

// threads returns the root heads as ThreadQuery asks for them.
func (m *model) threads(q checkpoint.ThreadQuery) (list []checkpoint.Snapshot) {
	ids := map[string]bool{}
	for k := range m.commits {
		ids[k.Thread] = ids[k.Thread] || k.Namespace == ""
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
	maps.DeleteFunc(m.pending, func(k checkpoint.Key, _ map[[2]string]checkpoint.Entry) bool { return gone(k) })
}
