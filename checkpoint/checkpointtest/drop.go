package checkpointtest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/weftrun/weft/checkpoint"
)

func (p *probe) drop(d checkpoint.Drop) {
	p.Helper()
	p.done(fmt.Sprintf("commits %v of %q can be dropped", d.Commits, d.Key), p.dropper().Drop(p.Context(), d))
}

// grown makes the commits 1 to n of a chain whose log gets a chunk in each, and whose
// value is new in each.
func (p *probe) grown(k checkpoint.Key, n int) []checkpoint.Commit {
	list := make([]checkpoint.Commit, n)
	for i := range n {
		c := step(k, uint64(i)+1)
		c.Refs = append(c.Refs, checkpoint.Ref{Field: "log", Base: 1, Chunks: i})
		c.Blobs = append(c.Blobs, checkpoint.Blob{Field: "log", Base: 1, Chunk: i, Data: fmt.Appendf(nil, "line %d", i)})
		list[i] = c
		p.commit(c)
	}
	return list
}

// whole returns the snapshot that Load returns for commit i of list if its log is whole.
func whole(list []checkpoint.Commit, i int, head uint64) checkpoint.Snapshot {
	want := stored(list[i], head)
	want.Blobs = []checkpoint.Blob{list[i].Blobs[0]}
	for n := range i + 1 {
		want.Blobs = append(want.Blobs, list[n].Blobs[1])
	}
	return want
}

func dropCommits(p *probe) {
	k, other := key("thread"), key("thread", "sub")
	list := p.grown(k, 10)
	p.grown(other, 10)
	before := p.dump(other)
	p.put(k, 10, entry("t", "s", "work"))
	d := checkpoint.Drop{Key: k, Head: 10, Commits: []uint64{1, 2, 3, 7}}
	for _, n := range d.Commits {
		d.Blobs = append(d.Blobs, checkpoint.Blob{Field: "value", Base: n})
	}
	p.drop(d)
	p.same("commits that were dropped are not in the history", fmt.Sprint(seqs(p.history(k, checkpoint.Query{}))), "[10 9 8 6 5 4]")
	for _, n := range d.Commits {
		_, err := p.store.Load(p.Context(), k, n)
		p.fails("a commit that was dropped is not found", err, checkpoint.ErrNotFound)
	}
	for _, i := range []int{3, 4, 5, 7, 8} {
		p.same("the other commits are whole", p.load(k, uint64(i)+1), whole(list, i, 10))
	}
	want := whole(list, 9, 10)
	want.Pending = []checkpoint.Entry{entry("t", "s", "work")}
	p.same("a drop leaves the head and its entries", p.load(k, 0), want)
	p.same("a drop leaves other namespaces", p.dump(other), before)
	c := step(k, 11)
	p.commit(c)
	p.same("the chain goes on after a drop", p.load(k, 0), stored(c, 11))
}

func dropBlobs(p *probe) {
	k := key("thread")
	list := p.grown(k, 4)
	rebased := step(k, 5)
	rebased.Refs = append(rebased.Refs, checkpoint.Ref{Field: "log", Base: 5})
	rebased.Blobs = append(rebased.Blobs, checkpoint.Blob{Field: "log", Base: 5, Data: []byte("all")})
	p.commit(rebased)
	p.drop(checkpoint.Drop{Key: k, Head: 5, Commits: []uint64{4}, Blobs: []checkpoint.Blob{{Field: "log", Base: 1, Chunk: 3}, {Field: "value", Base: 4}}})
	p.same("blobs of other commits stay", p.load(k, 3), whole(list, 2, 5))
	p.same("blobs of the head stay", p.load(k, 0), stored(rebased, 5))

	p.drop(checkpoint.Drop{Key: k, Head: 5, Blobs: []checkpoint.Blob{{Field: "log", Base: 1, Chunk: 1}}})
	_, err := p.store.Load(p.Context(), k, 3)
	p.fails("a commit whose blob was dropped is damaged, not smaller", err, checkpoint.ErrCorrupt)
	p.same("a commit that does not need the blob is whole", p.load(k, 1), whole(list, 0, 5))
	again := checkpoint.Commit{
		Key: k, ID: "6", Head: 5, Refs: []checkpoint.Ref{{Field: "log", Base: 1, Chunks: 2}},
		Blobs: []checkpoint.Blob{{Field: "log", Base: 1, Chunk: 1, Data: []byte("line 1")}},
	}
	p.commit(again)
	p.same("what was dropped can be stored again", p.load(k, 3), whole(list, 2, 6))
}

func dropConflict(p *probe) {
	k := key("thread")
	list := p.grown(k, 5)
	for _, head := range []uint64{0, 4, 6, 1<<64 - 1} {
		d := checkpoint.Drop{Key: k, Head: head, Commits: []uint64{1, 2}, Blobs: []checkpoint.Blob{{Field: "value", Base: 1}}}
		p.conflicts("a drop for another head is refused", p.dropper().Drop(p.Context(), d), k, head, 5)
		d.Key, d.All = key("thread", "sub"), true
		p.same("a namespace that is not there is dropped already", p.dropper().Drop(p.Context(), d), nil)
	}
	p.same("a refused drop drops nothing", seqs(p.history(k, checkpoint.Query{})), down(5, 1))
	p.same("a refused drop leaves the blobs", p.load(k, 1), whole(list, 0, 5))
}

