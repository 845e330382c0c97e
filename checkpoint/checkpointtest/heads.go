package checkpointtest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/weftrun/weft/checkpoint"
)

func staleHead(p *probe) {
	k, sub := key("thread"), key("thread", "sub")
	p.commitSteps(k, 3)
	p.commitSteps(sub, 1)
	p.put(k, 3, checkpoint.Entry{Task: "t", Slot: "s", Data: []byte("work")})
	before := p.dump(k, sub)

	for _, head := range []uint64{0, 1, 2, 4, 1 << 40, 1<<64 - 1} {
		c := step(k, head+1)
		c.Head, c.ID = head, "late"
		c.Header, c.Blobs[0].Data = []byte("late header"), []byte("late value")
		p.conflicts(fmt.Sprintf("a commit for head %d is refused when the head is 3", head), p.store.Commit(p.Context(), c), k, head, 3)
		c.Refs, c.Blobs = nil, nil // nothing of it is there already
		p.conflicts(fmt.Sprintf("an empty commit for head %d is refused when the head is 3", head), p.store.Commit(p.Context(), c), k, head, 3)
	}
	c := step(key("fresh"), 2)
	p.conflicts("a commit for head 1 is refused when there is no chain", p.store.Commit(p.Context(), c), c.Key, 1, 0)
	c.Head = 1<<64 - 1
	p.conflicts("a commit for the greatest head is refused when there is no chain", p.store.Commit(p.Context(), c), c.Key, c.Head, 0)

	p.same("a refused commit changes nothing", p.dump(k, sub), before)
	_, err := p.store.Load(p.Context(), key("fresh"), 0)
	p.fails("a refused commit starts no chain", err, checkpoint.ErrNotFound)
	p.commit(step(k, 4))
	p.same("after refused commits the chain goes on", p.load(k, 0), stored(step(k, 4), 4))
}

func sameCommitTwice(p *probe) {
	k := key("thread")
	p.commitSteps(k, 2)
	work := checkpoint.Entry{Task: "t", Slot: "s", Data: []byte("work")}
	p.put(k, 2, work)
	p.commit(step(k, 2)) // the reply was lost
	p.same("a commit that is the head already is done: nothing is added, and entries stay",
		p.load(k, 0), stored(step(k, 2), 2, work))
	p.same("the same commit twice is one commit", seqs(p.history(k, checkpoint.Query{})), down(2, 1))

	other := step(k, 2)
	other.ID = "another attempt"
	p.conflicts("another ID at the head's number is another commit", p.store.Commit(p.Context(), other), k, 1, 2)
	p.conflicts("a commit that is in the chain but not its head is refused", p.store.Commit(p.Context(), step(k, 1)), k, 0, 2)
	moved := step(k, 3)
	moved.ID = step(k, 2).ID
	p.commit(moved)
	p.same("the head's ID with the next number is a new commit", p.load(k, 0), stored(moved, 3))
}

// oneWinner lets writers race for every number.
func oneWinner(p *probe) {
	const writers, rounds = 8, 50
	k := key("contested")
	var winners []string
	for seq := range uint64(rounds) {
		errs := make([]error, writers)
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				c := step(k, seq+1)
				c.ID = fmt.Sprintf("writer %d", w)
				errs[w] = p.store.Commit(p.Context(), c)
			})
		}
		wg.Wait()
		won := 0
		for w, err := range errs {
			if err == nil {
				won++
				winners = append(winners, fmt.Sprintf("writer %d", w))
				continue
			}
			p.conflicts("a writer that lost gets a conflict", err, k, seq, seq+1)
		}
		if won != 1 {
			p.Fatalf("rule: of the writers who race for a number exactly one wins\n got: %d winners for commit %d\nwant: 1", won, seq+1)
		}
	}
	for i, snap := range p.history(k, checkpoint.Query{}) {
		p.same("the chain holds the commits that were acknowledged", snap.ID, winners[rounds-1-i])
	}
}

// concurrentUse mixes everything, and looks whether the parts stay whole.
func concurrentUse(p *probe) {
	const writers, rounds = 8, 25
	shared := key("shared")
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() { p.ownThread(fmt.Sprintf("own %d", w), rounds) })
		wg.Go(func() { p.appendTo(shared, fmt.Sprintf("writer %d", w), rounds) })
	}
	wg.Go(func() { p.readAll(shared, rounds) })
	wg.Wait()
	p.same("every commit that was acknowledged is in the chain, and no other",
		seqs(p.history(shared, checkpoint.Query{})), down(writers*rounds, 1))
	p.same("all threads are there", len(p.threads(checkpoint.ThreadQuery{})), writers+1)
}

// ownThread is a writer that has its thread for itself.
func (p *probe) ownThread(thread string, rounds uint64) {
	k := key(thread)
	for seq := uint64(1); seq <= rounds; seq++ {
		e := checkpoint.Entry{Task: "t", Slot: "s", Data: []byte(thread)}
		err := errors.Join(p.store.Commit(p.Context(), step(k, seq)), p.store.Put(p.Context(), beside(k, seq, e)))
		snap, loadErr := p.store.Load(p.Context(), k, 0)
		if err = errors.Join(err, loadErr); err != nil {
			p.Errorf("rule: writers of other threads do not disturb\n got: %v\nwant: no error", err)
			return
		}
		p.same("a writer reads what it wrote", snap, stored(step(k, seq), seq, e))
	}
}

// appendTo makes n commits, each for the head that the last conflict named.
func (p *probe) appendTo(k checkpoint.Key, name string, n int) {
	var head uint64
	for made := 0; made < n; {
		c := step(k, head+1)
		c.ID = fmt.Sprintf("%s, %d", name, made)
		err := p.store.Commit(p.Context(), c)
		var lost *checkpoint.ConflictError
		switch {
		case err == nil:
			made++
			head++
		case errors.As(err, &lost) && lost.Head != head:
			head = lost.Head
		default:
			p.Errorf("rule: a writer loses only to another one\n got: %v\nwant: nil, or a conflict that names another head than %d", err, head)
			return
		}
	}
}

// readAll reads a chain while it grows.
func (p *probe) readAll(k checkpoint.Key, rounds int) {
	for range rounds {
		snap, err := p.store.Load(p.Context(), k, 0)
		if errors.Is(err, checkpoint.ErrNotFound) {
			continue
		}
		p.same("a load never mixes two commits", show(snap.Blobs), show(step(k, snap.Seq).Blobs))
		last := snap.Seq
		for snap, err := range p.store.History(p.Context(), k, checkpoint.Query{Limit: int(last)}) {
			if err != nil || snap.Seq == 0 {
				p.Errorf("rule: history can be read while others write\n got: commit %d, error %v\nwant: no error", snap.Seq, err)
				return
			}
		}
	}
}
