package checkpointtest

import (
	"fmt"
	"os"

	"github.com/weftrun/weft/checkpoint"
)

func historyOrder(p *probe) {
	const n = 300
	k := key("thread")
	p.commitSteps(k, n)
	p.commitSteps(key("thread", "sub"), 3)
	work := entry("t", "s", "work")
	p.put(k, n, work)

	for i, snap := range p.history(k, checkpoint.Query{}) {
		want := listed(step(k, n-uint64(i)), n)
		if i == 0 {
			want.Pending = []checkpoint.Entry{work}
		}
		p.same("history has all but the blobs, and entries for the head only", snap, want)
	}
	for _, c := range []struct {
		rule string
		q    checkpoint.Query
		want []uint64
	}{
		{"history is newest first", checkpoint.Query{}, down(n, 1)},
		{"Limit bounds it", checkpoint.Query{Limit: 1}, down(n, n)},
		{"Limit may fall on any number", checkpoint.Query{Limit: 129}, down(n, n-128)},
		{"Limit may be more than there is", checkpoint.Query{Limit: n + 1}, down(n, 1)},
		{"Before leaves only smaller numbers", checkpoint.Query{Before: 4}, down(3, 1)},
		{"Before and Limit go together", checkpoint.Query{Before: 200, Limit: 150}, down(199, 50)},
		{"nothing is before the first", checkpoint.Query{Before: 1}, nil},
		{"Before may be the next number", checkpoint.Query{Before: n + 1, Limit: 2}, down(n, n-1)},
		{"Before may be any number", checkpoint.Query{Before: 1<<64 - 1, Limit: 2}, down(n, n-1)},
	} {
		p.same(c.rule, seqs(p.history(k, c.q)), c.want)
	}
	all := p.store.History(p.Context(), k, checkpoint.Query{Before: 100})
	for snap, err := range all {
		p.done("history can be read", err)
		if snap.Seq == 90 {
			break
		}
	}
	var again []checkpoint.Snapshot
	for snap, err := range all {
		p.done("history can be read after a reader stopped early", err)
		again = append(again, snap)
	}
	p.same("a history that was left early can be read again from its start", seqs(again), down(99, 1))
}

// historyWhileWriting writes from inside the loop, which also shows a store that
// holds a lock while its reader works.
func historyWhileWriting(p *probe) {
	const n = 150
	k := key("thread")
	p.commitSteps(k, n)
	var got []checkpoint.Snapshot
	for snap, err := range p.store.History(p.Context(), k, checkpoint.Query{}) {
		p.done("history can be read while it grows", err)
		if len(got)%10 == 0 {
			p.commit(step(k, n+1+uint64(len(got)/10)))
		}
		p.same("history has the id of the commit", snap.ID, p.load(k, snap.Seq).ID)
		got = append(got, snap)
	}
	p.same("a growing history shows each older commit once, and no newer one", seqs(got), down(n, 1))
}

func threadsListing(p *probe) {
	const n = 150
	var want []checkpoint.Snapshot
	for i := range n {
		// not in byte order, nor of one length
		k := key(fmt.Sprintf("t%d", (i*7)%n))
		p.commitSteps(k, 2)
		p.commitSteps(key(k.Thread, "sub"), 1)
		work := entry("t", "s", k.Thread)
		p.put(k, 2, work)
		want = append(want, listed(step(k, 2), 2, work))
		p.commitSteps(key(fmt.Sprintf("t%d-without-root", i), "sub"), 1)
	}
	want = sortedByThread(want)
	p.same("threads are the root heads with their entries and without blobs, in byte order", p.threads(checkpoint.ThreadQuery{}), want)
	p.same("Limit bounds the list", p.threads(checkpoint.ThreadQuery{Limit: 70}), want[:70])
	p.same("After leaves only greater ids", p.threads(checkpoint.ThreadQuery{After: want[69].Thread}), want[70:])
	p.same("After need not be a thread", p.threads(checkpoint.ThreadQuery{After: want[69].Thread + "\x00", Limit: 3}), want[70:73])
	p.same("nothing is after the last", p.threads(checkpoint.ThreadQuery{After: want[n-1].Thread}), want[n:])

	all := p.store.Threads(p.Context(), checkpoint.ThreadQuery{})
	for range 2 {
		seen := 0
		for snap, err := range all {
			p.done("threads can be listed", err)
			p.same("a list that was left early starts again", snap.Thread, want[seen].Thread)
			p.same("a reader may use the store meanwhile", p.load(snap.Key, 0).ID, snap.ID)
			if seen++; seen == 10 {
				break
			}
		}
	}
}

func sortedByThread(list []checkpoint.Snapshot) []checkpoint.Snapshot {
	keys := make([]checkpoint.Key, len(list))
	byID := map[string]checkpoint.Snapshot{}
	for i, snap := range list {
		keys[i], byID[snap.Thread] = snap.Key, snap
	}
	list = rootsOf(keys)
	for i := range list {
		list[i] = byID[list[i].Thread]
	}
	return list
}

