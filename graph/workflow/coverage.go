package workflow

import "sync"

// trace counts which ways were taken. A nil trace counts nothing.
type trace struct {
	mu   sync.Mutex
	ways map[wayKey]int
	runs map[string]int // by node
	ends map[string]int // how often a node led on
}

// wayKey names a way: the node, "next" or "error", and its place in the list.
type wayKey struct {
	node, kind string
	place      int
}

func newTrace() *trace {
	return &trace{ways: map[wayKey]int{}, runs: map[string]int{}, ends: map[string]int{}}
}

func (t *trace) took(n *node, i int) { t.count(wayKey{n.name, "next", i}) }

func (t *trace) failed(n *node, i int) {
	t.count(wayKey{n.name, "error", i})
	if t != nil && len(n.onFailures[i].to) > 0 {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.ends[n.name]--
	}
}

func (t *trace) count(key wayKey) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ways[key]++
}

func (t *trace) finished(node string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ends[node]++
}

func (t *trace) path(path [][]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, step := range path {
		for _, name := range step {
			t.runs[name]++
		}
	}
}

// coverage returns what the tests have covered of the file.
func (w *Workflow) coverage(seen *trace) Coverage {
	c := Coverage{Nodes: []NodeCoverage{}, Edges: []EdgeCoverage{}}
	for _, n := range w.plan.nodes {
		c.Nodes = append(c.Nodes, NodeCoverage{n.name, n.at.Line, seen.runs[n.name]})
		if n.next != nil {
			for i, way := range n.next.ways {
				kind, taken := "next", seen.ends[n.name]
				if n.next.conditional() {
					kind, taken = "choice", seen.ways[wayKey{n.name, "next", i}]
				}
				c.add(n.name, way.to, kind, taken)
			}
		}
		for i, r := range n.onFailures {
			c.add(n.name, r.to, "error", seen.ways[wayKey{n.name, "error", i}])
		}
	}
	return c
}

func (c *Coverage) add(from string, to []ref, kind string, taken int) {
	for _, r := range to {
		c.Edges = append(c.Edges, EdgeCoverage{from, r.name, r.at.Line, kind, taken})
	}
}
