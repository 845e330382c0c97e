package graph

import (
	"context"
	"fmt"
	"slices"
)

// Draw returns the graph as data. Subgraphs are opened down to this depth: 0 shows each
// as one node.
func (g *Graph[S]) Draw(depth int) Drawing { return g.p.draw(depth, "") }

// draw makes the drawing of p, whose ids begin with prefix. It is empty if p is nil.
func (p *program) draw(depth int, prefix string) Drawing {
	if p == nil {
		return Drawing{}
	}
	d := Drawing{Graph: p.name}
	id := func(n int) string {
		switch {
		case n == end:
			return prefix + "stop"
		case p.nodes[n].name == Start:
			return prefix + "start"
		}
		return fmt.Sprintf("%sn%d", prefix, n)
	}
	d.Nodes = append(d.Nodes, DrawnNode{ID: prefix + "start", Name: Start, Kind: "start"})
	for i := range p.nodes {
		if p.nodes[i].name != Start {
			d.Nodes = append(d.Nodes, p.drawNode(i, id(i), depth))
		}
	}
	d.Nodes = append(d.Nodes, DrawnNode{ID: id(end), Name: End, Kind: "end"})
	for _, n := range p.shape.Start {
		if p.nodes[n].name != Start {
			d.add(prefix+"start", id(n), "edge")
		}
	}
	for i := range p.nodes {
		p.drawWays(&d, i, id)
	}
	return d
}

func (p *program) drawNode(i int, id string, depth int) DrawnNode {
	n := &p.nodes[i]
	drawn := DrawnNode{ID: id, Name: n.name, Kind: "node", Deferred: p.shape.Nodes[i].Deferred}
	switch {
	case n.payload != nil:
		drawn.Kind = "worker"
	case n.child != nil:
		drawn.Kind = "graph"
	case len(n.branches) > 0 || len(n.targets) > 0:
		drawn.Kind = "router"
	}
	switch {
	case n.before && n.after:
		drawn.Pauses = "both"
	case n.before:
		drawn.Pauses = "before"
	case n.after:
		drawn.Pauses = "after"
	}
	if n.child != nil && depth > 0 {
		inside := n.child.draw(depth-1, id+"_")
		drawn.Inside = &inside
	}
	return drawn
}

// drawWays adds the ways that lead from node i.
func (p *program) drawWays(d *Drawing, i int, id func(int) string) {
	n := &p.nodes[i]
	for _, to := range p.shape.Nodes[i].Next {
		d.add(id(i), id(to), "edge")
	}
	if n.ends {
		d.add(id(i), id(end), "edge")
	}
	for _, to := range n.choices() {
		d.add(id(i), id(to), "choice")
		d.Edges[len(d.Edges)-1].Label = p.choiceLabels[choiceEdge{i, to}]
	}
	for _, j := range p.shape.Nodes[i].Feeds {
		d.add(id(i), id(p.shape.Joins[j].Target), "join")
	}
	if n.onError != nil {
		for _, t := range n.onError.targets {
			d.add(id(i), id(t.node), edgeHandler)
			if !slices.Contains(n.choices(), t.node) { // else the label is that of the choice
				d.Edges[len(d.Edges)-1].Label = p.choiceLabels[choiceEdge{i, t.node}]
			}
		}
	}
}

// choices lists where the Commands of n may go, in the order of their declaration,
// once each.
func (n *node) choices() (all []int) {
	add := func(ts targets) {
		for _, t := range ts {
			if !slices.Contains(all, t.node) {
				all = append(all, t.node)
			}
		}
	}
	add(n.targets)
	for _, b := range n.branches {
		add(b.targets)
	}
	if n.leaves && !slices.Contains(all, end) {
		all = append(all, end)
	}
	return all
}

func (d *Drawing) add(from, to, kind string) {
	d.Edges = append(d.Edges, DrawnEdge{From: from, To: to, Kind: kind})
}

// Draw returns the graph with what the thread has done in its newest turn, up to one of its
// commits or, if at is 0, to the newest: which nodes ran how often, which choices were taken, and
// what is due. Subgraphs are opened down to depth, as by [Graph.Draw], with what they have done in
// that turn.
func (t StoredThread[S]) Draw(ctx context.Context, at uint64, depth int) (Drawing, error) {
	return t.stored.draw(ctx, at, depth)
}

func (t programThread) draw(ctx context.Context, at uint64, depth int) (Drawing, error) {
	if err := t.p.compiled(); err != nil {
		return Drawing{}, err
	}
	store, err := t.p.requireStore()
	if err != nil {
		return t.p.draw(depth, ""), err
	}
	turn, err := Turn(ctx, store, t.key.Thread, at, 0)
	if err != nil {
		return t.p.draw(depth, ""), err
	}
	return t.drawTurn(ctx, turn, depth)
}

// DrawTurn is like Draw, for commits that [Turn] returned. Of a turn that was cut it counts what
// these commits did.
func (t StoredThread[S]) DrawTurn(ctx context.Context, turn []CommitInfo, depth int) (Drawing, error) {
	return t.stored.drawTurn(ctx, turn, depth)
}

func (t programThread) drawTurn(ctx context.Context, turn []CommitInfo, depth int) (Drawing, error) {
	if err := t.p.compiled(); err != nil {
		return Drawing{}, err
	}
	d := t.p.draw(depth, "")
	was := d.markTurn(turn)
	if depth <= 0 || len(turn) == 0 {
		return d, nil
	}
	store, err := t.p.requireStore()
	if err != nil {
		return d, err
	}
	return d, d.markInside(ctx, store, turn[0], was)
}