func deletion(p *probe) {
	gone, sub, stays := key("gone"), key("gone", "sub"), key("stays")
	for _, k := range []checkpoint.Key{gone, sub, stays} {
		p.commitSteps(k, 3)
		p.put(k, 3, entry("t", "s", "work"))
	}
	before := p.dump(stays)
	p.done("a thread can be deleted", p.store.Delete(p.Context(), gone.Thread))
	p.done("an unknown thread can be deleted", p.store.Delete(p.Context(), gone.Thread))
	for _, k := range []checkpoint.Key{gone, sub} {
		_, err := p.store.Load(p.Context(), k, 0)
		p.fails("Delete removes all namespaces", err, checkpoint.ErrNotFound)
		_, err = p.store.Load(p.Context(), k, 2)
		p.fails("Delete removes all commits", err, checkpoint.ErrNotFound)
		p.same("Delete removes the history", len(p.history(k, checkpoint.Query{})), 0)
		p.conflicts("a writer of a deleted thread is refused", p.store.Commit(p.Context(), step(k, 4)), k, 3, 0)
	}
	p.same("Delete takes the thread off the list", names(p.threads(checkpoint.ThreadQuery{})), names([]checkpoint.Snapshot{{Key: stays}}))
	p.same("Delete leaves other threads as they are", p.dump(stays), before)

	anew := step(gone, 1)
	anew.Blobs[0].Data = []byte("anew")
	p.commit(anew)
	p.same("a deleted thread can start again at 1, with nothing of its past", p.load(gone, 0), stored(anew, 1))
	_, err := p.store.Load(p.Context(), sub, 0)
	p.fails("a thread that starts again has no old namespaces", err, checkpoint.ErrNotFound)
}

func historyWithGaps(p *probe) {
	k := key("thread")
	head := uint64(0)
	for _, n := range []uint64{3, 4, 10, 11, 500} {
		c := step(k, n)
		c.Head, c.Number = head, n
		p.commit(c)
		head = n
	}
	for _, c := range []struct {
		rule string
		q    checkpoint.Query
		want []uint64
	}{
		{"a history may have gaps", checkpoint.Query{}, []uint64{500, 11, 10, 4, 3}},
		{"Before may fall into a gap", checkpoint.Query{Before: 499}, []uint64{11, 10, 4, 3}},
		{"Before may be the number after a gap", checkpoint.Query{Before: 500, Limit: 1}, []uint64{11}},
		{"Before may be the number before a gap", checkpoint.Query{Before: 4}, []uint64{3}},
		{"Before may fall before the first", checkpoint.Query{Before: 2}, nil},
		{"Limit counts commits, not numbers", checkpoint.Query{Limit: 3}, []uint64{500, 11, 10}},
	} {
		p.same(c.rule, seqs(p.history(k, c.q)), c.want)
	}
}

// historyByCursor reads page by page, each page after more was written.
func historyByCursor(p *probe) {
	const n, size = 100, 7
	k := key("thread")
	p.commitSteps(k, n)
	var got []uint64
	for q := (checkpoint.Query{Limit: size}); ; {
		page := p.history(k, q)
		got = append(got, seqs(page)...)
		if len(page) < size || len(got) > 2*n {
			break
		}
		q.Before = page[size-1].Seq
		p.commit(step(k, n+uint64(len(got)/size)))
	}
	p.same("a cursor stays where it is while others write", got, down(n, 1))
}

// Long is the variable of the environment that asks for the long form of the suite.
const Long = "WEFT_LONG_TESTS"

// longHistory has more commits than any page, limit or default. The long form has ten
// times as many.
func longHistory(p *probe) {
	n := uint64(1_001)
	if os.Getenv(Long) != "" {
		n = 10_001
	}
	k := key("thread")
	for seq := uint64(1); seq <= n; seq++ {
		c := checkpoint.Commit{Key: k, ID: fmt.Sprint(seq), Head: seq - 1, Refs: []checkpoint.Ref{{Field: "f", Base: 1}}}
		if seq == 1 {
			c.Blobs = []checkpoint.Blob{{Field: "f", Base: 1, Data: []byte("x")}}
		}
		p.commit(c)
	}
	want := n
	for snap, err := range p.store.History(p.Context(), k, checkpoint.Query{}) {
		p.done("a long history can be read", err)
		if snap.Seq != want {
			p.Fatalf("rule: a long history has every commit once\n got: %d\nwant: %d", snap.Seq, want)
		}
		want--
	}
	p.same("a long history is read to its end", want, 0)
	p.same("a long history can be cut anywhere", seqs(p.history(k, checkpoint.Query{Before: n - 500, Limit: 3})), down(n-501, n-503))
	p.same("the first commit of a long history can be loaded", p.load(k, 1).ID, "1")
}
