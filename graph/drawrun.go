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
	due   checkpoint.Position // the step that came after, if nothing did yet
}

// markRoot marks what the thread itself has done, and notes in was what that is.
func (d *Drawing) markRoot(ctx context.Context, store checkpoint.Store, thread string, at uint64, was *walked) error {
	var q checkpoint.Query
	if at != 0 {
		q.Before = at + 1
	}
	next := uint64(0) // the commit that the ones after it go on from
	for p, err := range History(ctx, store, checkpoint.Key{Thread: thread}, q) {
		if err != nil {
			return err
		}
		switch {
		case was.turn == 0:
			if at != 0 && p.Checkpoint != at {
				return unknown(checkpoint.Key{Thread: thread}, at)
			}
			was.turn = p.Turn
			if at == 0 {
				was.due = checkpoint.Position{Branch: p.Branch, Turn: p.Turn, Step: p.Step + 1}
			}
			d.markDue(p.Next)
		case p.Checkpoint > next:
			continue // on another branch
		}
		if p.Turn != was.turn {
			break
		}
		next = p.parent()
		was.steps[p.Branch] = max(was.steps[p.Branch], p.Step)
		d.markRan(p)
	}
	if was.turn == 0 {
		return unknown(checkpoint.Key{Thread: thread}, at)
	}
	return nil
}

// over reports whether a subgraph's turn that was begun there belongs to the turn.
func (w walked) over(at checkpoint.Position) bool {
	last, ok := w.steps[at.Branch]
	return at == w.due || ok && at.Turn == w.turn && at.Step <= last
}

// markInside marks what subgraphs have done in the turn.
func (d *Drawing) markInside(ctx context.Context, store checkpoint.Store, thread string, was walked) error {
	spaces, err := Namespaces(ctx, store, thread)
	if err != nil {
		return err
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
