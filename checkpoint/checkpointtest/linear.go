package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/weftrun/weft/checkpoint"
)

// did is one call on a chain as its caller saw it.
type did struct {
	What  string // "commit", "load", "take" or "release"
	Head  uint64 // the head that a commit was made for
	ID    string // of a commit, or of a request for the lease
	Fence string // that the writer carried, or released
}

// saw is how a call ended.
type saw struct {
	Refused string // "", "conflict", "fenced", "not found", "busy", or "unknown" when the caller was killed
	Head    uint64 // in a conflict or a load
	ID      string // in a load
	Fence   string // that was taken
}

// register is the specification of a chain: its head, and the lease of its thread.
type register struct {
	head  uint64
	id    string
	fence string
	given checkpoint.LeaseLog
}

// next returns the register after a call, and whether the call could end like that. A
// caller that was killed saw nothing: its call did what it could, at whatever time.
func (r register) next(d did, s saw) (bool, register) {
	switch s.Refused {
	case "busy":
		return true, r
	case "unknown":
		return true, r.maybe(d)
	}
	switch d.What {
	case "load":
		want := saw{Head: r.head, ID: r.id}
		if r.head == 0 {
			want = saw{Refused: "not found"}
		}
		return s == want, r
	case "take":
		return r.taken(d, s), r.maybe(d)
	case "release":
		if d.Fence == r.fence {
			r.fence = ""
		}
		return s == saw{}, r
	}
	switch {
	case d.Fence != r.fence:
		return s == saw{Refused: "fenced"}, r
	case r.head == d.Head+1 && r.id == d.ID:
		return s == saw{}, r
	case r.head != d.Head:
		return s == saw{Refused: "conflict", Head: r.head}, r
	}
	r.head, r.id = d.Head+1, d.ID
	return s == saw{}, r
}

// taken reports whether a request for the lease could end like that. A repeated request returns the
// lease that it got before, while that is valid. A refused request was granted, now or before, and
// another writer has taken the thread since.
func (r register) taken(d did, s saw) bool {
	if s.Refused == "fenced" {
		return r.fence != d.ID
	}
	return s == saw{Fence: d.ID} && (r.fence == d.ID || !r.given.Has(d.ID))
}

// maybe returns the register after a call whose result is unknown.
func (r register) maybe(d did) register {
	switch {
	case d.What == "take" && !r.given.Has(d.ID):
		r.fence, r.given = d.ID, r.given.With(d.ID)
	case d.What == "release" && d.Fence == r.fence:
		r.fence = ""
	case d.What == "commit" && d.Fence == r.fence && d.Head == r.head:
		r.head, r.id = d.Head+1, d.ID
	}
	return r
}

var specification = porcupine.Model{
	Init: func() any { return register{} },
	Step: func(state, input, output any) (bool, any) { return state.(register).next(input.(did), output.(saw)) },
}

// linearizable lets writers race for a few chains and checks that their histories are linearizable:
// some order of the calls, in which each takes effect at once, explains all results.
func linearizable(p *probe) {
	for round := range 10 {
		k := key(fmt.Sprint("thread ", round))
		clients := make([]*client, 5)
		for w := range clients {
			clients[w] = &client{number: w, leases: leases.in(p.store), calls: 30, call: func(d did) (saw, error) {
				s, err := do(p.Context(), p.store, k, d)
				if s.Refused == "busy" {
					err = errors.New("a store that one process uses is busy")
				}
				return s, err
			}}
		}
		p.raceClients(clients, uint64(round))
	}
}

// maxUndecided is how many histories of a rule may stay undecided. Calls that overlap much, as on a
// busy machine, and callers that were killed allow too many orders to try all of them.
const maxUndecided = 2

// raceClients lets clients race and checks that their history is linearizable.
func (p *probe) raceClients(clients []*client, seed uint64) {
	p.Helper()
	var clock atomic.Int64
	for _, err := range atOnce(len(clients), func(w int) error {
		return clients[w].run(&clock, rand.New(rand.NewPCG(seed, uint64(w))))
	}) {
		p.done("a call ends in one of the ways that the port names", err)
	}
	var all []porcupine.Operation
	for _, c := range clients {
		all = append(all, c.history...)
	}
	got := porcupine.CheckOperationsTimeout(specification, all, 20*time.Second)
	if got == porcupine.Unknown && p.undecided < maxUndecided {
		p.undecided++
		p.Logf("%d calls have too many possible orders to try all", len(all))
		return
	}
	if got != porcupine.Ok {
		p.Fatalf("rule: the history of racing writers is linearizable\n got: %s after %d calls\nwant: %s", got, len(all), porcupine.Ok)
	}
}

// client makes random calls and records how they ended.
type client struct {
	number  int
	leases  bool // the store has them
	calls   int
	call    func(did) (saw, error)
	history []porcupine.Operation
}

