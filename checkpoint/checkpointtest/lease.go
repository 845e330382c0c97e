package checkpointtest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

func ask(thread, owner string) checkpoint.LeaseRequest {
	return checkpoint.LeaseRequest{Thread: thread, Owner: owner, TTL: time.Minute}
}

func (p *probe) acquire(r checkpoint.LeaseRequest) checkpoint.Lease {
	p.Helper()
	l, err := p.leaser().Acquire(p.Context(), r)
	p.done(fmt.Sprintf("%s gets the lease of %q", r.Owner, r.Thread), err)
	return l
}

// busy complains when the thread is not refused because of its owner.
func (p *probe) busy(rule string, r checkpoint.LeaseRequest, owner string) {
	p.Helper()
	_, err := p.leaser().Acquire(p.Context(), r)
	p.fails(rule, err, checkpoint.ErrOwned)
	var b *checkpoint.BusyError
	if !errors.As(err, &b) {
		p.Errorf("rule: a refused lease is a *BusyError\n got: %T\nwant: a *checkpoint.BusyError", err)
		return
	}
	p.same("a BusyError names the thread and its owner", b.Thread+" of "+b.Owner, r.Thread+" of "+owner)
	if b.Remaining <= 0 || b.Remaining > time.Minute {
		p.Errorf("rule: a BusyError has the remaining time of the lease\n got: %v\nwant: more than 0, at most a minute", b.Remaining)
	}
}

// fenced complains when err does not say whose thread it is.
func (p *probe) fenced(rule string, err error, thread, owner string) {
	p.Helper()
	p.fails(rule, err, checkpoint.ErrFenced)
	var f *checkpoint.FencedError
	if !errors.As(err, &f) {
		p.Errorf("rule: a writer without the lease gets a *FencedError\n got: %T\nwant: a *checkpoint.FencedError", err)
		return
	}
	p.same("a FencedError names the thread and its owner", f.Thread+" of "+f.Owner, thread+" of "+owner)
}

// with returns commit seq with a fence.
func with(fence string, c checkpoint.Commit) checkpoint.Commit {
	c.Fence = fence
	return c
}

func besideWith(fence string, k checkpoint.Key, head uint64, entries ...checkpoint.Entry) checkpoint.Pending {
	b := beside(k, head, entries...)
	b.Fence = fence
	return b
}

func leaseGrant(p *probe) {
	k := key("thread")
	l := p.acquire(ask("thread", "ann"))
	p.same("a lease has the owner and the time that were asked for", fmt.Sprint(l.Owner, l.TTL), fmt.Sprint("ann", time.Minute))
	p.same("a lease has a fence", l.Fence != "", true)
	p.commit(with(l.Fence, step(k, 1)))
	p.done("the owner may put entries", p.store.Put(p.Context(), besideWith(l.Fence, k, 1, entry("t", "s", "work"))))
	p.same("what the owner writes is stored", p.load(k, 0), stored(step(k, 1), 1, entry("t", "s", "work")))
	p.fenced("a commit without the fence is refused", p.store.Commit(p.Context(), step(k, 2)), "thread", "ann")
	p.fenced("entries without the fence are refused", p.store.Put(p.Context(), beside(k, 1, entry("t", "s", "late"))), "thread", "ann")
	p.same("who has no lease may read", p.load(k, 0), stored(step(k, 1), 1, entry("t", "s", "work")))
}

func leaseBusy(p *probe) {
	l := p.acquire(ask("thread", "ann"))
	p.busy("a leased thread is busy", ask("thread", "bob"), "ann")
	p.busy("a leased thread is busy for its owner too, without the fence", ask("thread", "ann"), "ann")
	p.commit(with(l.Fence, step(key("thread"), 1)))
	p.busy("a leased thread is busy whatever is written", ask("thread", "bob"), "ann")
}

func leaseRenew(p *probe) {
	l := p.acquire(ask("thread", "ann"))
	p.advance(40 * time.Second)
	r := ask("thread", "")
	r.Fence = l.Fence
	again := p.acquire(r)
	p.same("a renewed lease is the same lease, for the time that was asked for", fmt.Sprint(again), fmt.Sprint(l))
	p.advance(40 * time.Second)
	p.busy("a renewed lease runs from its renewal", ask("thread", "bob"), "ann")
	r.TTL = time.Second
	p.acquire(r)
	p.advance(2 * time.Second)
	p.acquire(ask("thread", "bob"))
	_, err := p.leaser().Acquire(p.Context(), r)
	p.fenced("a lease that another owner has taken cannot be renewed", err, "thread", "bob")
}

