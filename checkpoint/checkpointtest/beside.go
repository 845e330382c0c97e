package checkpointtest

import (
	"fmt"
	"sync"

	"github.com/weftrun/weft/checkpoint"
)

func pendingOfCommit(p *probe) {
	k := key("thread")
	c := step(k, 1)
	c.Pending = []checkpoint.Entry{entry("b", "s", "1"), entry("a", "s", "2"), entry("a", "r", "3")}
	p.commit(c)
	p.same("entries of a commit are pending on it, in order", p.load(k, 0), stored(step(k, 1), 1, entry("a", "r", "3"), entry("a", "s", "2"), entry("b", "s", "1")))
	p.put(k, 1, entry("b", "s", "new"), keeping(entry("a", "s", "late")))
	p.same("entries of a commit are like any others", p.load(k, 0), stored(step(k, 1), 1, entry("a", "r", "3"), entry("a", "s", "2"), entry("b", "s", "new")))

	c = step(k, 2)
	c.Pending = []checkpoint.Entry{keeping(entry("b", "s", "anew")), entry("c", "s", "1"), entry("c", "s", "2"), keeping(entry("c", "s", "3"))}
	p.commit(c)
	p.same("a commit drops the old entries before its own, which are put in their order", p.load(k, 0),
		stored(step(k, 2), 2, entry("b", "s", "anew"), entry("c", "s", "2")))
	p.same("entries of the head are in the history", p.history(k, checkpoint.Query{})[0], listed(step(k, 2), 2, entry("b", "s", "anew"), entry("c", "s", "2")))
	p.put(k, 2, entry("d", "s", "work"))
	p.commit(c)
	p.same("the same commit twice leaves the entries as they are", p.load(k, 0),
		stored(step(k, 2), 2, entry("b", "s", "anew"), entry("c", "s", "2"), entry("d", "s", "work")))
	p.commit(step(k, 3))
	p.same("the next commit drops them", p.load(k, 0), stored(step(k, 3), 3))
	p.same("an older commit has none", p.load(k, 2), stored(step(k, 2), 3))

	late := step(k, 3)
	late.ID, late.Pending = "late", []checkpoint.Entry{entry("t", "s", "late")}
	p.conflicts("a late commit is refused", p.store.Commit(p.Context(), late), k, 2, 3)
	p.same("a refused commit puts no entries", p.load(k, 0), stored(step(k, 3), 3))
	c.Pending[1].Data[0] = 'x'
	scribble(nil, nil, nil, late.Pending)
	p.same("the caller may reuse entries after the call", p.load(k, 0), stored(step(k, 3), 3))
}

// besideIsAtomic reads while commits are made: a head is never seen without its entry,
// nor with that of another one.
func besideIsAtomic(p *probe) {
	const n = 60
	k := key("thread")
	with := func(seq uint64) checkpoint.Commit {
		c := step(k, seq)
		c.Pending = []checkpoint.Entry{entry("t", "s", fmt.Sprint(seq)), entry("u", "s", fmt.Sprint(seq))}
		return c
	}
	p.commit(with(1))
	var wg sync.WaitGroup
	wg.Go(func() {
		for seq := uint64(2); seq <= n; seq++ {
			if err := p.store.Commit(p.Context(), with(seq)); err != nil {
				p.Errorf("rule: readers do not disturb a writer\n got: %v\nwant: no error", err)
			}
		}
	})
	for seen := uint64(0); seen < n && !p.Failed(); {
		snap := p.load(k, 0)
		c := with(snap.Seq)
		p.same("a commit and its entries are seen together", snap, stored(c, snap.Seq, c.Pending...))
		for snap, err := range p.store.Threads(p.Context(), checkpoint.ThreadQuery{Limit: 1}) {
			p.done("threads can be listed while others write", err)
			c := with(snap.Seq)
			p.same("a commit and its entries are listed together", snap, listed(c, snap.Seq, c.Pending...))
		}
		seen = snap.Seq
	}
	wg.Wait()
}

// pendingRaces lets two writers finish the same tasks: the first result stays.
func pendingRaces(p *probe) {
	const writers, tasks = 6, 20
	k := key("thread")
	p.commit(step(k, 1))
	for _, err := range atOnce(writers, func(w int) error {
		for n := range tasks {
			task := fmt.Sprint("task ", n)
			err := p.store.Put(p.Context(), beside(k, 1, keeping(entry(task, "result", fmt.Sprint(w))), entry(task, fmt.Sprint("by ", w), "")))
			if err != nil {
				return err
			}
		}
		return nil
	}) {
		p.done("entries of several writers are stored", err)
	}
	first := p.load(k, 0)
	p.same("no entry of several writers is lost", len(first.Pending), tasks*(writers+1))
	p.put(k, 1, keeping(entry("task 0", "result", "late")))
	p.same("the first result with Keep stays", show(p.load(k, 0)), show(first))
}

func namespaces(p *probe) {
	p.same("an unknown thread has no namespaces", len(p.namespaces("unknown")), 0)
	for _, ns := range []string{"b", "", "a|b:1#2", "B", "é", "a", "a\x00"} {
		p.commitSteps(key("thread", ns), 2)
	}
	p.commit(step(key("without root", "only"), 1))
	p.commit(step(key("thread2", "other"), 1))
	p.same("namespaces are listed in byte order", fmt.Sprintf("%q", p.namespaces("thread")), fmt.Sprintf("%q", []string{"", "B", "a", "a\x00", "a|b:1#2", "b", "é"}))
	p.same("a thread without a root has its namespaces", fmt.Sprintf("%q", p.namespaces("without root")), `["only"]`)
	p.conflicts("a refused commit starts no namespace", p.store.Commit(p.Context(), step(key("thread2", "new"), 5)), key("thread2", "new"), 4, 0)
	p.same("a refused commit starts no namespace", fmt.Sprintf("%q", p.namespaces("thread2")), `["other"]`)
	p.done("a thread can be deleted", p.store.Delete(p.Context(), "thread"))
	p.same("a deleted thread has no namespaces", len(p.namespaces("thread")), 0)
}

func deleteAllNamespaces(p *probe) {
	for n := range 40 {
		k := key("gone", fmt.Sprint("sub ", n))
		p.commitSteps(k, 2)
		p.put(k, 2, entry("t", "s", "work"))
	}
	p.commit(step(key("gone2", "sub 1"), 1))
	p.done("a thread without a root can be deleted", p.store.Delete(p.Context(), "gone"))
	p.same("Delete removes every namespace", len(p.namespaces("gone")), 0)
	for n := range 40 {
		k := key("gone", fmt.Sprint("sub ", n))
		_, err := p.store.Load(p.Context(), k, 0)
		p.fails("Delete removes every namespace", err, checkpoint.ErrNotFound)
		p.commit(step(k, 1))
		p.same("a namespace starts again without its entries", p.load(k, 0), stored(step(k, 1), 1))
	}
	p.same("a thread with a longer name stays", p.load(key("gone2", "sub 1"), 0), stored(step(key("gone2", "sub 1"), 1), 1))
}