func (c *client) run(clock *atomic.Int64, random *rand.Rand) error {
	var now saw      // what was seen last
	var fence string // that this writer holds
	var last did
	for n := range c.calls {
		d := did{What: "commit", Head: now.Head, ID: fmt.Sprintf("%d.%d", c.number, n), Fence: fence}
		switch dice := random.IntN(10); {
		case dice < 2:
			d = did{What: "load"}
		case dice == 2 && (last.What == "commit" || last.What == "take"):
			d = last // again, as if the reply had been lost
		case dice == 3 && c.leases:
			d = did{What: "take", ID: checkpoint.NewFence()}
		case dice == 4 && fence != "":
			d = did{What: "release", Fence: fence}
		}
		begin := clock.Add(1)
		s, err := c.call(d)
		if err != nil {
			return err
		}
		end := clock.Add(1)
		if s.Refused == "unknown" {
			end = math.MaxInt64 // it may still happen
		}
		c.history = append(c.history, porcupine.Operation{ClientId: c.number, Input: d, Call: begin, Output: s, Return: end})
		fence, now = after(d, s, fence, now)
		last = d
	}
	return nil
}

// after returns the fence that the writer holds after a call, and the head that it knows.
func after(d did, s saw, fence string, now saw) (string, saw) {
	switch {
	case s.Refused == "busy":
		return fence, now
	case d.What == "take":
		return s.Fence, now
	case d.What == "release" || s.Refused == "fenced":
		return "", now
	case s.Refused == "unknown":
		return fence, now
	case d.What == "commit" && s.Refused == "":
		return fence, saw{Head: d.Head + 1}
	}
	return fence, s
}

// do makes one call. An error is one that the port does not name.
func do(ctx context.Context, store checkpoint.Store, k checkpoint.Key, d did) (s saw, err error) {
	switch d.What {
	case "load":
		return look(ctx, store, k)
	case "take":
		r := ask(k.Thread, "racer")
		r.Force, r.ID = true, d.ID
		l, err := store.(checkpoint.Leaser).Acquire(ctx, r)
		return endOf(saw{Fence: l.Fence}, err)
	case "release":
		return endOf(saw{}, store.(checkpoint.Leaser).Release(ctx, k.Thread, d.Fence))
	}
	return endOf(saw{}, store.Commit(ctx, written(k, d)))
}

// written returns a commit whose parts all hold its id. Every second commit has no fields, so that
// only the head can refuse it.
func written(k checkpoint.Key, d did) checkpoint.Commit {
	c := checkpoint.Commit{Key: k, ID: d.ID, Head: d.Head, Fence: d.Fence, Header: []byte("header of " + d.ID)}
	for _, field := range parts(d.ID) {
		c.Refs = append(c.Refs, checkpoint.Ref{Field: field, Base: c.Seq()})
		c.Blobs = append(c.Blobs, checkpoint.Blob{Field: field, Base: c.Seq(), Data: []byte(field + " of " + d.ID)})
	}
	return c
}

// parts are the fields of such a commit.
func parts(id string) []string {
	if id == "" || id[len(id)-1]%2 == 1 {
		return nil
	}
	return []string{"first", "second", "third"}
}

// errTorn is returned when a commit has parts of another.
var errTorn = errors.New("a commit is not whole")

// look loads the head.
func look(ctx context.Context, store checkpoint.Store, k checkpoint.Key) (saw, error) {
	snap, err := store.Load(ctx, k, 0)
	if err == nil {
		err = checkWhole(snap)
	}
	return endOf(saw{Head: snap.Seq, ID: snap.ID}, err)
}

// checkWhole returns an errTorn unless the commit is as written makes it.
func checkWhole(snap checkpoint.Snapshot) error {
	want := parts(snap.ID)
	ok := len(snap.Blobs) == len(want) && string(snap.Header) == "header of "+snap.ID
	for i, b := range snap.Blobs {
		ok = ok && string(b.Data) == want[i]+" of "+snap.ID
	}
	if !ok {
		return fmt.Errorf("%w: %s", errTorn, show(snap))
	}
	return nil
}

// endOf returns how a call ended that returned s and err.
func endOf(s saw, err error) (saw, error) {
	var lost *checkpoint.ConflictError
	switch {
	case errors.Is(err, checkpoint.ErrFenced):
		return saw{Refused: "fenced"}, nil
	case errors.As(err, &lost):
		return saw{Refused: "conflict", Head: lost.Head}, nil
	case errors.Is(err, checkpoint.ErrNotFound):
		return saw{Refused: "not found"}, nil
	case errors.Is(err, checkpoint.ErrBusy):
		return saw{Refused: "busy"}, nil
	}
	return s, err
}
