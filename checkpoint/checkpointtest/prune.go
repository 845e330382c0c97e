package checkpointtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

func (p *probe) prune(thread string, keep checkpoint.Keep) {
	p.Helper()
	p.done(fmt.Sprintf("%q can be pruned", thread), checkpoint.Prune(p.Context(), p.store, thread, keep))
}

func pruneThread(p *probe) {
	for _, thread := range []string{"a", "b", "stays"} {
		p.library(thread)
	}
	stays := p.contents(p.store, "stays")
	heads := map[string]string{}
	for _, ns := range []string{"", "child:1", "child:1|inner:2"} {
		heads[ns] = p.state(p.store, key("a", ns), 0)
	}
	for _, thread := range []string{"a", "b"} {
		p.prune(thread, checkpoint.Keep{Last: 1})
	}
	for ns, want := range heads {
		for _, thread := range []string{"a", "b"} {
			k := key(thread, ns)
			list := p.history(k, checkpoint.Query{})
			p.same("only the newest of each namespace stays", len(list), 1)
			p.same("the newest keeps its entries", len(list[0].Pending), 2)
			p.same("the newest keeps its values", p.state(p.store, k, 0), want)
		}
	}
	p.same("other threads stay as they are", p.contents(p.store, "stays"), stays)
	p.prune("unknown", checkpoint.Keep{})
	p.prune("a", checkpoint.Keep{Last: 1})
	s := p.scribe(key("a"))
	s.steps(5)
	p.same("a pruned thread goes on", p.state(p.store, key("a"), 0), p.state(p.store, key("a"), 17))
	p.done("all of a thread goes by Delete", p.store.Delete(p.Context(), "a"))
	p.same("all of a thread goes by Delete", len(p.namespaces("a")), 0)
}

// pruneRules keeps by number, by time, by run and by a rule, and random unions of them.
func pruneRules(p *probe) {
	const n = 30
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	random := rand.New(rand.NewPCG(1, 2))
	for try := range unlessShort(12, 6) {
		k := key(fmt.Sprint("thread ", try))
		s := p.scribe(k)
		want := map[uint64]string{}
		for i := range n {
			s.run, s.at = fmt.Sprint("run ", i/10), begin.Add(time.Duration(i)*time.Hour)
			s.steps(1)
			want[uint64(i)+1] = p.state(p.store, k, 0)
		}
		keep := checkpoint.Keep{Now: func() time.Time { return begin.Add((n - 1) * time.Hour) }}
		if try%4 != 0 {
			keep.Last = random.IntN(5)
		}
		if try%3 == 1 {
			keep.For = time.Duration(random.IntN(8)) * time.Hour
		}
		if try%3 == 2 {
			keep.Runs = []string{fmt.Sprint("run ", random.IntN(4))}
		}
		odd := random.Uint64N(7) + 2
		if try%2 == 1 {
			keep.Marked = func(s checkpoint.Snapshot) bool { return s.Seq%odd == 0 }
		}
		p.prune(k.Thread, keep)
		for seq := uint64(1); seq <= n; seq++ {
			run := fmt.Sprint("run ", (seq-1)/10)
			stays := seq > n-uint64(max(1, keep.Last)) || keep.For > 0 && time.Duration(n-seq)*time.Hour <= keep.For ||
				len(keep.Runs) > 0 && keep.Runs[0] == run || keep.Marked != nil && seq%odd == 0
			if !stays {
				_, err := p.store.Load(p.Context(), k, seq)
				p.fails("what no rule keeps is dropped", err, checkpoint.ErrNotFound)
				continue
			}
			p.same("what a rule keeps can be loaded as before", p.state(p.store, k, seq), want[seq])
		}
	}
}

// pruneSubgraphs drops the namespaces of subgraphs whose tasks are in the past.
func pruneSubgraphs(p *probe) {
	id := func(n int) string { return fmt.Sprintf("%032x", n) }
	s := p.scribe(key("thread"))
	for n := range 6 {
		s.next = []checkpoint.Task{{ID: id(n), Node: "sub"}}
		s.steps(1)
		child := p.scribe(key("thread", "sub:"+id(n)))
		child.next = []checkpoint.Task{{ID: id(100 + n), Node: "in|ner"}}
		child.steps(3)
		p.scribe(key("thread", "sub:"+id(n)+"#2")).steps(2)
		p.scribe(key("thread", "sub:"+id(n)+"|in|ner:"+id(100+n))).steps(2)
	}
	p.scribe(key("thread", "notes:by hand")).steps(2)
	p.prune("thread", checkpoint.Keep{Last: 2})
	var want []string
	for n := 4; n < 6; n++ {
		want = append(want, "sub:"+id(n), "sub:"+id(n)+"#2", "sub:"+id(n)+"|in|ner:"+id(100+n))
	}
	want = append([]string{"", "notes:by hand"}, want...)
	p.same("the subgraphs of tasks of the commits that stay are not pruned, nor is a namespace that is no subgraph", fmt.Sprintf("%q", p.namespaces("thread")), fmt.Sprintf("%q", want))
	p.same("what stays of a subgraph is pruned by the same rules", len(p.history(key("thread", "sub:"+id(5)), checkpoint.Query{})), 2)
}

