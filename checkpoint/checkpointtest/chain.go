package checkpointtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// Above the port: what a Chain stores through a store, and what package checkpoint does
// with whole threads.
var chainRules = []rule{
	{"ChainValues", chainValues, nil},
	{"ChainVersions", chainVersions, nil},
	{"ChainRecord", chainRecord, nil},
	{"ChainDelta", chainDelta, nil},
	{"ChainSeed", chainSeed, nil},
	{"Decisions", decisions, nil},
	{"Hashes", hashes, nil},
	{"Copy", copyThread, nil},
	{"CopyBetweenStores", copyBetweenStores, nil},
	{"CopyRefuses", copyRefuses, nil},
	{"Export", exportThread, nil},
	{"Prune", pruneThread, []offer{drops}},
	// Requirement: pruning, copying or deleting during a commit
	{"PruneRules", pruneRules, []offer{drops}},
	{"PruneSubgraphs", pruneSubgraphs, []offer{drops}},
	{"PruneWhileWriting", pruneWhileWriting, []offer{drops}},
	{"DeleteRuns", deleteRuns, []offer{drops}},
	{"DeleteRunsDecisions", deleteRunsDecisions, []offer{drops}},
	{"Hold", holdThread, []offer{leases}},
	// Requirement: a flipped bit in a value is noticed
	// Requirement: stored bytes are damaged
	{"Damage", damage, []offer{damages}},
	// Requirement: stored bytes are damaged
	{"SpoiltValues", spoiltValues, []offer{spoils}},
}

// journal is the state of these chains.
type journal struct {
	Title state.Value[string]    `json:"title"`
	Count state.Sum[int64]       `json:"count"`
	Log   state.List[string]     `json:"log"`
	Index state.Map[string, int] `json:"index"`
}

func journals() *state.Schema {
	schema, err := state.SchemaOf[journal]()
	if err != nil {
		panic(err) // the type is written above
	}
	return schema
}

// scribe writes a chain, step by step.
type scribe struct {
	*probe
	chain *checkpoint.Chain
	view  state.View
	key   checkpoint.Key
	run   string            // of the next records
	at    time.Time         // of the next records
	next  []checkpoint.Task // due after the next commit
}

func (p *probe) scribe(k checkpoint.Key) *scribe {
	p.Helper()
	chain, err := checkpoint.Open(p.Context(), p.store, k, journals())
	p.done("a chain can be opened", err)
	return &scribe{probe: p, chain: chain, view: chain.State, key: k, run: "run 1"}
}

// record is the record of the next step.
func (s *scribe) record() *checkpoint.Record {
	return &checkpoint.Record{
		Graph: "g", Program: "p", Run: s.run, Origin: "o", Time: s.at, Source: checkpoint.Step, Turn: 1, Step: int(s.chain.Head()) + 1,
		Next: s.next, Metadata: map[string]string{"user": "ann", "é": "<&> and more"},
	}
}

// step lets a task write, folds what it wrote, and commits.
func (s *scribe) step(write func(*journal)) {
	s.Helper()
	schema := journals()
	task := schema.Blank()
	schema.Assign(task, s.view)
	write(task.State.(*journal))
	changed := make([]bool, len(task.Channels))
	for i, c := range task.Channels {
		if c.Wrote() {
			changed[i] = true
			s.done("a write can be folded", s.view.Channels[i].Fold(task.Channels[i:i+1]))
		}
	}
	s.done("a step is committed", s.chain.Commit(s.Context(), fmt.Sprintf("%s.%d", s.run, s.chain.Head()+1), s.record(), s.view, changed))
}

// write is what step n of the tests writes.
func write(n int) func(*journal) {
	return func(j *journal) {
		j.Log.Append(fmt.Sprint("line ", n))
		j.Count.Add(int64(n))
		if n%2 == 0 {
			j.Title.Set(fmt.Sprint("title ", n))
		}
		if n%3 == 0 {
			j.Index.Put(fmt.Sprint("key ", n), n)
		}
	}
}

