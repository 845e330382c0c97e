package checkpointtest

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/weftrun/weft/checkpoint"
)

// atOnce calls f by n goroutines and returns their errors.
func atOnce(n int, f func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errs
}

// oneOf complains unless exactly one call had success and all others failed as they should.
func (p *probe) oneOf(rule string, errs []error, kind error) {
	p.Helper()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		p.fails(rule+"; the others are refused", err, kind)
	}
	p.same(rule, won, 1)
}

func leaseRace(p *probe) {
	for round := range 20 {
		thread := fmt.Sprint("thread ", round)
		errs := atOnce(8, func(i int) error {
			_, err := p.leaser().Acquire(p.Context(), ask(thread, fmt.Sprint("racer ", i)))
			return err
		})
		p.oneOf("of those who race for a lease exactly one gets it", errs, checkpoint.ErrOwned)
	}
}

func leaseOverRace(p *probe) {
	for round := range 20 {
		thread := fmt.Sprint("thread ", round)
		p.acquire(ask(thread, "dead"))
		errs := atOnce(8, func(i int) error {
			r := ask(thread, fmt.Sprint("racer ", i))
			r.Force, r.Over = true, "dead"
			_, err := p.leaser().Acquire(p.Context(), r)
			return err
		})
		p.oneOf("of those who take over from a dead owner exactly one gets the thread", errs, checkpoint.ErrOwned)
	}
}

// leasedWriters take turns: each takes the thread over, commits twice and goes.
func leasedWriters(p *probe) {
	const writers, rounds = 6, 10
	k := key("thread")
	for _, err := range atOnce(writers, func(w int) error { return p.takeTurns(k, fmt.Sprint("writer ", w), rounds) }) {
		p.done("a writer fails only because of another one", err)
	}
	list := p.history(k, checkpoint.Query{})
	p.same("acknowledged commits of all owners are one chain", seqs(list), down(uint64(len(list)), 1))
	mine := map[string]int{}
	for _, snap := range list {
		name, _, _ := strings.Cut(snap.ID, ",")
		mine[name]++
	}
	for w := range writers {
		p.same("each commit that was acknowledged is in the chain once", mine[fmt.Sprint("writer ", w)], rounds)
	}
}

func (p *probe) takeTurns(k checkpoint.Key, name string, rounds int) error {
	for made := 0; made < rounds; {
		r := ask(k.Thread, name)
		r.Force = true
		l, err := p.leaser().Acquire(p.Context(), r)
		if errors.Is(err, checkpoint.ErrFenced) {
			continue // the reply was lost, and another writer has taken the thread since
		}
		if err != nil {
			return err
		}
		var head uint64
		if snap, err := p.store.Load(p.Context(), k, 0); err == nil {
			head = snap.Head
		}
		c := with(l.Fence, step(k, head+1))
		c.ID = fmt.Sprintf("%s, %d", name, made)
		switch err := p.store.Commit(p.Context(), c); {
		case err == nil:
			made++
		case !errors.Is(err, checkpoint.ErrFenced) && !errors.Is(err, checkpoint.ErrConflict):
			return err
		}
		if err := p.leaser().Release(p.Context(), k.Thread, l.Fence); err != nil {
			return err
		}
	}
	return nil
}
