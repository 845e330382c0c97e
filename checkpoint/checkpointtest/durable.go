package checkpointtest

import (
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

// RunDurable judges a store that outlives its process. open opens the store in dir,
// again and again; RunDurable closes it.
func RunDurable(t *testing.T, open func(t testing.TB, dir string) checkpoint.Store) {
	for _, r := range []struct {
		name  string
		check func(p *probe, reopen func())
	}{
		{"EverythingStays", everythingStays},
		{"DeletedStaysDeleted", deletedStaysDeleted},
		{"RetryAfterRestart", retryAfterRestart},
	} {
		t.Run(r.name, func(t *testing.T) {
			dir := t.TempDir()
			p := &probe{TB: t, store: open(t, dir)}
			defer func() { p.store.Close() }()
			r.check(p, func() {
				p.done("a store can be closed", p.store.Close())
				p.store = open(t, dir)
			})
		})
	}
}

func everythingStays(p *probe, reopen func()) {
	keys := []checkpoint.Key{key("a"), key("a", "sub"), key("b"), key(hostile[7])}
	for i, k := range keys {
		p.commitSteps(k, 100)
		p.put(k, 100, entry("t", "s", k.Thread), keeping(entry("t", "stays", string(rune('0'+i)))))
	}
	want, threads := p.dump(keys...), show(p.threads(checkpoint.ThreadQuery{}))
	reopen()
	p.same("a store that is opened again has every commit, blob and entry", p.dump(keys...), want)
	p.same("a store that is opened again lists the same threads", p.threads(checkpoint.ThreadQuery{}), threads)
	for _, k := range keys {
		p.conflicts("compare-and-set goes on where it was", p.store.Commit(p.Context(), step(k, 50)), k, 49, 100)
		p.commit(step(k, 101))
		p.same("the chain goes on where it was", p.load(k, 0), stored(step(k, 101), 101))
	}
}

func deletedStaysDeleted(p *probe, reopen func()) {
	p.commitSteps(key("gone"), 3)
	p.commitSteps(key("gone", "sub"), 3)
	p.put(key("gone"), 3, entry("t", "s", "work"))
	p.commitSteps(key("stays"), 1)
	p.done("a thread can be deleted", p.store.Delete(p.Context(), "gone"))
	reopen()
	p.same("a deleted thread stays deleted", names(p.threads(checkpoint.ThreadQuery{})), names([]checkpoint.Snapshot{{Key: key("stays")}}))
	p.commit(step(key("gone"), 1))
	reopen()
	p.same("a deleted thread starts again at 1", p.load(key("gone"), 0), stored(step(key("gone"), 1), 1))
	_, err := p.store.Load(p.Context(), key("gone", "sub"), 0)
	p.fails("a thread that starts again has no old namespaces", err, checkpoint.ErrNotFound)
}

func retryAfterRestart(p *probe, reopen func()) {
	k := key("thread")
	p.commitSteps(k, 2)
	p.put(k, 2, keeping(entry("t", "done", "first")))
	reopen()
	p.commit(step(k, 2))
	p.put(k, 2, keeping(entry("t", "done", "late")))
	p.same("a retry after a restart changes nothing", p.load(k, 0), stored(step(k, 2), 2, entry("t", "done", "first")))
}
