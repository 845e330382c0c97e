package checkpointtest

import (
	"github.com/weftrun/weft/checkpoint"
)

func entry(task, slot, data string) checkpoint.Entry {
	return checkpoint.Entry{Task: task, Slot: slot, Data: []byte(data)}
}

// beside returns entries to store beside a head.
func beside(k checkpoint.Key, head uint64, entries ...checkpoint.Entry) checkpoint.Pending {
	return checkpoint.Pending{Key: k, Head: head, Entries: entries}
}

// keeping returns an entry with Keep.
func keeping(e checkpoint.Entry) checkpoint.Entry {
	e.Keep = true
	return e
}

func pendingEntries(p *probe) {
	k := key("thread")
	p.commitSteps(k, 1)
	p.put(k, 1, entry("b", "x", "1"), entry("a", "y", "2"))
	p.put(k, 1, entry("B", "x", ""), entry("a", "x", "\x00\xff"), entry("a", "", "4"), entry("", "z", "5"))
	want := []checkpoint.Entry{entry("", "z", "5"), entry("B", "x", ""), entry("a", "", "4"), entry("a", "x", "\x00\xff"), entry("a", "y", "2"), entry("b", "x", "1")}
	p.same("the head has its entries, by task and then slot in byte order", p.load(k, 0), stored(step(k, 1), 1, want...))
	p.same("the head has its entries when loaded by its number", p.load(k, 1), stored(step(k, 1), 1, want...))

	p.put(k, 1, entry("a", "y", "new"))
	want[4] = entry("a", "y", "new")
	p.same("an entry replaces the one with its task and slot", p.load(k, 0), stored(step(k, 1), 1, want...))
	p.put(k, 1)
	p.same("no entries change nothing", p.load(k, 0), stored(step(k, 1), 1, want...))
}

func pendingKeep(p *probe) {
	k := key("thread")
	p.commitSteps(k, 1)
	p.put(k, 1, keeping(entry("t", "done", "first")), entry("t", "note", "first"))
	p.put(k, 1, keeping(entry("t", "done", "late")), keeping(entry("t", "note", "late")), keeping(entry("t", "new", "first")))
	p.same("an entry with Keep is dropped when its place is taken, with Keep or without", p.load(k, 0),
		stored(step(k, 1), 1, entry("t", "done", "first"), entry("t", "new", "first"), entry("t", "note", "first")))

	p.put(k, 1, entry("t", "done", "replaced"))
	p.same("an entry without Keep replaces one that was put with Keep", p.load(k, 0),
		stored(step(k, 1), 1, entry("t", "done", "replaced"), entry("t", "new", "first"), entry("t", "note", "first")))

	p.commit(step(k, 2))
	p.put(k, 2, keeping(entry("t", "done", "1")), keeping(entry("t", "done", "2")), entry("u", "done", "1"), entry("u", "done", "2"))
	p.same("entries of one call are put in their order", p.load(k, 0),
		stored(step(k, 2), 2, entry("t", "done", "1"), entry("u", "done", "2")))
}

func pendingBelongsToHead(p *probe) {
	k, sub := key("thread"), key("thread", "sub")
	p.commitSteps(k, 2)
	p.commitSteps(sub, 2)
	p.put(k, 2, entry("t", "s", "root"))
	p.put(sub, 2, entry("t", "s", "sub"))

	for _, seq := range []uint64{0, 1, 3} {
		err := p.store.Put(p.Context(), beside(k, seq, entry("t", "s", "late"), entry("t", "late", "late")))
		p.conflicts("entries for another head are refused", err, k, seq, 2)
	}
	p.conflicts("entries for a chain that is not there are refused", p.store.Put(p.Context(), beside(key("none"), 1, entry("t", "s", ""))), key("none"), 1, 0)
	if err := p.store.Put(p.Context(), beside(key("none"), 0, entry("t", "s", ""))); err == nil {
		p.Errorf("rule: without a commit there is nothing to put entries beside\n got: no error\nwant: an error")
	}
	p.same("refused entries change nothing", p.load(k, 0), stored(step(k, 2), 2, entry("t", "s", "root")))
	p.same("an older commit has no entries", p.load(k, 1), stored(step(k, 1), 2))

	p.commit(step(k, 3))
	p.same("a commit drops the entries of its namespace", p.load(k, 0), stored(step(k, 3), 3))
	p.same("an older head does not get them back", p.load(k, 2), stored(step(k, 2), 3))
	p.same("a commit leaves the entries of other namespaces", p.load(sub, 0), stored(step(sub, 2), 2, entry("t", "s", "sub")))
	p.commit(step(key("none"), 1))
	p.same("a chain starts without entries", p.load(key("none"), 0), stored(step(key("none"), 1), 1))
}
