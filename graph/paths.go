package graph

import (
	"slices"

	"github.com/weftrun/weft/internal/suggest"
)

// checkPaths finds what no run could use: a graph without an entry, nodes that
// nothing leads to, and nodes that lead nowhere.
func (c *compiler) checkPaths() {
	ahead := make([][]int, len(c.p.nodes))    // node → where it can lead; end included
	all := make([]int, 0, 2*len(c.p.nodes)+1) // the elements of ahead
	for i := range c.p.nodes {
		n, s := &c.p.nodes[i], &c.p.shape.Nodes[i]
		first := len(all)
		all = append(all, s.Next...)
		if n.ends {
			all = append(all, end)
		}
		n.mustGo = len(all) == first && len(s.Feeds) == 0
		n.straight = !n.mustGo && len(n.branches) == 0
		all = n.targets.appendTo(all)
		if n.onError != nil {
			all = n.onError.targets.appendTo(all)
		}
		for _, b := range n.branches {
			all = b.targets.appendTo(all)
		}
		if n.leaves {
			all = append(all, end)
		}
		for _, j := range s.Feeds {
			all = append(all, c.p.shape.Joins[j].Target)
		}
		ahead[i] = all[first:len(all):len(all)]
	}
	if len(c.p.shape.Start) == 0 {
		c.fail(c.draft.pos, "the graph has no entry: add an edge from Start")
	} else {
		c.checkReached(ahead)
	}
	c.checkEnds(ahead)
}

// appendTo appends the nodes of the targets to all.
func (ts targets) appendTo(all []int) []int {
	for _, t := range ts {
		all = append(all, t.node)
	}
	return all
}

// checkReached reports the nodes that no path from Start leads to.
func (c *compiler) checkReached(ahead [][]int) {
	reached := make([]bool, len(ahead))
	stack := slices.Clone(c.p.shape.Start)
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if n == end || reached[n] {
			continue
		}
		reached[n] = true
		stack = append(stack, ahead[n]...)
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
	behind := sources(ahead)
	ends := make([]bool, len(ahead))
	queue := make([]int, 0, len(ahead)) // nodes that lead to End, and whose sources were not looked at yet
	mark := func(n int) {
		if !ends[n] {
			ends[n] = true
			queue = append(queue, n)
		}
	}
	for i, next := range ahead {
		if slices.Contains(next, end) {
			mark(i)
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

// sources returns for each node those that lead to it.
func sources(ahead [][]int) [][]int {
	counts, total := make([]int, len(ahead)), 0
	for _, next := range ahead {
		for _, to := range next {
			if to != end {
				counts[to]++
				total++
			}
		}
	}
	behind, all := make([][]int, len(ahead)), make([]int, total)
	for i, n := range counts {
		behind[i], all = all[:0:n], all[n:]
	}
	for i, next := range ahead {
		for _, to := range next {
			if to != end {
				behind[to] = append(behind[to], i)
			}
		}
	}
	return behind
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

func (c *compiler) handlerPlace(node string) (pos place) {
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
