package checkpointtest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// withTTL returns c with a time to live.
func withTTL(ttl time.Duration, c checkpoint.Commit) checkpoint.Commit {
	c.TTL = ttl
	return c
}

// gone reports a failure if a thread can be loaded or listed, or has a history or namespaces.
func (p *probe) gone(rule string, keys ...checkpoint.Key) {
	p.Helper()
	for _, k := range keys {
		for _, seq := range []uint64{0, 1} {
			_, err := p.store.Load(p.Context(), k, seq)
			p.fails(rule+": the thread is not found", err, checkpoint.ErrNotFound)
		}
		p.same(rule+": the thread has no history", len(p.history(k, checkpoint.Query{})), 0)
		p.same(rule+": the thread has no namespaces", len(p.namespaces(k.Thread)), 0)
		listed := slices.ContainsFunc(p.threads(checkpoint.ThreadQuery{After: k.Thread[:len(k.Thread)-1]}),
			func(s checkpoint.Snapshot) bool { return s.Thread == k.Thread })
		p.same(rule+": the thread is not listed", !listed, true)
	}
}

// headIs reports a failure if the head of a chain is not c.
func (p *probe) headIs(rule string, c checkpoint.Commit) {
	p.Helper()
	p.same(rule, p.load(c.Key, 0), stored(c, c.Seq()))
}

func commitTTL(p *probe) {
	k := key("thread")
	c := withTTL(time.Minute, step(k, 1))
	p.commit(c)
	p.commit(step(key("stays"), 1))
	p.advance(59 * time.Second)
	p.headIs("a thread exists until its time to live has passed", c)
	p.advance(2 * time.Second)
	p.gone("a thread expires when its time to live has passed", k)
	p.headIs("a thread without a time to live stays", step(key("stays"), 1))
}

func laterTTL(p *probe) {
	k := key("thread")
	p.commit(withTTL(time.Minute, step(k, 1)))
	p.advance(40 * time.Second)
	p.commit(withTTL(time.Minute, step(k, 2)))
	p.advance(40 * time.Second)
	p.headIs("the time to live of a later commit replaces the earlier one", step(k, 2))
	p.commit(step(k, 3))
	p.commit(step(key("thread", "sub"), 1))
	p.advance(10 * time.Second)
	p.headIs("a commit without a time to live does not change the expiry", step(k, 3))
	p.advance(11 * time.Second)
	p.gone("a commit without a time to live does not change the expiry", k)

	p.commit(withTTL(time.Hour, step(k, 1)))
	p.commit(withTTL(time.Second, step(k, 2)))
	p.advance(2 * time.Second)
	p.gone("a later commit may make the thread expire sooner", k)
	p.commit(withTTL(time.Minute, step(key("thread", "sub"), 1)))
	p.commit(step(k, 1))
	p.advance(61 * time.Second)
	p.gone("a time to live set in any namespace applies to the whole thread", k, key("thread", "sub"))
}

func expire(p *probe) {
	k := key("thread")
	p.commitSteps(k, 3)
	p.done("a thread can expire", p.expirer().Expire(p.Context(), "thread", time.Minute))
	p.advance(59 * time.Second)
	p.headIs("a thread exists until its time to live has passed", step(k, 3))
	p.done("the expiry can be changed", p.expirer().Expire(p.Context(), "thread", time.Minute))
	p.advance(59 * time.Second)
	p.headIs("the expiry can be changed", step(k, 3))
	p.advance(2 * time.Second)
	p.gone("a thread expires when its time to live has passed", k)
}

func expireNever(p *probe) {
	k := key("thread")
	p.commit(withTTL(time.Minute, step(k, 1)))
	p.done("Expire with 0 makes a thread permanent", p.expirer().Expire(p.Context(), "thread", 0))
	p.done("Expire with 0 may be repeated", p.expirer().Expire(p.Context(), "thread", 0))
	p.advance(1000 * time.Hour)
	p.headIs("a permanent thread stays", step(k, 1))
	p.done("Expire can give a permanent thread an expiry", p.expirer().Expire(p.Context(), "thread", time.Minute))
	p.advance(2 * time.Minute)
	p.gone("Expire can give a permanent thread an expiry", k)
}

// expireInCenturies uses the longest time to live, which a caller may use to mean never.
func expireInCenturies(p *probe) {
	k := key("thread")
	p.done("a commit may have the longest time to live", p.store.Commit(p.Context(), withTTL(math.MaxInt64, step(k, 1))))
	p.advance(1000 * time.Hour)
	p.headIs("a thread with the longest time to live stays", step(k, 1))
	p.done("a thread may expire after the longest time", p.expirer().Expire(p.Context(), "thread", math.MaxInt64))
	p.advance(1000 * time.Hour)
	p.headIs("a thread with the longest time to live stays", step(k, 1))
	p.done("the expiry can be changed", p.expirer().Expire(p.Context(), "thread", time.Minute))
	p.advance(2 * time.Minute)
	p.gone("the expiry can be changed", k)
}

// leaseForCenturies leases a thread for the longest time, which a caller may use to mean for ever.
func leaseForCenturies(p *probe) {
	r := ask("thread", "ann")
	r.TTL = math.MaxInt64
	ann := p.acquire(r)
	for _, renew := range []bool{false, true} {
		if renew {
			r = checkpoint.LeaseRequest{Thread: "thread", TTL: math.MaxInt64, Fence: ann.Fence}
			p.acquire(r)
		}
		p.advance(1000 * time.Hour)
		_, err := p.leaser().Acquire(p.Context(), ask("thread", "bob"))
		var b *checkpoint.BusyError
		if !errors.As(err, &b) || b.Remaining <= 0 {
			p.Errorf("rule: a lease for the longest time does not run out\n got: %v\nwant: a *checkpoint.BusyError with the remaining time", err)
		}
	}
	p.commit(with(ann.Fence, step(key("thread"), 1)))
}

