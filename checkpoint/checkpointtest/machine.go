package checkpointtest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/checkpoint"
)

// likeTheModel does random things to the store and to the model and demands the
// same answers. All tries share the store; each has threads with a prefix of its own.
func likeTheModel(p *probe) {
	tries := 0
	rapid.Check(p.TB, func(t *rapid.T) {
		tries++
		m := &machine{probe: probe{TB: p.TB, store: p.store}, t: t, model: newModel(), prefix: fmt.Sprintf("try %06d ", tries)}
		acts := map[string]func(*rapid.T){
			"commit": m.commit, "again": m.again, "put": m.put, "load": m.load,
			"history": m.history, "threads": m.threads, "delete": m.delete,
		}
		if leases.in(p.store) {
			acts["take"], acts["release"] = m.take, m.release
		}
		if drops.in(p.store) {
			acts["drop"] = m.drop
		}
		if expiry.in(p.store) && clock.in(p.store) {
			acts["expire"], acts["advance"] = m.expire, m.advanceBoth
		}
		t.Repeat(acts)
	})
}

// machine has a store and its model. Its methods are named for what they do to both.
type machine struct {
	probe
	t      *rapid.T
	model  *model
	prefix string
	ids    int
	last   *checkpoint.Commit // the last that was stored
	fences []string           // fences that were once given
}

// fence draws the fence of a thread, mostly, or another one.
func (m *machine) fence(t *rapid.T, thread string) string {
	if len(m.fences) == 0 || rapid.IntRange(0, 5).Draw(t, "right fence") > 0 {
		return m.model.fences[thread]
	}
	return rapid.SampledFrom(append(m.fences, "")).Draw(t, "fence")
}

func (m *machine) take(t *rapid.T) {
	r := ask(m.key(t).Thread, "machine")
	r.Force = true
	l, err := m.leaser().Acquire(m.Context(), r)
	m.done("a thread can be taken", err)
	m.model.fences[r.Thread] = l.Fence
	m.fences = append(m.fences, l.Fence)
}

func (m *machine) release(t *rapid.T) {
	thread := m.key(t).Thread
	fence := m.fence(t, thread)
	m.done("a lease can be released", m.leaser().Release(m.Context(), thread, fence))
	if m.model.fences[thread] == fence {
		delete(m.model.fences, thread)
	}
}

// drop removes a few old commits, and the blobs that only they have.
func (m *machine) drop(t *rapid.T) {
	k := m.key(t)
	d := checkpoint.Drop{Key: k, Head: m.near(t, k), Fence: m.fence(t, k.Thread)}
	needed := map[string]int{}
	for _, c := range m.model.commits[k] {
		if c.Seq() == m.model.head(k) || c.Seq() == d.Head || rapid.Bool().Draw(t, "stays") {
			for _, r := range c.Refs {
				at := fmt.Sprint(r.Field, r.Base)
				needed[at] = max(needed[at], r.Chunks+1)
			}
			continue
		}
		d.Commits = append(d.Commits, c.Seq())
	}
	for _, b := range m.model.blobs[k] {
		if b.Chunk >= needed[fmt.Sprint(b.Field, b.Base)] {
			d.Blobs = append(d.Blobs, checkpoint.Blob{Field: b.Field, Base: b.Base, Chunk: b.Chunk})
		}
	}
	m.refused("a drop", m.dropper().Drop(m.Context(), d), m.model.drop(d))
	for _, c := range m.model.commits[k] {
		m.loadBoth(k, c.Seq())
	}
	for _, n := range d.Commits {
		m.loadBoth(k, n)
	}
	m.agree("a history after a drop", m.probe.history(k, checkpoint.Query{}), m.model.history(k, checkpoint.Query{}))
}

func (m *machine) expire(t *rapid.T) {
	k := m.key(t)
	ttl := time.Duration(rapid.IntRange(0, 3).Draw(t, "minutes")) * time.Minute
	unknown := m.model.head(key(k.Thread)) == 0 && m.model.head(key(k.Thread, "sub")) == 0
	m.refused("an end", m.expirer().Expire(m.Context(), k.Thread, ttl), unknown)
	switch {
	case unknown:
	case ttl == 0:
		delete(m.model.ends, k.Thread)
	default:
		m.model.ends[k.Thread] = m.model.now + ttl
	}
}

func (m *machine) advanceBoth(t *rapid.T) {
	d := time.Duration(rapid.IntRange(1, 100).Draw(t, "seconds")) * time.Second
	m.advance(d)
	m.model.advance(d)
	m.last = nil
	m.loadBoth(m.key(t), 0)
}

// agree fails the try when store and model differ.
func (m *machine) agree(what string, got, want any) {
	if g, w := show(got), show(want); g != w {
		m.t.Fatalf("rule: a store does what the model does: %s\n got: %s\nwant: %s", what, g, w)
	}
}

// refused fails the try when the store refused and the model did not, or the reverse.
func (m *machine) refused(what string, err error, want bool) {
	if err != nil && !errors.Is(err, checkpoint.ErrConflict) && !errors.Is(err, checkpoint.ErrNotFound) && !errors.Is(err, checkpoint.ErrFenced) {
		m.t.Fatalf("rule: a store refuses with ErrConflict\n got: %s: %v", what, err)
	}
	m.agree(what+" is refused", err != nil, want)
}

func (m *machine) key(t *rapid.T) checkpoint.Key {
	return key(m.prefix+rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "thread"),
		rapid.SampledFrom([]string{"", "", "sub"}).Draw(t, "namespace"))
}