func leaseRunsOut(p *probe) {
	k := key("thread")
	ann := p.acquire(ask("thread", "ann"))
	p.advance(59 * time.Second)
	p.busy("a lease runs for its whole time", ask("thread", "bob"), "ann")
	p.advance(2 * time.Second)
	p.fenced("a lease that ran out still keeps others from writing", p.store.Commit(p.Context(), step(k, 1)), "thread", "ann")
	p.commit(with(ann.Fence, step(k, 1)))
	r := ask("thread", "ann")
	r.Fence = ann.Fence
	p.acquire(r)
	p.busy("a lease that ran out can be renewed", ask("thread", "bob"), "ann")
	p.advance(61 * time.Second)
	bob := p.acquire(ask("thread", "bob"))
	p.commit(with(bob.Fence, step(k, 2)))
	p.fenced("a lease that was taken over is over", p.store.Commit(p.Context(), with(ann.Fence, step(k, 3))), "thread", "bob")
}

func leaseForce(p *probe) {
	k := key("thread")
	ann := p.acquire(ask("thread", "ann"))
	p.commit(with(ann.Fence, step(k, 1)))
	r := ask("thread", "bob")
	r.Force = true
	bob := p.acquire(r)
	p.same("a lease that was taken by force is a new one", bob.Fence != ann.Fence, true)
	p.fenced("the owner who was thrown out writes nothing", p.store.Commit(p.Context(), with(ann.Fence, step(k, 2))), "thread", "bob")
	r = ask("thread", "ann")
	r.Fence = ann.Fence
	_, err := p.leaser().Acquire(p.Context(), r)
	p.fenced("the owner who was thrown out cannot renew", err, "thread", "bob")
	p.done("who was thrown out may release", p.leaser().Release(p.Context(), "thread", ann.Fence))
	p.busy("and that does nothing", ask("thread", "eve"), "bob")
	p.commit(with(bob.Fence, step(k, 2)))

	r = ask("fresh", "bob")
	r.Force = true
	p.commit(with(p.acquire(r).Fence, step(key("fresh"), 1)))
}

func leaseOver(p *probe) {
	p.acquire(ask("thread", "ann"))
	r := ask("thread", "bob")
	r.Force, r.Over = true, "carl"
	p.busy("a thread is not taken from another owner than the one that was named", r, "ann")
	r.Over = "ann"
	p.acquire(r)
	r = ask("thread", "eve")
	r.Over = "bob"
	p.busy("Over alone takes nothing", r, "bob")
	r = ask("free", "eve")
	r.Force, r.Over = true, "ann"
	p.acquire(r)
}

// leaseAgain makes requests again, as one does whose reply was lost.
func leaseAgain(p *probe) {
	request := func(owner string) checkpoint.LeaseRequest {
		r := ask("thread", owner)
		r.ID = checkpoint.NewFence()
		return r
	}
	k := key("thread")
	first := request("ann")
	ann := p.acquire(first)
	p.same("the ID of a request becomes the fence of its lease", ann.Fence, first.ID)
	p.same("the same request again is the same lease", fmt.Sprint(p.acquire(first)), fmt.Sprint(ann))
	second := request("bob")
	second.Force = true
	bob := p.acquire(second)
	p.same("the same takeover again is the same lease", fmt.Sprint(p.acquire(second)), fmt.Sprint(bob))
	first.Force = true
	p.superseded("a takeover that was taken over is not made again", first, "bob")
	p.commit(with(bob.Fence, step(k, 1)))
	p.superseded("nor when the thread has a commit", first, "bob")
	p.done("bob releases", p.leaser().Release(p.Context(), "thread", bob.Fence))
	p.superseded("a request is not granted again when its lease was released", second, "")
	p.superseded("nor one before it", first, "")
	p.commit(step(k, 2))
	p.superseded("nor when others have written", second, "")
	p.acquire(request("eve"))
	p.superseded("nor when others have the thread", second, "eve")

	third := ask("fresh", "ann")
	third.ID = checkpoint.NewFence()
	p.done("a lease of nothing can be released", p.leaser().Release(p.Context(), "fresh", p.acquire(third).Fence))
	_, err := p.leaser().Acquire(p.Context(), third)
	p.fenced("a lease of nothing is not given again", err, "fresh", "")
	p.commit(step(key("fresh"), 1))
	if w, ok := p.store.(Clock); ok {
		w.Advance(48 * time.Hour)
	}
	p.same("a thread that began after a lease of nothing stays", p.load(key("fresh"), 0), stored(step(key("fresh"), 1), 1))
}

