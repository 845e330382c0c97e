package graph

import (
	"slices"

	"github.com/weftrun/weft/internal/suggest"
)

// checkPaths finds what no run could use: a graph without an entry, nodes that
// nothing leads to, and nodes that lead nowhere.
func (c *compiler) checkPaths() {
	ahead := make([][]int, len(c.p.nodes)) // node → where it can lead; end included
	for _, e := range c.edges {
		c.link(ahead, e.from, e.to)
	}
	for i := range c.p.nodes {
		n := &c.p.nodes[i]
		n.mustGo = len(ahead[i]) == 0 && len(c.p.shape.Nodes[i].Feeds) == 0
		n.straight = !n.mustGo && len(n.branches) == 0
		for _, t := range n.targets {
			ahead[i] = append(ahead[i], t.node)
		}
		if n.onError != nil {
			for _, t := range n.onError.targets {
				ahead[i] = append(ahead[i], t.node)
			}
		}
		for _, b := range n.branches {
			for _, t := range b.targets {
				ahead[i] = append(ahead[i], t.node)
			}
		}
		if n.leaves {
			ahead[i] = append(ahead[i], end)
		}
		for _, j := range c.p.shape.Nodes[i].Feeds {
			ahead[i] = append(ahead[i], c.p.shape.Joins[j].Target)
		}
	}
	if len(c.p.shape.Start) == 0 {
		c.fail(c.draft.pos, "the graph has no entry: add an edge from Start")
	} else {
		c.checkReached(ahead)
	}
	c.checkEnds(ahead)
}

func (c *compiler) link(ahead [][]int, from, to string) {
	f, okFrom := c.index[from]
	if from == Start && c.entry >= 0 {
		f, okFrom = c.entry, true
	}
	t, okTo := c.lookup(to)
	if okFrom && okTo {
		ahead[f] = append(ahead[f], t)
	}
}

// checkReached reports the nodes that no path from Start leads to.
func (c *compiler) checkReached(ahead [][]int) {
	reached := make([]bool, len(ahead))
	queue := slices.Clone(c.p.shape.Start)
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if n == end || reached[n] {
			continue
		}
		reached[n] = true
		queue = append(queue, ahead[n]...)
	}
	for i, ok := range reached {
		if !ok {
			c.failAs(MistakeUnreachable, c.places[i], "node %q is unreachable: no path from Start leads to it", c.p.nodes[i].name)
		}
	}
}

// checkEnds reports the nodes from which no path leads to End. It searches backwards from End,
// so it looks at each edge once.
func (c *compiler) checkEnds(ahead [][]int) {
	behind := make([][]int, len(ahead)) // node → the nodes that lead to it
	ends := make([]bool, len(ahead))
	var queue []int // nodes that lead to End, and whose sources were not looked at yet
	mark := func(n int) {
		if !ends[n] {
			ends[n] = true
			queue = append(queue, n)
		}
	}
	for i, next := range ahead {
		for _, to := range next {
			if to == end {
				mark(i)
			} else {
				behind[to] = append(behind[to], i)
			}
		}
	}
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, from := range behind[n] {
			mark(from)
		}
	}
	for i, ok := range ends {
		switch {
		case ok:
		case len(ahead[i]) == 0:
			c.failAs(MistakeDeadEnd, c.places[i], "node %q is a dead end: nothing follows it; add an edge to End", c.p.nodes[i].name)
		default:
			c.failAs(MistakeDeadEnd, c.places[i], "node %q is a dead end: no path from it leads to End", c.p.nodes[i].name)
		}
	}
}

// suggest returns a hint at the node that an unknown name may have meant.
func (c *compiler) suggest(name string) string {
	known := make([]string, len(c.p.nodes))
	for i, n := range c.p.nodes {
		known[i] = n.name
	}
	return hint(name, known)
}

// hint returns a hint at the known name that an unknown one may have meant.
func hint(name string, known []string) string {
	if best := suggest.Nearest(name, known); best != "" {
		return "; did you mean " + quote(best) + "?"
	}
	return ""
}

// checkRescues reports the handlers that could only fail: their node has no way on, and
// they declare none.
func (c *compiler) checkRescues() {
	for _, n := range c.p.nodes {
		if n.onError != nil && n.mustGo && len(n.branches) == 0 && len(n.onError.targets) == 0 && !n.leaves {
			c.fail(c.handlerPlace(n.name), "the handler of node %q declares no targets, and no edge leads on from the node", n.name)
		}
	}
}

func (c *compiler) handlerPlace(node string) (pos string) {
	for _, d := range c.handlers {
		if d.node == node {
			return d.pos
		}
		if d.node == "*" {
			pos = d.pos
		}
	}
	return pos
}
