package graph

import (
	"slices"
	"strings"

	"github.com/weftrun/weft/internal/step"
)

func (c *compiler) addEdges() {
	for _, e := range c.edges {
		to, known := c.lookup(e.to)
		switch {
		case e.to == Start:
			c.fail(e.pos, "an edge from %q leads to Start; nothing can", e.from)
			continue
		case !known:
			c.fail(e.pos, "an edge from %q leads to %q, which is not a node%s", e.from, e.to, c.suggest(e.to))
		case to != end && c.p.nodes[to].payload != nil:
			c.fail(e.pos, "an edge from %q leads to %q, a Worker; only a Send gives it its payload", e.from, e.to)
		}
		if e.from == Start {
			switch {
			case to == end && known:
				if c.entry >= 0 {
					c.p.nodes[c.entry].ends = true
				}
				c.fail(e.pos, "an edge leads from Start to End; there is nothing to run")
			case !known:
			case c.entry >= 0:
				c.p.shape.Nodes[c.entry].Next = insert(c.p.shape.Nodes[c.entry].Next, to)
			default:
				c.p.shape.Start = insert(c.p.shape.Start, to)
			}
			continue
		}
		from, ok := c.source(e.pos, "an edge", e.from)
		switch {
		case !ok || !known:
		case to == end:
			c.p.nodes[from].ends = true
		default:
			c.p.shape.Nodes[from].Next = insert(c.p.shape.Nodes[from].Next, to)
		}
	}
}

// insert adds n to a sorted set of node numbers.
func insert(set []int, n int) []int {
	at, found := slices.BinarySearch(set, n)
	if found {
		return set
	}
	return slices.Insert(set, at, n)
}

// source returns the number of the node that an edge, a branch or a join leads from. A mistake
// begins with what.
func (c *compiler) source(pos place, what, name string) (n int, ok bool) {
	switch name {
	case End:
		c.fail(pos, "%s leads from End; nothing follows it", what)
		return 0, false
	case Start:
		c.fail(pos, "%s leads from Start; only an edge and a branch can", what)
		return 0, false
	}
	if n, ok = c.index[name]; !ok {
		c.fail(pos, "%s leads from %q, which is not a node%s", what, name, c.suggest(name))
	}
	return n, ok
}

func (c *compiler) addBranches() {
	for _, b := range c.branches {
		if len(b.targets) == 0 {
			c.fail(b.pos, "a branch from %q declares no targets", b.from)
		}
		from, ok := c.entry, true
		if b.from != Start {
			from, ok = c.source(b.pos, "a branch", b.from)
		}
		ts := c.resolve(b.pos, "a branch from ", b.from, b.targets)
		if ok {
			c.markLeaves(from, b.targets)
			c.p.nodes[from].branches = append(c.p.nodes[from].branches, branch{b.call, ts})
		}
	}
}

func (c *compiler) addJoins() {
	into := map[int][]int{} // node number → the joins that lead to it
	for _, j := range c.joins {
		to, known := c.index[j.to]
		switch {
		case !known:
			c.fail(j.pos, "a join leads to %q, which is not a node%s", j.to, c.suggest(j.to))
		case c.p.nodes[to].payload != nil:
			c.fail(j.pos, "a join leads to %q, a Worker; only a Send gives it its payload", j.to)
		}
		if len(j.from) == 0 {
			c.fail(j.pos, "the join into %q waits for nothing", j.to)
		}
		var sources []int
		for _, name := range j.from {
			if from, ok := c.source(j.pos, "the join into "+quote(j.to), name); ok {
				sources = insert(sources, from)
			}
		}
		if !known {
			continue
		}
		if slices.ContainsFunc(into[to], func(o int) bool { return slices.Equal(c.p.shape.Joins[o].Sources, sources) }) {
			continue // declared twice, like an edge
		}
		into[to] = append(into[to], len(c.p.shape.Joins))
		for _, s := range sources {
			c.p.shape.Nodes[s].Feeds = append(c.p.shape.Nodes[s].Feeds, len(c.p.shape.Joins))
		}
		c.p.shape.Joins = append(c.p.shape.Joins, step.Join{Target: to, Sources: sources})
	}
}