// steps makes n steps.
func (s *scribe) steps(n int) {
	s.Helper()
	for range n {
		s.step(write(int(s.chain.Head()) + 1))
	}
}

// state returns the state at a commit, as JSON.
func (p *probe) state(s checkpoint.Store, k checkpoint.Key, seq uint64) string {
	p.Helper()
	snap, err := s.Load(p.Context(), k, seq)
	p.done(fmt.Sprintf("commit %d of %q can be loaded", seq, k), err)
	_, v, err := checkpoint.Restore(snap, journals())
	p.done(fmt.Sprintf("commit %d of %q can be restored", seq, k), err)
	text, err := journals().Encode(v)
	p.done("a state can be written", err)
	return string(text)
}

// contents returns all that a thread has, unsealed: records, states, labels and entries.
func (p *probe) contents(s checkpoint.Store, thread string) string {
	p.Helper()
	var b strings.Builder
	spaces, err := s.Namespaces(p.Context(), thread)
	p.done("namespaces can be listed", err)
	for _, ns := range spaces {
		k := key(thread, ns)
		for snap, err := range s.History(p.Context(), k, checkpoint.Query{}) {
			p.done("the history can be read", err)
			rec, err := checkpoint.ReadRecord(snap)
			p.done("a record can be read", err)
			entries, err := checkpoint.ReadPending(snap)
			p.done("entries can be read", err)
			text, _ := json.Marshal(rec)
			fmt.Fprintf(&b, "%q %d %q %q %s %s\n%s\n", ns, snap.Seq, snap.ID, snap.Labels, text, showAll(entries), p.state(s, k, snap.Seq))
		}
	}
	return b.String()
}

func chainValues(p *probe) {
	k := key("thread")
	s := p.scribe(k)
	big := int64(1)<<53 + 1
	s.step(func(j *journal) {
		j.Title.Set("é \x00 <&> \u2028 🧵")
		j.Count.Add(big)
		j.Log.Append("", "two")
		j.Index.Put("", 0)
		j.Index.Put("a\"b", -1)
	})
	want := `{"title":"é \u0000 \u003c\u0026\u003e \u2028 🧵","count":9007199254740993,"log":["","two"],"index":{"":0,"a\"b":-1}}`
	var compact bytes.Buffer
	p.done("the state is JSON", json.Compact(&compact, []byte(want)))
	p.same("values come back as they were, in their types", p.state(p.store, k, 0), compact.String())
	again := p.scribe(k)
	p.same("a chain that is opened again has the values", fmt.Sprint(again.view.State.(*journal).Count.Get()), fmt.Sprint(big))
	_, err := p.store.Load(p.Context(), key("other"), 0)
	p.fails("an unknown thread is not found", err, checkpoint.ErrNotFound)
	empty := p.scribe(key("other"))
	p.same("an unknown thread is an empty chain", fmt.Sprint(empty.chain.Head(), empty.chain.Record), "0 <nil>")
}

func chainVersions(p *probe) {
	k := key("thread")
	s := p.scribe(k)
	s.step(func(j *journal) { j.Title.Set("a"); j.Log.Append("1") })
	s.step(func(j *journal) { j.Log.Append("2") })
	s.step(func(j *journal) { j.Title.Set("b"); j.Index.Put("new", 1) })
	s.step(func(j *journal) { j.Title.Clear(); j.Count.Add(1) })
	base := func(seq uint64, field string) uint64 {
		rec, err := checkpoint.ReadRecord(p.load(k, seq))
		p.done("a record can be read", err)
		for _, f := range rec.Fields {
			if f.Name == field {
				return f.Base
			}
		}
		return 0
	}
	for seq, want := range map[uint64]uint64{1: 1, 2: 1, 3: 3} {
		p.same("a field that a step did not change keeps the version that it had", base(seq, "title"), want)
	}
	p.same("a log keeps its base", base(2, "log"), 1)
	p.same("an older commit keeps its old values", p.state(p.store, k, 2), `{"title":"a","count":0,"log":["1","2"],"index":{}}`)
	p.same("a field may appear later", p.state(p.store, k, 3), `{"title":"b","count":0,"log":["1","2"],"index":{"new":1}}`)
	p.same("a value that was cleared is not there any more", strings.Contains(p.state(p.store, k, 4), `"b"`), false)
	p.same("and is there in the commit before", strings.Contains(p.state(p.store, k, 3), `"b"`), true)
}