// near draws the head, mostly, or a number around it.
func (m *machine) near(t *rapid.T, k checkpoint.Key) uint64 {
	if rapid.IntRange(0, 3).Draw(t, "at head") > 0 {
		return m.model.head(k)
	}
	return rapid.Uint64Range(0, m.model.head(k)+1).Draw(t, "number")
}

// commit goes on with each field as it is, adds a chunk to it, or gives it a base.
func (m *machine) commit(t *rapid.T) {
	k := m.key(t)
	m.ids++
	c := checkpoint.Commit{Key: k, ID: fmt.Sprint("id ", m.ids), Head: m.near(t, k), Header: rapid.SliceOf(rapid.Byte()).Draw(t, "header"), Fence: m.fence(t, k.Thread)}
	if rapid.Bool().Draw(t, "labelled") {
		c.Labels = map[string]string{"l": rapid.SampledFrom([]string{"1", "2"}).Draw(t, "label")}
	}
	if expiry.in(m.store) && clock.in(m.store) && rapid.IntRange(0, 5).Draw(t, "ends") == 0 {
		c.TTL = time.Minute
	}
	if rapid.IntRange(0, 5).Draw(t, "gap") == 0 {
		c.Number = c.Head + 3
	}
	c.Pending = m.entries(t)
	old := map[string]checkpoint.Ref{}
	if head := m.model.head(k); head > 0 {
		for _, r := range m.model.list(k, head).Refs {
			old[r.Field] = r
		}
	}
	for _, field := range []string{"y", "x"} {
		r, known := old[field]
		change := rapid.SampledFrom([]string{"keep", "chunk", "base", "drop"}).Draw(t, field)
		switch {
		case change == "drop":
			continue
		case change == "base" || !known:
			r = checkpoint.Ref{Field: field, Base: c.Seq()}
		case change == "chunk":
			r.Chunks++
		}
		c.Refs = append(c.Refs, r)
		if r != old[field] {
			data := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "data")
			c.Blobs = append(c.Blobs, checkpoint.Blob{Field: field, Base: r.Base, Chunk: r.Chunks, Data: data})
		}
	}
	refused := m.model.commit(c)
	m.refused("a commit", m.store.Commit(m.Context(), c), refused)
	if !refused {
		m.last = &c
	}
	m.loadBoth(k, 0)
}

// again makes the last commit once more, which others may have followed. After a
// Delete there is none: its references would lead nowhere.
func (m *machine) again(t *rapid.T) {
	if m.last == nil {
		t.Skip("nothing to repeat")
	}
	m.refused("a repeated commit", m.store.Commit(m.Context(), *m.last), m.model.commit(*m.last))
	m.loadBoth(m.last.Key, 0)
}

func (m *machine) put(t *rapid.T) {
	k := m.key(t)
	b := beside(k, m.near(t, k), m.entries(t)...)
	b.Fence = m.fence(t, k.Thread)
	m.refused("a put", m.store.Put(m.Context(), b), m.model.put(b))
	m.loadBoth(k, 0)
}

func (m *machine) entries(t *rapid.T) []checkpoint.Entry {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) checkpoint.Entry {
		name := rapid.SampledFrom([]string{"a", "b", ""})
		data := rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "data")
		return checkpoint.Entry{Task: name.Draw(t, "task"), Slot: name.Draw(t, "slot"), Keep: rapid.Bool().Draw(t, "keep"), Data: data}
	}), 0, 4).Draw(t, "entries")
}

func (m *machine) load(t *rapid.T) {
	k := m.key(t)
	m.loadBoth(k, rapid.Uint64Range(0, m.model.head(k)+1).Draw(t, "number"))
}

func (m *machine) loadBoth(k checkpoint.Key, seq uint64) {
	snap, err := m.store.Load(m.Context(), k, seq)
	head := m.model.head(k)
	if head == 0 || seq != 0 && m.model.find(k, seq) < 0 {
		m.agree("a load is refused with ErrNotFound", errors.Is(err, checkpoint.ErrNotFound), true)
		return
	}
	if err != nil {
		m.t.Fatalf("rule: commit %d of %q can be loaded\n got: %v", seq, k, err)
	}
	if seq == 0 {
		seq = head
	}
	m.agree("a load", snap, m.model.load(k, seq))
}

func (m *machine) history(t *rapid.T) {
	k := m.key(t)
	q := checkpoint.Query{Before: rapid.Uint64Range(0, m.model.head(k)+1).Draw(t, "before"), Limit: rapid.IntRange(0, 3).Draw(t, "limit")}
	if rapid.Bool().Draw(t, "search") {
		q.Where = map[string]string{"l": "1"}
	}
	m.agree("a history", m.probe.history(k, q), m.model.history(k, q))
}

// threads reads this try's threads, after which come those of later tries.
func (m *machine) threads(t *rapid.T) {
	q := checkpoint.ThreadQuery{After: m.prefix + rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "after"), Limit: rapid.IntRange(0, 3).Draw(t, "limit")}
	var got []checkpoint.Snapshot
	for snap, err := range m.store.Threads(m.Context(), q) {
		m.done("the threads can be listed", err)
		if !strings.HasPrefix(snap.Thread, m.prefix) {
			break
		}
		got = append(got, snap)
	}
	m.agree("a list of threads", got, m.model.threads(q))
}

func (m *machine) delete(t *rapid.T) {
	k := m.key(t)
	m.done("a thread can be deleted", m.store.Delete(m.Context(), k.Thread))
	m.model.delete(k.Thread)
	m.last = nil
	m.loadBoth(k, 0)
}