func pruneWhileWriting(p *probe) {
	const n = 40
	k := key("thread")
	s := p.scribe(k)
	s.steps(1)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			if err := checkpoint.Prune(p.Context(), p.store, "thread", checkpoint.Keep{Last: 3}); err != nil {
				p.Errorf("rule: a prune waits for no writer and fails no call\n got: %v\nwant: no error", err)
				return
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	s.steps(n - 1)
	close(stop)
	wg.Wait()
	p.prune("thread", checkpoint.Keep{Last: 3})
	list := p.history(k, checkpoint.Query{})
	p.same("a thread that is pruned meanwhile has its newest commits", fmt.Sprint(seqs(list)), fmt.Sprint(down(n, n-2)))
	for _, snap := range list {
		p.same("and each is whole", strings.Count(p.state(p.store, k, snap.Seq), "line"), int(snap.Seq))
	}
}

func deleteRuns(p *probe) {
	k, sub := key("thread"), key("thread", "child:1")
	for _, k := range []checkpoint.Key{k, sub, key("other")} {
		s := p.scribe(k)
		for _, run := range []string{"run 1", "run 2", "run 1", "run 3"} {
			s.run = run
			s.steps(2)
		}
		p.done("entries are stored", s.chain.Put(p.Context(), []checkpoint.Entry{entry("t", "result", `1`)}))
	}
	other, before := p.contents(p.store, "other"), p.contents(p.store, "thread")
	want := p.state(p.store, k, 6)
	del := func(runs ...string) {
		p.done(fmt.Sprintf("runs %q can be taken back", runs), checkpoint.DeleteRuns(p.Context(), p.store, "thread", runs...))
	}
	runsOf := func(k checkpoint.Key) string {
		var runs []string
		for _, snap := range p.history(k, checkpoint.Query{}) {
			rec, err := checkpoint.ReadRecord(snap)
			p.done("a record can be read", err)
			runs = append(runs, strings.TrimPrefix(rec.Run, "run "))
		}
		return strings.Join(runs, "")
	}
	del()
	del("unknown")
	p.same("no runs, and unknown runs, change nothing", p.contents(p.store, "thread"), before)
	del("run 3")
	for _, k := range []checkpoint.Key{k, sub} {
		p.same("the commits of a run are gone, in every namespace, and the state before it is the newest", runsOf(k), "1112211")
		p.same("the state is that before the run", p.state(p.store, k, 0), want)
		p.same("the entries of a run are gone", len(p.load(k, 0).Pending), 0)
	}
	del("run 2")
	p.same("the commits of a run in the past are gone", runsOf(k), "11111")
	p.same("the others keep their values", p.state(p.store, k, 6), want)
	p.same("other threads stay as they are", p.contents(p.store, "other"), other)
	s := p.scribe(k)
	s.run = "run 4"
	s.steps(2)
	del("run 1", "run 4")
	_, err := p.store.Load(p.Context(), k, 0)
	p.same("a thread of which no run stays is gone", errors.Is(err, checkpoint.ErrNotFound) && len(p.namespaces("thread")) == 0, true)
	p.done("runs of an unknown thread are no error", checkpoint.DeleteRuns(p.Context(), p.store, "unknown", "run 1"))
}

// deleteRunsDecisions checks that the decisions of a run are deleted with it, in the list of the
// thread and pending, and that those of earlier runs remain.
func deleteRunsDecisions(p *probe) {
	s := p.scribe(key("thread"))
	for _, run := range []string{"run 1", "run 2"} {
		s.run = run
		s.chain.Decide(json.RawMessage(`"` + run + `"`))
		s.steps(1)
	}
	pending := checkpoint.Entry{Slot: checkpoint.SlotDecision + "q", Keep: true, Data: []byte(`"pending"`)}
	p.done("a decision is put", s.chain.Put(p.Context(), []checkpoint.Entry{pending}))
	p.same("decisions are listed before their run is deleted", p.decided("thread"), `"run 1" "run 2" "pending"`)
	p.done("a run can be deleted", checkpoint.DeleteRuns(p.Context(), p.store, "thread", "run 2"))
	p.same("the decisions of a deleted run are deleted", p.decided("thread"), `"run 1"`)
}
