package picture

import (
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/weftrun/weft/graph"
)

// maxLayouts is how many layouts a Cache holds.
const maxLayouts = 64

// Cache returns the layout of a drawing again without a new computation. What a run has done makes
// no difference. The zero Cache is ready to use, by any number of goroutines.
type Cache struct {
	mu      sync.Mutex
	layouts map[[sha256.Size]byte]*Layout
	order   [][sha256.Size]byte // the oldest first
}

// Layout returns New of the drawing, which must not be changed after.
func (c *Cache) Layout(d graph.Drawing) *Layout {
	d = unmarked(d)
	data, err := json.Marshal(d)
	if err != nil {
		return New(d)
	}
	key := sha256.Sum256(data)
	c.mu.Lock()
	l := c.layouts[key]
	c.mu.Unlock()
	if l != nil {
		return l
	}
	l = New(d)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.layouts == nil {
		c.layouts = map[[sha256.Size]byte]*Layout{}
	}
	if c.layouts[key] == nil {
		c.layouts[key], c.order = l, append(c.order, key)
	}
	if len(c.order) > maxLayouts {
		delete(c.layouts, c.order[0])
		c.order = c.order[1:]
	}
	return l
}

// unmarked returns a copy of a drawing without what a run has done.
func unmarked(d graph.Drawing) graph.Drawing {
	nodes := make([]graph.DrawnNode, len(d.Nodes))
	for i, n := range d.Nodes {
		if n.Ran, n.Due = 0, false; n.Inside != nil {
			inside := unmarked(*n.Inside)
			n.Inside = &inside
		}
		nodes[i] = n
	}
	edges := make([]graph.DrawnEdge, len(d.Edges))
	for i, e := range d.Edges {
		e.Taken = 0
		edges[i] = e
	}
	d.Nodes, d.Edges = nodes, edges
	return d
}
