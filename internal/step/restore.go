package step

import (
	"slices"
	"strings"
)

// Task is one task that a frontier makes due.
type Task struct {
	Node    int
	Index   int // among the Sends; -1 for an edge-triggered task
	Payload any // of a Send, as Timeout is
	Timeout int64
}

// Waiting is what waits in a frontier, by the names of the nodes: it can be stored, and restored
// for another version of the program.
type Waiting struct {
	Deferred []string // nodes that were reached and wait until nothing else is due
	Joins    []WaitingJoin
}

// WaitingJoin is a join that some of its sources have reached, but not all.
type WaitingJoin struct {
	Target  string
	Sources []string
	Arrived []string // those of Sources that have completed
}

// Task returns task i of the f.Len() tasks that are due, in canonical order.
func (f *Frontier) Task(i int) Task {
	if i < len(f.Due) {
		return Task{Node: f.Due[i], Index: -1}
	}
	i -= len(f.Due)
	s := &f.Sends[i]
	return Task{Node: s.Node, Index: i, Payload: s.Payload, Timeout: s.Timeout}
}

// Waiting returns what waits in f.
func (p *Program) Waiting(f *Frontier) (w Waiting) {
	for _, n := range f.Waiting {
		w.Deferred = append(w.Deferred, p.Nodes[n].Name)
	}
	for j, arrived := range f.Arrived {
		if slices.Contains(arrived, true) {
			w.Joins = append(w.Joins, p.join(j, arrived))
		}
	}
	return w
}

// join describes join number j.
func (p *Program) join(j int, arrived []bool) WaitingJoin {
	w := WaitingJoin{Target: p.Nodes[p.Joins[j].Target].Name}
	for i, n := range p.Joins[j].Sources {
		w.Sources = append(w.Sources, p.Nodes[n].Name)
		if arrived[i] {
			w.Arrived = append(w.Arrived, p.Nodes[n].Name)
		}
	}
	return w
}

// Restore makes f the frontier at which these tasks are due and w waits. The Index of a task that
// a Send started is not negative, and no more of it is used. What of w is not in the program is
// left out and returned.
func (p *Program) Restore(f *Frontier, tasks []Task, w Waiting) (missing Waiting) {
	*f = Frontier{}
	p.ready(f)
	for _, t := range tasks {
		if t.Index < 0 {
			f.Due = insert(f.Due, t.Node)
		} else {
			f.Sends = append(f.Sends, Send{Node: t.Node, Payload: t.Payload, Timeout: t.Timeout})
		}
	}
	for _, name := range w.Deferred {
		if n, ok := p.find(name); ok {
			f.Waiting = insert(f.Waiting, n)
		} else {
			missing.Deferred = append(missing.Deferred, name)
		}
	}
	for _, join := range w.Joins {
		if !p.restoreJoin(f, join) {
			missing.Joins = append(missing.Joins, join)
		}
	}
	return missing
}

// restoreJoin restores which sources have reached a join; false means that the program has no such
// join. Several that are alike have been reached by the same sources.
func (p *Program) restoreJoin(f *Frontier, w WaitingJoin) (found bool) {
	for j, arrived := range f.Arrived {
		if now := p.join(j, arrived); now.Target == w.Target && slices.Equal(now.Sources, w.Sources) {
			for i, name := range w.Sources {
				arrived[i] = slices.Contains(w.Arrived, name)
			}
			found = true
		}
	}
	return found
}

// find returns the number of a node.
func (p *Program) find(name string) (int, bool) {
	return slices.BinarySearchFunc(p.Nodes, name, func(n Node, name string) int { return strings.Compare(n.Name, name) })
}

// insert adds n to an ascending set.
func insert(set []int, n int) []int {
	if at, found := slices.BinarySearch(set, n); !found {
		return slices.Insert(set, at, n)
	}
	return set
}
