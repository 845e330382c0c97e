package graph

import (
	"slices"
	"strings"
)

// way is two nodes by their numbers, of which the first may lead to the second.
type way struct{ from, to int }

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
		if c.p.wayLabels == nil {
			c.p.wayLabels = map[way]string{}
		}
		at := way{from, to}
		if first := c.p.wayLabels[at]; first != "" && first != text {
			text = first + " or " + text
		}
		c.p.wayLabels[at] = text
	}
}

// mayChoose reports whether a Command of n, of a branch or of its handler may name a node.
func (n *node) mayChoose(to int) bool {
	is := func(t target) bool { return t.node == to }
	return slices.Contains(n.choices(), to) || n.onError != nil && slices.ContainsFunc(n.onError.targets, is)
}
