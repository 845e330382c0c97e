package graph

import (
	"context"
	"strings"

	"github.com/weftrun/weft/checkpoint"
)

// walked is a turn of a thread, up to one of its commits.
type walked struct {
	turn  int
	steps map[uint64]int      // the last step on each branch that it came over
	first checkpoint.Position // the step of the oldest commit
	due   checkpoint.Position // the step that came after, if nothing did yet
}

// markTurn marks what the commits of a turn have done, and returns what they are.
func (d *Drawing) markTurn(turn []CommitInfo) walked {
	was := walked{steps: map[uint64]int{}}
	if len(turn) == 0 {
		return was
	}
	newest, oldest := turn[0], turn[len(turn)-1]
	was.turn = newest.Turn
	was.first = checkpoint.Position{Branch: oldest.Branch, Turn: oldest.Turn, Step: oldest.Step}
	d.markDue(newest.Next)
	for _, p := range turn {
		was.steps[p.Branch] = max(was.steps[p.Branch], p.Step)
		d.markRan(p)
	}
	return was
}

// over reports whether a subgraph's turn that was begun there belongs to the turn.
func (w walked) over(at checkpoint.Position) bool {
	last, ok := w.steps[at.Branch]
	return at == w.due || ok && at.Turn == w.turn && at.Step <= last
}

// before reports whether a subgraph's turn was begun before the turn, and so were all older ones.
func (w walked) before(at checkpoint.Position) bool {
	return at.Branch == w.first.Branch && (at.Turn < w.first.Turn || at.Turn == w.first.Turn && at.Step < w.first.Step)
}

// markInside marks what subgraphs have done in the turn whose newest commit is shown.
func (d *Drawing) markInside(ctx context.Context, store checkpoint.Store, shown CommitInfo, was walked) error {
	thread := shown.Thread
	spaces, err := Namespaces(ctx, store, thread)
	if err != nil || len(spaces) == 0 {
		return err
	}
	head, err := Inspect(ctx, store, checkpoint.Key{Thread: thread})
	if err != nil {
		return err
	}
	if head.Checkpoint == shown.Checkpoint {
		was.due = checkpoint.Position{Branch: head.Branch, Turn: head.Turn, Step: head.Step + 1}
	}
	for _, ns := range spaces {
		child := d.inside(ns)
		if child == nil {
			continue // called from a node's code, or deeper than the drawing
		}
		newest := true
		for snap, err := range store.History(ctx, checkpoint.Key{Thread: thread, Namespace: ns}, checkpoint.Query{}) {
			if err != nil {
				return err
			}
			rec, err := checkpoint.ReadRecord(snap)
			if err != nil {
				return err
			}
			if rec.Within != nil && was.before(rec.Within.Root) {
				break
			}
			if rec.Within == nil || rec.Graph != child.Graph || !was.over(rec.Within.Root) {
				continue
			}
			p := CommitInfo{}
			p.read(rec)
			if newest && rec.Within.Root == was.due {
				child.markDue(p.Next)
			}
			newest = false
			child.markRan(p)
		}
	}
	return nil
}

// inside returns the drawing of the subgraph that keeps its checkpoints in a namespace, or nil.
func (d *Drawing) inside(ns string) *Drawing {
	for part := range strings.SplitSeq(ns, "|") {
		name := part
		if end := strings.IndexAny(part, ":/"); end >= 0 {
			name = part[:end]
		}
		n := d.find(name)
		if n == nil || n.Inside == nil {
			return nil
		}
		d = n.Inside
	}
	return d
}

// find returns the node with this name, or nil.
func (d *Drawing) find(name string) *DrawnNode {
	for i := range d.Nodes {
		if d.Nodes[i].Name == name {
			return &d.Nodes[i]
		}
	}
	return nil
}

func (d *Drawing) markDue(next []string) {
	for _, name := range next {
		if n := d.find(name); n != nil {
			n.Due = true
		}
	}
}

// markRan counts what ran in a commit. Nodes that are gone are left out.
func (d *Drawing) markRan(p CommitInfo) {
	for _, r := range p.Ran {
		from := d.find(r.Node)
		if from == nil {
			continue
		}
		from.Ran++
		for _, w := range r.Ways {
			if to := d.find(w.To); to != nil {
				d.take(from.ID, to.ID, w.Branch == checkpoint.HandlerBranch)
			}
		}
	}
}

// take counts that a choice was taken, by the error handler of the node or else by itself. Records
// of earlier versions do not say which it was: then the edge that there is counts.
func (d *Drawing) take(from, to string, handled bool) {
	other := -1
	for i := range d.Edges {
		switch e := &d.Edges[i]; {
		case e.From != from || e.To != to || e.Kind != "choice" && e.Kind != edgeHandler:
		case handled == (e.Kind == edgeHandler):
			e.Taken++
			return
		default:
			other = i
		}
	}
	if other >= 0 {
		d.Edges[other].Taken++
	}
}