// leaseLog gives a thread away so often that it cannot remember all, and asks again for those
// that it must.
func leaseLog(p *probe) {
	var all []checkpoint.LeaseRequest
	for n := range checkpoint.MaxLeaseLog + 3 {
		r := ask("thread", fmt.Sprint("owner ", n))
		r.Force, r.ID = true, checkpoint.NewFence()
		p.acquire(r)
		all = append(all, r)
	}
	last := all[len(all)-1]
	for _, r := range all[3 : len(all)-1] {
		p.superseded("a thread remembers its newest leases", r, last.Owner)
	}
	p.acquire(last)
}

// superseded checks that a request is refused and only learns which owner has the thread.
func (p *probe) superseded(rule string, r checkpoint.LeaseRequest, owner string) {
	p.Helper()
	_, err := p.leaser().Acquire(p.Context(), r)
	p.fenced(rule, err, r.Thread, owner)
}

func leaseRelease(p *probe) {
	k := key("thread")
	ann := p.acquire(ask("thread", "ann"))
	p.commit(with(ann.Fence, step(k, 1)))
	p.done("a stranger may release", p.leaser().Release(p.Context(), "thread", "no fence"))
	p.done("no fence may release", p.leaser().Release(p.Context(), "thread", ""))
	p.busy("and that does nothing", ask("thread", "bob"), "ann")
	p.done("the owner releases", p.leaser().Release(p.Context(), "thread", ann.Fence))
	p.done("the owner releases twice", p.leaser().Release(p.Context(), "thread", ann.Fence))
	p.fenced("the fence of a released lease is invalid", p.store.Commit(p.Context(), with(ann.Fence, step(k, 2))), "thread", "")
	r := ask("thread", "ann")
	r.Fence = ann.Fence
	_, err := p.leaser().Acquire(p.Context(), r)
	p.fenced("a lease that was released cannot be renewed", err, "thread", "")
	p.commit(step(k, 2))
	p.commit(with(p.acquire(ask("thread", "bob")).Fence, step(k, 3)))
	p.done("the lease of a thread that is not there can be released", p.leaser().Release(p.Context(), "unknown", ann.Fence))
	p.same("a release makes no thread", names(p.threads(checkpoint.ThreadQuery{})), names([]checkpoint.Snapshot{{Key: k}}))
}

func leaseOfOneThread(p *probe) {
	ann := p.acquire(ask("thread", "ann"))
	p.commit(step(key("other"), 1))
	p.acquire(ask("thread ", "bob"))
	sub := key("thread", "sub")
	p.fenced("a lease is for all namespaces", p.store.Commit(p.Context(), step(sub, 1)), "thread", "ann")
	p.commit(with(ann.Fence, step(sub, 1)))
	p.fenced("a lease is for one thread", p.store.Commit(p.Context(), with(ann.Fence, step(key("other"), 2))), "other", "")
}

func leaseIsNoThread(p *probe) {
	l := p.acquire(ask("thread", "ann"))
	p.same("a thread with a lease and no commit is not listed", names(p.threads(checkpoint.ThreadQuery{})), names(nil))
	p.same("a thread with a lease and no commit has no namespaces", len(p.namespaces("thread")), 0)
	_, err := p.store.Load(p.Context(), key("thread"), 0)
	p.fails("a thread with a lease and no commit is not found", err, checkpoint.ErrNotFound)
	err = p.store.Put(p.Context(), besideWith(l.Fence, key("thread"), 0, entry("t", "s", "")))
	p.fails("a lease is nothing to put entries beside", err, checkpoint.ErrNotFound)
	p.done("a thread with a lease and no commit can be deleted", p.store.Delete(p.Context(), "thread"))
	p.acquire(ask("thread", "bob"))
}

