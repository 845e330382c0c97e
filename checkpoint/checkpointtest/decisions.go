package checkpointtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weftrun/weft/checkpoint"
)

// decided returns the decisions of a thread, as text.
func (p *probe) decided(thread string) string {
	p.Helper()
	snap, err := p.store.Load(p.Context(), checkpoint.Key{Thread: thread}, 0)
	p.done("a thread is loaded", err)
	all, err := checkpoint.Decisions(snap)
	p.done("its decisions are read", err)
	return strings.Trim(fmt.Sprintf("%s", all), "[]")
}

// Decisions are pending writes until the next commit moves them into the list of the root.
// Pruning, branches, copies and exported files keep them.
func decisions(p *probe) {
	k := checkpoint.Key{Thread: "t"}
	s := p.scribe(k)
	want := ""
	check := func(when string, thread string) {
		p.Helper()
		if got := p.decided(thread); got != strings.TrimSpace(want) {
			p.Errorf("rule: decisions stay with the thread\n%s: got %s, want %s", when, got, want)
		}
	}
	for i := range 3 {
		s.step(func(j *journal) { j.Count.Add(1) })
		e := checkpoint.Entry{Slot: fmt.Sprint(checkpoint.SlotDecision, "q", i), Keep: true, Data: fmt.Appendf(nil, "%d", i)}
		for range 2 { // a repeated call changes nothing
			p.done("a decision is put", s.chain.Put(p.Context(), []checkpoint.Entry{e}))
		}
		s.chain.Pending = []checkpoint.Entry{e}
		want += fmt.Sprint(i, " ")
		check("pending", "t")
	}
	s.chain.Decide(json.RawMessage(`"edit"`))
	s.step(func(j *journal) { j.Log.Append("x") })
	want = `"edit" 2 `
	want = `0 1 ` + want
	check("in the list", "t")
	branch, err := checkpoint.OpenAt(p.Context(), p.store, k, journals(), 1)
	p.done("an older commit is opened", err)
	branch.Decide(json.RawMessage(`"branch"`))
	rec := s.record()
	p.done("a branch is committed", branch.Commit(p.Context(), "branch", rec, branch.State, make([]bool, 4)))
	want += `"branch"`
	check("on a branch", "t")
	if _, drops := p.store.(checkpoint.Dropper); drops {
		p.done("the thread is pruned", checkpoint.Prune(p.Context(), p.store, "t", checkpoint.Keep{Last: 1}))
		check("after pruning", "t")
	}
	p.done("the thread is copied", checkpoint.Copy(p.Context(), p.store, "t", p.store, "copy"))
	check("in the copy", "copy")
	var file bytes.Buffer
	p.done("the thread is exported", checkpoint.Export(p.Context(), p.store, "t", &file))
	p.done("the file is imported", checkpoint.Import(p.Context(), p.store, "back", &file))
	check("in the imported thread", "back")
	p.done("the thread is sealed anew", checkpoint.Reseal(p.Context(), p.store, "back", ""))
	check("sealed anew", "back")
}