func expireUnknown(p *probe) {
	for _, ttl := range []time.Duration{0, time.Minute} {
		p.fails("Expire of an unknown thread returns ErrNotFound", p.expirer().Expire(p.Context(), "unknown", ttl), checkpoint.ErrNotFound)
	}
	p.commit(step(key("thread"), 1))
	p.fails("a negative time to live is refused", p.expirer().Expire(p.Context(), "thread", -1), checkpoint.ErrRequest)
	p.fails("a commit with a negative time to live is refused", p.store.Commit(p.Context(), withTTL(-1, step(key("thread"), 2))), checkpoint.ErrRequest)
	p.headIs("a refused time to live changes nothing", step(key("thread"), 1))
}

func expiredIsGone(p *probe) {
	k, sub, other := key("thread"), key("thread", "sub"), key("threads")
	for _, k := range []checkpoint.Key{k, sub, other} {
		p.grown(k, 20)
		p.put(k, 20, entry("t", "s", "work"))
	}
	before := p.dump(other)
	p.done("a thread can expire", p.expirer().Expire(p.Context(), "thread", time.Minute))
	p.advance(time.Hour)
	p.gone("an expired thread", k, sub)
	p.conflicts("a writer of an expired thread is refused", p.store.Commit(p.Context(), step(k, 21)), k, 20, 0)
	err := p.store.Put(p.Context(), beside(sub, 20, entry("t", "s", "late")))
	p.conflicts("entries for an expired thread are refused", err, sub, 20, 0)
	p.fails("Expire of an expired thread returns ErrNotFound", p.expirer().Expire(p.Context(), "thread", time.Minute), checkpoint.ErrNotFound)
	p.gone("an expired thread, after writes", k, sub)
	p.same("other threads stay as they are", p.dump(other), before)
	p.done("an expired thread can be deleted", p.store.Delete(p.Context(), "thread"))
	p.gone("an expired thread that was deleted", k, sub)
}

func expiredStartsAnew(p *probe) {
	k, sub := key("thread"), key("thread", "sub")
	for _, k := range []checkpoint.Key{k, sub} {
		p.grown(k, 5)
		p.put(k, 5, entry("t", "s", "work"))
	}
	p.done("a thread can expire", p.expirer().Expire(p.Context(), "thread", time.Minute))
	p.advance(time.Hour)
	anew := p.grown(k, 2)
	p.same("an expired thread starts again at 1, with nothing of its past", p.load(k, 0), whole(anew, 1, 2))
	p.same("a thread that starts again has no old namespaces", fmt.Sprintf("%q", p.namespaces("thread")), `[""]`)
	_, err := p.store.Load(p.Context(), k, 5)
	p.fails("a thread that starts again has no old commits", err, checkpoint.ErrNotFound)
	for n := range 20 { // a store may clean up the expired thread with later writes
		p.commit(step(key(fmt.Sprint("other ", n)), 1))
	}
	p.advance(1000 * time.Hour)
	p.same("a thread that starts again does not have its old expiry", p.load(k, 0), whole(anew, 1, 2))
}

func expiredInListings(p *probe) {
	var keys []checkpoint.Key
	for n := range 30 {
		k := key(fmt.Sprintf("thread %02d", n))
		c := step(k, 1)
		c.Labels = map[string]string{"kind": "test"}
		if n%3 > 0 {
			c.TTL = time.Minute
		} else {
			keys = append(keys, k)
		}
		p.commit(c)
	}
	p.advance(time.Hour)
	want := names(rootsOf(keys))
	p.same("threads that have expired are not listed", names(p.threads(checkpoint.ThreadQuery{})), want)
	p.same("threads that have expired are not found by labels", names(p.threads(checkpoint.ThreadQuery{Where: map[string]string{"kind": "test"}})), want)
	p.same("Limit counts only threads that have not expired", names(p.threads(checkpoint.ThreadQuery{Limit: 5})), names(rootsOf(keys[:5])))
}

func expiredLease(p *probe) {
	k := key("thread")
	ann := p.acquire(ask("thread", "ann"))
	p.commit(withTTL(time.Second, with(ann.Fence, step(k, 1))))
	p.advance(2 * time.Second)
	p.fenced("the lease ends with the thread", p.store.Commit(p.Context(), with(ann.Fence, step(k, 2))), "thread", "")
	p.commit(step(k, 1))
	bob := p.acquire(ask("thread", "bob"))
	p.fenced("the fence of an expired thread stays invalid", p.store.Commit(p.Context(), with(ann.Fence, step(k, 2))), "thread", "bob")
	p.commit(with(bob.Fence, step(k, 2)))
	p.done("a thread is released", p.leaser().Release(p.Context(), "thread", bob.Fence))
	p.headIs("Release keeps the commits of the thread", step(k, 2))
}

// expireMany lets 100 threads expire at the same time. A store may clean up only a few with each
// write.
func expireMany(p *probe) {
	const n = 100
	for i := range n {
		k := key(fmt.Sprint("thread ", i))
		p.commit(withTTL(time.Minute, step(k, 1)))
		p.commit(step(key(k.Thread, "sub"), 1))
	}
	p.advance(time.Hour)
	for i := range n {
		k := key(fmt.Sprint("thread ", i))
		if i%2 == 0 {
			p.commit(step(k, 1))
			p.headIs("an expired thread starts again, whether or not the store has cleaned it up", step(k, 1))
			continue
		}
		p.gone("an expired thread, cleaned up or not", k, key(k.Thread, "sub"))
	}
	p.same("only what started again is listed", len(p.threads(checkpoint.ThreadQuery{})), n/2)
}