func chainRecord(p *probe) {
	k := key("thread")
	s := p.scribe(k)
	s.at = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	s.next = []checkpoint.Task{{ID: "1", Node: "n"}, {ID: "2", Node: "m", Send: true, Payload: json.RawMessage(`{"x":[1,2.5,null]}`)}}
	want := s.record()
	want.Waiting, want.Input = []string{"w"}, "input"
	want.Ran = []checkpoint.Ran{{Node: "r", Wrote: []string{"log"}, Ways: []checkpoint.Way{{To: "x", Send: true, Branch: 1, Why: "because"}}}}
	want.Joins = []checkpoint.Join{{Target: "t", Sources: []string{"a", "b"}, Arrived: []string{"a"}}}
	want.Answered = []checkpoint.Answered{{ID: "q", Answer: "h"}}
	p.done("a record is stored", s.chain.Commit(p.Context(), "1", want, s.view, make([]bool, 4)))
	p.done("entries are stored", s.chain.Put(p.Context(), []checkpoint.Entry{entry("1", "result", `{"a":1}`), entry("2", "error", `"broken"`), entry("2", "last", `[true]`)}))
	again := p.scribe(k)
	p.same("a record comes back as it was", asJSON(again.chain.Record), asJSON(want))
	p.same("entries come back as they were", showAll(again.chain.Pending), showAll([]checkpoint.Entry{entry("1", "result", `{"a":1}`), entry("2", "error", `"broken"`), entry("2", "last", `[true]`)}))
	again.steps(2)
	var steps []int
	for _, snap := range p.history(k, checkpoint.Query{}) {
		rec, err := checkpoint.ReadRecord(snap)
		p.done("records can be read in the history", err)
		steps = append(steps, rec.Step)
	}
	p.same("each commit has its own record, and its parent is the one before", fmt.Sprint(steps), "[3 2 1]")
	for _, c := range []struct {
		where labels
		want  []uint64
	}{
		{labels{"source": "step", "run": "run 1"}, down(3, 1)},
		{labels{"step": "2"}, down(2, 2)},
		{labels{"user": "ann", "step": "3", "graph": "g"}, down(3, 3)},
		{labels{"user": "bob"}, nil},
	} {
		p.same("commits are found by what their records say, metadata too", seqs(p.history(k, checkpoint.Query{Where: c.where})), c.want)
	}
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// chainDelta reads logs at each step: base first, then the chunks in order.
func chainDelta(p *probe) {
	const n = 300 // past the 256 chunks after which a field may get a new base
	k := key("thread")
	s := p.scribe(k)
	for i := range n {
		s.step(func(j *journal) {
			j.Log.Append(fmt.Sprint(i))
			if i%7 == 0 {
				j.Index.Put(fmt.Sprint(i%4), i)
			}
		})
	}
	p.done("entries are stored", s.chain.Put(p.Context(), []checkpoint.Entry{entry("t", "result", `{"log":["late"]}`)}))
	var log []string
	index := map[string]int{}
	for i := range n {
		log = append(log, fmt.Sprint(i))
		if i%7 == 0 {
			index[fmt.Sprint(i%4)] = i
		}
		if i%13 == 0 || i > n-5 {
			want := fmt.Sprintf(`{"count":0,"log":%s,"index":%s}`, asJSON(log), asJSON(index))
			p.same("a log is its base and then each step's addition, in order; pending writes are no part of it", p.state(p.store, k, uint64(i)+1), want)
		}
	}
	for _, f := range s.chain.Record.Fields {
		if f.Name == "title" || f.Name == "count" {
			p.same("a field that was never written has no chunks", f.Chunks, 0)
		}
	}
}

// chainSeed goes on with a value that was stored whole before its field became a list
// that is stored step by step.
func chainSeed(p *probe) {
	type before struct {
		Log state.Latest[[]string] `json:"log"`
	}
	k := key("thread")
	old, err := state.SchemaOf[before]()
	p.done("the older type is a state", err)
	chain, err := checkpoint.Open(p.Context(), p.store, k, old)
	p.done("a chain can be opened", err)
	v := old.Blank()
	v.State.(*before).Log.Set([]string{"1", "2"})
	p.done("a value is stored whole", chain.Commit(p.Context(), "1", &checkpoint.Record{}, v, []bool{true}))

	s := p.scribe(k)
	s.step(func(j *journal) { j.Log.Append("3") })
	s.step(func(j *journal) { j.Log.Append("4") })
	p.same("a value that was stored whole is the base of a log", p.state(p.store, k, 0), `{"count":0,"log":["1","2","3","4"],"index":{}}`)
	p.same("an older commit stays as it was", p.state(p.store, k, 1), `{"count":0,"log":["1","2"],"index":{}}`)
}

// holdThread holds a thread and works on it.
func holdThread(p *probe) {
	k := key("thread")
	h, err := checkpoint.Hold(p.Context(), p.store, "thread", checkpoint.HoldOptions{TTL: time.Minute, Owner: "ann"})
	p.done("a free thread can be held", err)
	p.commit(with(h.Fence(), step(k, 1)))
	_, err = checkpoint.Hold(p.Context(), p.store, "thread", checkpoint.HoldOptions{TTL: time.Minute})
	p.fails("a thread that is held is busy", err, checkpoint.ErrOwned)
	p.fails("who does not hold the thread writes nothing", p.store.Commit(p.Context(), step(k, 2)), checkpoint.ErrFenced)
	other, err := checkpoint.Hold(p.Context(), p.store, "thread", checkpoint.HoldOptions{TTL: time.Minute, Policy: checkpoint.TakeOver})
	p.done("a thread can be taken over", err)
	p.fails("who lost the thread writes nothing", p.store.Commit(p.Context(), with(h.Fence(), step(k, 2))), checkpoint.ErrFenced)
	p.done("who lost the thread can release it", h.Release(p.Context()))
	p.commit(with(other.Fence(), step(k, 2)))
	p.done("a thread can be released", other.Release(p.Context()))
	p.commit(step(k, 3))
}

// damage flips each bit of each stored value, or with -short one of seven, cuts it everywhere, and
// removes it.
func damage(p *probe) {
	k := key("thread")
	s := p.scribe(k)
	s.step(func(j *journal) { j.Title.Set("t"); j.Log.Append("1") })
	s.step(func(j *journal) { j.Log.Append("2"); j.Index.Put("k", 1) })
	snap := p.load(k, 2)
	want := p.state(p.store, k, 2)
	for _, b := range snap.Blobs {
		whole := bytes.Clone(b.Data)
		var broken [][]byte
		for i := 0; i < len(whole)*8; i += unlessShort(1, 7) {
			flipped := bytes.Clone(whole)
			flipped[i/8] ^= 1 << (i % 8)
			broken = append(broken, flipped)
		}
		for n := range whole {
			broken = append(broken, whole[:n])
		}
		broken = append(broken, append(bytes.Clone(whole), 0))
		for _, data := range slices.Concat(broken, [][]byte{nil}) {
			p.done("a test can damage the store", p.store.(Damager).Damage(k, b, func([]byte) []byte { return data }))
			_, err := checkpoint.Open(p.Context(), p.store, k, journals())
			p.fails("damaged bytes are damage, never other values", err, checkpoint.ErrCorrupt)
			if data == nil {
				break
			}
		}
		p.done("a test can repair the store", p.store.(Damager).Damage(k, b, func([]byte) []byte { return whole }))
		p.same("what was repaired is whole", p.state(p.store, k, 2), want)
	}
}