// fencedWritesNothing compares all there is to read before and after.
func fencedWritesNothing(p *probe) {
	k, sub := key("thread"), key("thread", "sub")
	l := p.acquire(ask("thread", "ann"))
	for seq := range uint64(3) {
		p.commit(with(l.Fence, step(k, seq+1)))
		p.commit(with(l.Fence, step(sub, seq+1)))
	}
	p.done("the owner may put entries", p.store.Put(p.Context(), besideWith(l.Fence, k, 3, entry("t", "s", "work"))))
	before := p.dump(k, sub)
	for _, fence := range []string{"", "x", l.Fence + "x", strings.ToLower(l.Fence) + " "} {
		c := with(fence, step(k, 4))
		c.Pending, c.TTL = []checkpoint.Entry{entry("t", "s", "late")}, time.Nanosecond
		p.fenced("a commit with another fence is refused", p.store.Commit(p.Context(), c), "thread", "ann")
		p.fenced("entries with another fence are refused", p.store.Put(p.Context(), besideWith(fence, k, 3, entry("t", "s", "late"))), "thread", "ann")
		p.fenced("a new namespace with another fence is refused", p.store.Commit(p.Context(), with(fence, step(key("thread", "new"), 1))), "thread", "ann")
	}
	p.same("a fenced writer changes nothing", p.dump(k, sub), before)
	p.same("a fenced writer starts nothing", fmt.Sprintf("%q", p.namespaces("thread")), `["" "sub"]`)
	p.commit(with(l.Fence, step(k, 4)))
}

func fencedBeforeAll(p *probe) {
	k := key("thread")
	l := p.acquire(ask("thread", "ann"))
	p.commit(with(l.Fence, step(k, 1)))
	p.fenced("a writer without a lease learns of no conflict", p.store.Commit(p.Context(), step(k, 5)), "thread", "ann")
	p.fenced("a writer without a lease is refused though its commit is stored", p.store.Commit(p.Context(), step(k, 1)), "thread", "ann")
	p.fenced("a writer without a lease learns of no head", p.store.Put(p.Context(), beside(k, 7, entry("t", "s", ""))), "thread", "ann")
	p.commit(with(l.Fence, step(k, 1)))
	p.conflicts("the owner gets conflicts", p.store.Commit(p.Context(), with(l.Fence, step(k, 5))), k, 4, 1)
	p.same("the same commit twice is one commit", seqs(p.history(k, checkpoint.Query{})), down(1, 1))
}

func fencedDrop(p *probe) {
	k := key("thread")
	l := p.acquire(ask("thread", "ann"))
	for seq := range uint64(3) {
		p.commit(with(l.Fence, step(k, seq+1)))
	}
	d := checkpoint.Drop{Key: k, Head: 3, Commits: []uint64{1}, Blobs: []checkpoint.Blob{{Field: "value", Base: 1}}}
	p.fenced("who has no lease drops nothing", p.dropper().Drop(p.Context(), d), "thread", "ann")
	p.same("a refused drop drops nothing", seqs(p.history(k, checkpoint.Query{})), down(3, 1))
	p.same("a refused drop drops no blob", p.load(k, 1), stored(step(k, 1), 3))
	d.Fence = l.Fence
	p.done("the owner may drop", p.dropper().Drop(p.Context(), d))
	p.same("the owner has dropped", seqs(p.history(k, checkpoint.Query{})), down(3, 2))
}

func fencesStayInvalid(p *probe) {
	k := key("thread")
	ann := p.acquire(ask("thread", "ann"))
	p.commit(with(ann.Fence, step(k, 1)))
	p.done("a thread that is leased can be deleted", p.store.Delete(p.Context(), "thread"))
	p.fenced("a fence is invalid after its thread was deleted", p.store.Commit(p.Context(), with(ann.Fence, step(k, 1))), "thread", "")
	r := ask("thread", "ann")
	r.Fence = ann.Fence
	_, err := p.leaser().Acquire(p.Context(), r)
	p.fenced("a lease that was deleted cannot be renewed", err, "thread", "")
	p.commit(step(k, 1))
	bob := p.acquire(ask("thread", "bob"))
	p.fenced("a fence stays invalid when the thread is leased again", p.store.Commit(p.Context(), with(ann.Fence, step(k, 2))), "thread", "bob")
	p.done("an invalid fence releases nothing", p.leaser().Release(p.Context(), "thread", ann.Fence))
	p.commit(with(bob.Fence, step(k, 2)))
}

