package checkpointtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// Soak is the variable of the environment that asks for the long form of tests that kill
// processes: thousands of kills instead of a few.
const Soak = "WEFT_SOAK"

// RunProcesses tests a store that many processes use at once. The history of eight processes that
// race for a thread is linearizable. A process that is killed with SIGKILL in the middle of a call
// leaves the thread as it was, or with all of its work. The address names an empty store; open
// opens it here and, by Worker, in the processes.
func RunProcesses(t *testing.T, address string, open Opener) {
	for _, r := range processRules {
		t.Run(r.name, func(t *testing.T) {
			store, err := open(t.Context(), address)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			r.check(&probe{TB: t, store: store}, address)
		})
	}
}

var processRules = []struct {
	name  string
	check func(p *probe, address string)
}{
	{"ProcessesRace", func(p *probe, address string) { newFleet(p, address).race(soak(3, 1000)) }},
	{"KilledProcesses", func(p *probe, address string) { newFleet(p, address).storm(soak(24, 2200)) }},
}

// soak returns short, or long if the environment has Soak.
func soak(short, long int) int {
	if os.Getenv(Soak) != "" {
		return long
	}
	return short
}

// unlessShort returns n, or another number with -short.
func unlessShort(n, short int) int {
	if testing.Short() {
		return short
	}
	return n
}

// fleet are the processes of a test, and what became of their calls.
type fleet struct {
	*probe
	workers                        []*process
	kills, unknown, acked, commits atomic.Int64
}

func newFleet(p *probe, address string) *fleet {
	f := &fleet{probe: p, workers: make([]*process, 8)}
	for i := range f.workers {
		f.workers[i] = &process{address: address}
	}
	return f
}

// race lets the processes race for so many threads, one after another.
func (f *fleet) race(threads int) {
	defer f.end("race")
	for n := range threads {
		f.thread(fmt.Sprint("race ", n), uint64(n), func(*rand.Rand) time.Duration { return -1 })
	}
}

// storm kills so many processes that race for a thread, one thread after another.
func (f *fleet) storm(kills int) {
	defer f.end("storm")
	for n := 0; f.kills.Load() < int64(kills); n++ {
		f.thread(fmt.Sprint("storm ", n), uint64(n), func(r *rand.Rand) time.Duration {
			if r.IntN(8) > 0 {
				return -1
			}
			f.kills.Add(1)
			return time.Duration(r.Int64N(1 << (1 + r.IntN(22)))) // up to 4 ms; as often short as long
		})
	}
}

// thread lets the processes work on one thread and judges what they saw and left.
func (f *fleet) thread(name string, seed uint64, killAfter func(*rand.Rand) time.Duration) {
	f.Helper()
	clients := make([]*client, len(f.workers))
	for i, w := range f.workers {
		dice := rand.New(rand.NewPCG(seed, uint64(1000+i)))
		clients[i] = &client{number: i, leases: seed%2 == 1 && leases.in(f.store), calls: 20, call: func(d did) (saw, error) {
			return w.do(order{name, d}, killAfter(dice))
		}}
	}
	f.raceClients(clients, seed)
	f.audit(key(name), clients)
}

// audit reads a whole chain: it has every acknowledged commit once, and no commit that no client
// made.
func (f *fleet) audit(k checkpoint.Key, clients []*client) {
	f.Helper()
	made, acked := map[string]bool{}, map[string]uint64{}
	for _, t := range clients {
		for _, op := range t.history {
			d, s := op.Input.(did), op.Output.(saw)
			switch {
			case s.Refused == "unknown":
				f.unknown.Add(1)
				made[d.ID] = d.What == "commit" || made[d.ID]
			case d.What == "commit" && s.Refused == "":
				acked[d.ID], made[d.ID] = d.Head+1, true
			}
		}
	}
	list := f.history(k, checkpoint.Query{})
	f.same("a chain has no gaps", seqs(list), down(uint64(len(list)), 1))
	at := map[string]uint64{}
	for _, snap := range list {
		if at[snap.ID] != 0 || !made[snap.ID] {
			f.Errorf("rule: a commit is in the chain once, and a client made it\n got: %q at %d and %d, made: %t", snap.ID, at[snap.ID], snap.Seq, made[snap.ID])
		}
		at[snap.ID] = snap.Seq
		if err := checkWhole(f.load(k, snap.Seq)); err != nil {
			f.Errorf("rule: a commit is whole or not there\n got: %v", err)
		}
	}
	for id, seq := range acked {
		f.same("a commit that was acknowledged is where it was put", at[id], seq)
	}
	f.acked.Add(int64(len(acked)))
	f.commits.Add(int64(len(list)))
}

// end ends the processes and logs what was done.
func (f *fleet) end(what string) {
	for _, w := range f.workers {
		w.end()
	}
	f.Logf("%s: %d kills, %d calls with an unknown end, %d commits acknowledged, %d in the chains", what, f.kills.Load(), f.unknown.Load(), f.acked.Load(), f.commits.Load())
}
