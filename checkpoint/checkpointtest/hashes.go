package checkpointtest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
)

// The hashes of commits hold through everything that a program does with a thread: branches,
// pruning, deleted runs, resealing, copies and exported files. A thread that has hashes goes on
// with them in a store without WithHashes.
func hashes(p *probe) {
	plain := p.store
	p.store = checkpoint.WithHashes(plain)
	k := checkpoint.Key{Thread: "t"}
	s := p.scribe(k)
	verified := func(when, thread string) *checkpoint.Verified {
		p.Helper()
		v, err := checkpoint.Verify(p.Context(), plain, thread)
		p.done("a thread is verified", err)
		if len(v.Changed) > 0 || len(v.Chains) == 0 || v.Chains[0].Hashed != v.Chains[0].Commits {
			p.Errorf("rule: each commit carries the hash of the one before\n%s: got %+v", when, *v)
		}
		return v
	}
	for i := range 5 {
		s.chain.Decide(fmt.Appendf(nil, `{"question":%d}`, i))
		s.step(func(j *journal) { j.Count.Add(1); j.Log.Append(fmt.Sprint("line <", i, ">")) })
	}
	verified("after steps", "t")

	branch, err := checkpoint.OpenAt(p.Context(), plain, k, journals(), 2)
	p.done("an older commit is opened", err)
	branch.Decide(json.RawMessage(`{"question":"branch"}`))
	rec := s.record()
	rec.Run = "branch"
	p.done("a branch is committed without WithHashes", branch.Commit(p.Context(), "branch", rec, branch.State, make([]bool, 4)))
	v := verified("on a branch", "t")
	p.same("each decision carries the hash of the one before", v.Decisions, 6)
	head := v.Chains[0].Hash

	p.done("the thread is copied", checkpoint.Copy(p.Context(), plain, "t", plain, "copy"))
	p.same("a copy has the same hash", verified("of a copy", "copy").Chains[0].Hash, head)
	var file bytes.Buffer
	p.done("the thread is exported", checkpoint.Export(p.Context(), plain, "t", &file))
	p.done("the file is imported", checkpoint.Import(p.Context(), plain, "imported", &file))
	p.same("an imported thread has the same hash", verified("of an imported thread", "imported").Chains[0].Hash, head)

	p.done("the thread is sealed again", checkpoint.Reseal(p.Context(), plain, "t", ""))
	if !verified("after it was sealed again", "t").Has(head) {
		p.Errorf("rule: the hash of an older commit is still found\n got: none")
	}
	if _, drops := p.store.(checkpoint.Dropper); !drops {
		return
	}
	p.done("a run is deleted", checkpoint.DeleteRuns(p.Context(), plain, "copy", "branch"))
	v = verified("after a run was deleted", "copy")
	p.same("the deleted commit is missing", v.Chains[0].Missing, uint64(1))
	p.done("the thread is pruned", checkpoint.Prune(p.Context(), plain, "t", checkpoint.Keep{Last: 2}))
	v = verified("after pruning", "t")
	p.same("what was pruned is missing, and the hash covers the rest", fmt.Sprint(v.Chains[0].Missing, " ", v.Chains[0].Since), "5 6")
	p.same("pruning keeps the decisions", v.Decisions, 6)
}
