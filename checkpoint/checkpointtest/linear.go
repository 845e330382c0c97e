package checkpointtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/weftrun/weft/checkpoint"
)

// did is one call on a chain as its caller saw it.
type did struct {
	what  string // "commit", "load", "take" or "release"
	head  uint64 // the head that a commit was made for
	id    string
	fence string // that the writer carried, or released
}

// saw is how a call ended.
type saw struct {
	refused string // "", "conflict", "fenced" or "not found"
	head    uint64 // in a conflict or a load
	id      string // in a load
	fence   string // that was taken
}

// register is the specification of a chain: its head, and the lease of its thread.
type register struct {
	head  uint64
	id    string
	fence string
}

// next returns the register after a call, and whether the call could end like that.
func (r register) next(d did, s saw) (bool, register) {
	switch d.what {
	case "load":
		want := saw{head: r.head, id: r.id}
		if r.head == 0 {
			want = saw{refused: "not found"}
		}
		return s == want, r
	case "take":
		return s.fence != "" && s.fence != r.fence, register{r.head, r.id, s.fence}
	case "release":
		if d.fence == r.fence {
			r.fence = ""
		}
		return s == saw{}, r
	}
	switch {
	case d.fence != r.fence:
		return s == saw{refused: "fenced"}, r
	case r.head == d.head+1 && r.id == d.id:
		return s == saw{}, r
	case r.head != d.head:
		return s == saw{refused: "conflict", head: r.head}, r
	}
	return s == saw{}, register{d.head + 1, d.id, r.fence}
}

var specification = porcupine.Model{
	Init: func() any { return register{} },
	Step: func(state, input, output any) (bool, any) { return state.(register).next(input.(did), output.(saw)) },
}

// linearizable lets writers race for a few chains and looks whether all that they saw
// can be told as one story, in which each call happens at once.
func linearizable(p *probe) {
	for round := range 10 {
		k := key(fmt.Sprint("thread ", round))
		var clock atomic.Int64
		stories := make([][]porcupine.Operation, 5)
		for _, err := range atOnce(len(stories), func(w int) (err error) {
			stories[w], err = p.tell(k, w, uint64(round), &clock)
			return err
		}) {
			p.done("a call ends in one of the ways that the port names", err)
		}
		var all []porcupine.Operation
		for _, story := range stories {
			all = append(all, story...)
		}
		if got := porcupine.CheckOperationsTimeout(specification, all, 30*time.Second); got != porcupine.Ok {
			p.Fatalf("rule: what racing writers see can be told as one story\n got: %s after %d calls\nwant: %s", got, len(all), porcupine.Ok)
		}
	}
}

// tell makes random calls and notes how they ended.
func (p *probe) tell(k checkpoint.Key, w int, seed uint64, clock *atomic.Int64) (story []porcupine.Operation, err error) {
	random := rand.New(rand.NewPCG(seed, uint64(w)))
	var now saw      // what was seen last
	var fence string // that this writer holds
	var last did
	for n := range 30 {
		d := did{what: "commit", head: now.head, id: fmt.Sprintf("%d.%d", w, n), fence: fence}
		switch dice := random.IntN(10); {
		case dice < 2:
			d = did{what: "load"}
		case dice == 2 && last.what == "commit":
			d = last // again, as if the reply had been lost
		case dice == 3 && leases.in(p.store):
			d = did{what: "take"}
		case dice == 4 && fence != "":
			d = did{what: "release", fence: fence}
		}
		call := clock.Add(1)
		s, err := p.do(k, d)
		if err != nil {
			return nil, err
		}
		story = append(story, porcupine.Operation{ClientId: w, Input: d, Call: call, Output: s, Return: clock.Add(1)})
		fence, now = after(d, s, fence, now)
		last = d
	}
	return story, nil
}

// after returns the fence that the writer holds after a call, and the head that it knows.
func after(d did, s saw, fence string, now saw) (string, saw) {
	switch {
	case d.what == "take":
		return s.fence, now
	case d.what == "release" || s.refused == "fenced":
		return "", now
	case d.what == "commit" && s.refused == "":
		return fence, saw{head: d.head + 1}
	}
	return fence, s
}

// do makes one call. An error is one that the port does not name.
func (p *probe) do(k checkpoint.Key, d did) (s saw, err error) {
	switch d.what {
	case "load":
		snap, err := p.store.Load(p.Context(), k, 0)
		if errors.Is(err, checkpoint.ErrNotFound) {
			return saw{refused: "not found"}, nil
		}
		return saw{head: snap.Seq, id: snap.ID}, err
	case "take":
		r := ask(k.Thread, "racer")
		r.Force = true
		l, err := p.leaser().Acquire(p.Context(), r)
		return saw{fence: l.Fence}, err
	case "release":
		return saw{}, p.leaser().Release(p.Context(), k.Thread, d.fence)
	}
	err = p.store.Commit(p.Context(), checkpoint.Commit{Key: k, ID: d.id, Head: d.head, Fence: d.fence})
	var lost *checkpoint.ConflictError
	switch {
	case errors.Is(err, checkpoint.ErrFenced):
		return saw{refused: "fenced"}, nil
	case errors.As(err, &lost):
		return saw{refused: "conflict", head: lost.Head}, nil
	}
	return saw{}, err
}