func fencesAreNew(p *probe) {
	seen := map[string]bool{"": true}
	for n := range 60 {
		thread := fmt.Sprint("thread ", n%3)
		l := p.acquire(ask(thread, "ann"))
		if seen[l.Fence] {
			p.Fatalf("rule: no two leases have the same fence\n got: %q again\nwant: a new one", l.Fence)
		}
		seen[l.Fence] = true
		if n%2 == 0 {
			p.done("a lease can be released", p.leaser().Release(p.Context(), thread, l.Fence))
		} else {
			p.done("a thread can be deleted", p.store.Delete(p.Context(), thread))
		}
	}
}

// lateWriter lets a writer sleep past its lease and wake after another one has worked.
func lateWriter(p *probe) {
	k := key("thread")
	ann := p.acquire(ask("thread", "ann"))
	p.commit(with(ann.Fence, step(k, 1)))
	p.advance(2 * time.Minute)
	bob := p.acquire(ask("thread", "bob"))
	p.fenced("a late writer is refused although nothing has changed", p.store.Commit(p.Context(), with(ann.Fence, step(k, 2))), "thread", "bob")
	p.fenced("the entries of a late writer are refused", p.store.Put(p.Context(), besideWith(ann.Fence, k, 1, entry("t", "s", "late"))), "thread", "bob")
	p.fenced("a late writer is refused though its old commit is stored", p.store.Commit(p.Context(), with(ann.Fence, step(k, 1))), "thread", "bob")
	p.same("a late writer changes nothing", p.load(k, 0), stored(step(k, 1), 1))
	p.commit(with(bob.Fence, step(k, 2)))
	p.done("bob releases", p.leaser().Release(p.Context(), "thread", bob.Fence))
	p.fenced("a late writer is refused after the release too", p.store.Commit(p.Context(), with(ann.Fence, step(k, 3))), "thread", "")
}

func badLeases(p *probe) {
	good := ask("thread", "ann")
	for what, change := range map[string]func(*checkpoint.LeaseRequest){
		"a lease without a time":      func(r *checkpoint.LeaseRequest) { r.TTL = 0 },
		"a lease for a negative time": func(r *checkpoint.LeaseRequest) { r.TTL = -time.Second },
		"an owner that is too long":   func(r *checkpoint.LeaseRequest) { r.Owner = strings.Repeat("o", checkpoint.MaxOwner+1) },
		"an owner that is no text":    func(r *checkpoint.LeaseRequest) { r.Owner = "\xff" },
		"a renewal by force":          func(r *checkpoint.LeaseRequest) { r.Fence, r.Force = "f", true },
		"a renewal with an ID":        func(r *checkpoint.LeaseRequest) { r.Fence, r.ID = "f", "i" },
		"an ID with a space":          func(r *checkpoint.LeaseRequest) { r.ID = "a b" },
		"an ID that is too long":      func(r *checkpoint.LeaseRequest) { r.ID = strings.Repeat("i", checkpoint.MaxID+1) },
	} {
		r := good
		change(&r)
		_, err := p.leaser().Acquire(p.Context(), r)
		p.fails(what+" is refused", err, checkpoint.ErrRequest)
	}
	bad := good
	bad.Thread = ""
	_, err := p.leaser().Acquire(p.Context(), bad)
	p.fails("a lease of a thread without a valid id is refused", err, checkpoint.ErrThreadID)
	good.Owner = strings.Repeat("ö", checkpoint.MaxOwner/2)
	p.same("an owner may be as long as allowed", p.acquire(good).Owner, good.Owner)
	good = ask(strings.Repeat("é", checkpoint.MaxThread/2), "a' OR 1=1 --")
	p.same("a lease may have any thread and owner", p.acquire(good).Owner, good.Owner)
	good = ask("no such lease", "ann")
	good.Fence = "x"
	_, err = p.leaser().Acquire(p.Context(), good)
	p.fenced("a lease that never was cannot be renewed", err, "no such lease", "")
}