func dropHead(p *probe) {
	k := key("thread")
	list := p.grown(k, 3)
	err := p.dropper().Drop(p.Context(), checkpoint.Drop{Key: k, Head: 3, Commits: []uint64{1, 3}})
	p.fails("the head cannot be dropped", err, checkpoint.ErrRequest)
	err = p.dropper().Drop(p.Context(), checkpoint.Drop{Key: k, Head: 3, All: true})
	p.fails("the root goes with the thread only", err, checkpoint.ErrRequest)
	p.same("a refused drop drops nothing", seqs(p.history(k, checkpoint.Query{})), down(3, 1))
	p.drop(checkpoint.Drop{Key: k, Head: 3, Commits: []uint64{2, 1}})
	p.same("all but the head can be dropped", p.load(k, 0), whole(list, 2, 3))
	late := step(k, 3)
	late.ID = "late"
	p.conflicts("compare-and-set goes on when only the head is left", p.store.Commit(p.Context(), late), k, 2, 3)
	p.same("the same commit twice is one commit when only the head is left", p.store.Commit(p.Context(), list[2]), nil)
}

func dropNothing(p *probe) {
	k := key("thread")
	list := p.grown(k, 3)
	p.drop(checkpoint.Drop{Key: k, Head: 3})
	p.drop(checkpoint.Drop{Key: k, Head: 3, Commits: []uint64{9, 1 << 40}, Blobs: []checkpoint.Blob{{Field: "none", Base: 1}, {Field: "log", Base: 1, Chunk: 99}}})
	p.same("what is not there is dropped without error, and nothing else", p.load(k, 0), whole(list, 2, 3))
	p.drop(checkpoint.Drop{Key: k, Head: 3, Commits: []uint64{1}})
	p.drop(checkpoint.Drop{Key: k, Head: 3, Commits: []uint64{1, 2}})
	p.same("what was dropped can be dropped again", seqs(p.history(k, checkpoint.Query{})), down(3, 3))
	p.drop(checkpoint.Drop{Key: key("unknown")})
	p.drop(checkpoint.Drop{Key: key("thread", "unknown"), All: true})
}

func dropNamespace(p *probe) {
	k, sub := key("thread"), key("thread", "sub")
	list := p.grown(k, 3)
	p.grown(sub, 3)
	p.put(sub, 3, entry("t", "s", "work"))
	p.drop(checkpoint.Drop{Key: sub, Head: 3, All: true})
	_, err := p.store.Load(p.Context(), sub, 0)
	p.fails("a namespace that was dropped is not found", err, checkpoint.ErrNotFound)
	p.same("a namespace that was dropped has no history", len(p.history(sub, checkpoint.Query{})), 0)
	p.same("a namespace that was dropped is not listed", fmt.Sprintf("%q", p.namespaces("thread")), `[""]`)
	p.same("the root stays", p.load(k, 0), whole(list, 2, 3))
	anew := p.grown(sub, 1)
	p.same("a namespace that was dropped starts again at 1, with nothing of its past", p.load(sub, 0), whole(anew, 0, 1))
}

// dropWhileReading drops from inside the loop.
func dropWhileReading(p *probe) {
	const n = 200
	k := key("thread")
	p.commitSteps(k, n)
	last := uint64(n + 1)
	for snap, err := range p.store.History(p.Context(), k, checkpoint.Query{}) {
		p.done("history can be read while it is pruned", err)
		if snap.Seq >= last {
			p.Fatalf("rule: a history that is pruned meanwhile stays in order\n got: commit %d after %d\nwant: a smaller one", snap.Seq, last)
		}
		last = snap.Seq
		if snap.Seq%50 == 0 && snap.Seq > 1 {
			p.drop(checkpoint.Drop{Key: k, Head: n, Commits: []uint64{snap.Seq - 1}, Blobs: []checkpoint.Blob{{Field: "value", Base: snap.Seq - 1}}})
		}
	}
	p.same("a history that is pruned meanwhile is read to its end", last, 1)
}

// dropRace prunes while others write and read: a load brings the whole or nothing.
func dropRace(p *probe) {
	const n = 60
	k := key("thread")
	p.commit(step(k, 1))
	var wg sync.WaitGroup
	wg.Go(func() {
		for seq := uint64(2); seq <= n; seq++ {
			if err := p.store.Commit(p.Context(), step(k, seq)); err != nil {
				p.Errorf("rule: a prune does not disturb a writer\n got: %v\nwant: no error", err)
				return
			}
		}
	})
	wg.Go(func() { p.pruneUntil(k, n) })
	for range n {
		for snap, err := range p.store.History(p.Context(), k, checkpoint.Query{Limit: 5}) {
			p.done("history can be read while it is pruned", err)
			full, err := p.store.Load(p.Context(), k, snap.Seq)
			if errors.Is(err, checkpoint.ErrNotFound) {
				continue
			}
			p.done("a commit is there as a whole, or not at all", err)
			p.same("a load never mixes two commits", show(full.Blobs), show(step(k, snap.Seq).Blobs))
		}
	}
	wg.Wait()
}

// pruneUntil drops all but the head, again and again.
func (p *probe) pruneUntil(k checkpoint.Key, last uint64) {
	for gone := uint64(0); gone < last-1; {
		snap, err := p.store.Load(p.Context(), k, 0)
		if err != nil {
			p.Errorf("rule: a head can be read while others write\n got: %v\nwant: no error", err)
			return
		}
		d := checkpoint.Drop{Key: k, Head: snap.Head}
		for seq := gone + 1; seq < snap.Head; seq++ {
			d.Commits = append(d.Commits, seq)
			d.Blobs = append(d.Blobs, checkpoint.Blob{Field: "value", Base: seq})
		}
		switch err := p.dropper().Drop(p.Context(), d); {
		case err == nil:
			gone = snap.Head - 1
		case !errors.Is(err, checkpoint.ErrConflict):
			p.Errorf("rule: a drop fails only because the head has moved\n got: %v\nwant: nil or a conflict", err)
			return
		}
	}
}