func (c *compiler) addDefers() {
	for _, d := range c.defers {
		if n, ok := c.index[d.name]; ok {
			c.p.shape.Nodes[n].Deferred = true
		} else {
			c.fail(d.pos, "%q is deferred, but is not a node%s", d.name, c.suggest(d.name))
		}
	}
}

// addHandlers gives the nodes their handlers, those for all nodes last.
func (c *compiler) addHandlers() {
	given := map[string]place{} // the node, or "*" → where
	for _, d := range c.handlers {
		n, ok := c.index[d.node]
		if first, dup := given[d.node]; dup {
			c.fail(d.pos, "node %q already has a handler, of %s", d.node, first)
			continue
		}
		given[d.node] = d.pos
		all := d.node == "*"
		if d.call == nil {
			c.fail(d.pos, "the handler of %q has no function", d.node)
		}
		if !ok && !all {
			c.fail(d.pos, "%q has a handler, but is not a node%s", d.node, c.suggest(d.node))
		}
		switch {
		case d.call == nil || !ok && !all:
			c.resolve(d.pos, "the handler of ", d.node, d.targets) // for its mistakes
		case all:
			defer c.handleAll(d)
		default:
			c.markLeaves(n, d.targets)
			c.p.nodes[n].onError = c.handler(d)
		}
	}
}

// handleAll gives a handler to all nodes that have none.
func (c *compiler) handleAll(d handlerDraft) {
	h := c.handler(d)
	for i := range c.p.nodes {
		if n := &c.p.nodes[i]; n.onError == nil && i != c.entry {
			c.markLeaves(i, d.targets)
			n.onError = h
		}
	}
}

func (c *compiler) handler(d handlerDraft) *job {
	j := c.job("the handler of ", d.node, &d.nodeDraft)
	j.targets = c.resolve(d.pos, "the handler of ", d.node, d.targets)
	return &j
}

// markLeaves notes that node n may leave the graph if Parent is one of its targets, or of those of
// its handler or a branch.
func (c *compiler) markLeaves(n int, names []string) {
	c.p.nodes[n].leaves = c.p.nodes[n].leaves || slices.Contains(names, Parent)
}

// resolve turns names into targets, without Parent, which is no node of the graph. Mistakes name
// the part that has them by kind and name.
func (c *compiler) resolve(pos place, kind, name string, targetNames []string) targets {
	var ts targets
	seen := make(map[string]bool, len(targetNames))
	for _, to := range targetNames {
		n, ok := c.lookup(to)
		switch {
		case to == Parent:
		case to == Start:
			c.fail(pos, "%s goes to Start; nothing can", kind+quote(name))
		case !ok:
			c.fail(pos, "%s goes to %q, which is not a node%s", kind+quote(name), to, c.suggest(to))
		case !seen[to]:
			seen[to] = true
			ts = append(ts, target{to, n})
		}
	}
	return ts
}

// addLabels gives the choices their labels.
func (c *compiler) addLabels() {
	for _, l := range c.labels {
		from, ok := c.index[l.from]
		if l.from == Start && c.entry >= 0 {
			from, ok = c.entry, true
		}
		to, known := c.lookup(l.to)
		text := strings.Join(strings.Fields(l.when), " ")
		switch {
		case !ok || !known || !c.p.nodes[from].mayChoose(to):
			c.fail(l.pos, "a label names the choice from %q to %q, which does not exist", l.from, l.to)
			continue
		case text == "":
			c.fail(l.pos, "the label of the choice from %q to %q is empty", l.from, l.to)
			continue
		}
		if c.p.choiceLabels == nil {
			c.p.choiceLabels = map[choiceEdge]string{}
		}
		at := choiceEdge{from, to}
		if first := c.p.choiceLabels[at]; first == "" {
			c.p.choiceLabels[at] = text
		} else if !strings.Contains(" or "+first+" or ", " or "+text+" or ") {
			c.p.choiceLabels[at] = first + " or " + text
		}
	}
}

// mayChoose reports whether a Command of n, of a branch or of its handler may name a node.
func (n *node) mayChoose(to int) bool {
	leads := func(ts targets) bool { return slices.ContainsFunc(ts, func(t target) bool { return t.node == to }) }
	for _, b := range n.branches {
		if leads(b.targets) {
			return true
		}
	}
	return leads(n.targets) || n.leaves && to == end || n.onError != nil && leads(n.onError.targets)
}
