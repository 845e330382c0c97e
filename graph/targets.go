package graph

import (
	"slices"
	"strings"
)

// targets are the places a Command may go to, by name. There are few, so a scan
// is faster than a map.
type targets []target

type target struct {
	name string
	node int // end for End
}

const end = -1

func (ts targets) find(name string) (node int, ok bool) {
	for i := range ts {
		if ts[i].name == name {
			return ts[i].node, true
		}
	}
	return 0, false
}

func (ts targets) String() string {
	names := make([]string, len(ts))
	for i, t := range ts {
		names[i] = t.name
	}
	return strings.Join(names, ", ")
}

// withoutParent returns the targets of node n, or of its handler or a branch, without Parent, and
// notes whether that was one of them.
func (c *compiler) withoutParent(n int, names []string) []string {
	if !slices.Contains(names, Parent) {
		return names
	}
	c.p.nodes[n].leaves = true
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == Parent })
}

// resolve turns names into targets.
func (c *compiler) resolve(pos, who string, names []string) targets {
	var ts targets
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		n, ok := c.lookup(name)
		switch {
		case name == Start:
			c.fail(pos, "%s goes to Start; nothing can", who)
		case !ok:
			c.fail(pos, "%s goes to %q, which is not a node%s", who, name, c.suggest(name))
		case !seen[name]:
			seen[name] = true
			ts = append(ts, target{name, n})
		}
	}
	return ts
}
