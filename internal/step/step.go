package step

import "slices"

// Program is the shape of a graph. It does not change once built.
type Program struct {
	Nodes []Node // in ascending order of Name; a node's number is its place here
	Joins []Join
	Start []int // the nodes that a new turn begins with, ascending
}

// Node is one node and what follows from its completion.
type Node struct {
	Name     string
	Next     []int // nodes that its completion makes due
	Feeds    []int // joins that its completion counts for
	Deferred bool  // it waits until nothing else is due
}

// Join makes Target due when every one of Sources has completed.
type Join struct {
	Target  int
	Sources []int // ascending
}

// Send starts one task of Node with a payload of its own.
type Send struct {
	Node    int
	Payload any
	Timeout int64 // the time of one attempt, in nanoseconds; 0 is that of the node
}

// Outcome is what one finished task leads to, beside the edges of its node.
type Outcome struct {
	Node  int
	Goto  []int
	Sends []Send
	// Diverted is true when the task leads to Goto and Sends alone, and does not count
	// as a completion of its node.
	Diverted bool
}

// Frontier is what is due in the next superstep and what still waits. The zero
// Frontier is empty; Begin makes it ready. It must not be copied once it is in use.
type Frontier struct {
	Due     []int    // edge-triggered nodes, ascending
	Sends   []Send   // in canonical order
	Waiting []int    // deferred nodes that were reached, ascending
	Arrived [][]bool // for each join, which of its sources have arrived

	mark  []int // mark[n] == stamp: node n is already due
	stamp int
	few   [8]int // where mark begins in a small graph, so that it needs no allocation
	first [1]int // where Due begins, likewise
}

// Begin makes f the frontier of a new turn: the nodes after Start are due, joins
// are empty.
func (p *Program) Begin(f *Frontier) {
	p.ready(f)
	f.reset()
	for _, arrived := range f.Arrived {
		clear(arrived)
	}
	f.Waiting = f.Waiting[:0]
	if len(p.Start) > 1 {
		f.Due = slices.Grow(f.Due, len(p.Start))
	}
	for _, n := range p.Start {
		p.trigger(f, n)
	}
	f.settle()
}

// Advance replaces f by what is due after a superstep with these outcomes, which
// are in canonical order. It keeps nothing of done.
func (p *Program) Advance(f *Frontier, done []*Outcome) {
	p.ready(f)
	f.reset()
	p.follow(f, done)
}

// NoNode is the Node of an outcome that is no node's: an edit by hand.
const NoNode = -1

// Amend is Advance for outcomes that were given by hand, beside which the rest of f
// stays due. An outcome replaces its node if that is due, or the first of its
// Sends.
func (p *Program) Amend(f *Frontier, done []*Outcome) {
	p.ready(f)
	due, sends := slices.Clone(f.Due), slices.Clone(f.Sends)
	for _, o := range done {
		if at, found := slices.BinarySearch(due, o.Node); found {
			due = slices.Delete(due, at, at+1)
		} else if at := slices.IndexFunc(sends, func(s Send) bool { return s.Node == o.Node }); at >= 0 {
			sends = slices.Delete(sends, at, at+1)
		}
	}
	f.reset()
	for _, n := range due {
		f.mark[n] = f.stamp
	}
	f.Due, f.Sends = append(f.Due, due...), append(f.Sends, sends...)
	p.follow(f, done)
}

// Stop makes nothing due: the turn ends here.
func (p *Program) Stop(f *Frontier) {
	p.ready(f)
	f.reset()
	for _, arrived := range f.Arrived {
		clear(arrived)
	}
	f.Waiting = f.Waiting[:0]
}

// follow adds what follows from done to f.
func (p *Program) follow(f *Frontier, done []*Outcome) {
	for _, o := range done {
		if o.Node == NoNode {
			p.goOn(f, o)
			continue
		}
		if !o.Diverted {
			p.complete(f, o.Node)
		}
		if len(o.Goto) > 0 || len(o.Sends) > 0 {
			p.goOn(f, o)
		}
	}
	if len(p.Joins) > 0 {
		p.fireFull(f, done)
	}
	f.settle()
}

// goOn adds what a Command made due.
func (p *Program) goOn(f *Frontier, o *Outcome) {
	for _, to := range o.Goto {
		p.trigger(f, to)
	}
	f.Sends = append(f.Sends, o.Sends...)
}

// complete follows the edges of node n and counts it for its joins.
func (p *Program) complete(f *Frontier, n int) {
	node := &p.Nodes[n]
	if len(node.Next) > 1 {
		f.Due = slices.Grow(f.Due, len(node.Next))
	}
	for _, to := range node.Next {
		p.trigger(f, to)
	}
	for _, j := range node.Feeds {
		at, _ := slices.BinarySearch(p.Joins[j].Sources, n)
		f.Arrived[j][at] = true
	}
}

// Empty reports whether nothing is due.
func (f *Frontier) Empty() bool { return len(f.Due) == 0 && len(f.Sends) == 0 }

// Len returns the number of tasks that are due.
func (f *Frontier) Len() int { return len(f.Due) + len(f.Sends) }

// Starved returns the joins that some of their sources have reached, but not all.
func (p *Program) Starved(f *Frontier) []int {
	var starved []int
	for j, arrived := range f.Arrived {
		if slices.Contains(arrived, true) {
			starved = append(starved, j)
		}
	}
	return starved
}

// ready gives f the room that p needs.
func (p *Program) ready(f *Frontier) {
	if len(f.mark) == len(p.Nodes) && len(f.Arrived) == len(p.Joins) {
		return
	}
	if f.Due == nil {
		f.Due = f.first[:0]
	}
	f.mark = f.few[:min(len(p.Nodes), len(f.few))]
	if len(p.Nodes) > len(f.few) {
		f.mark = make([]int, len(p.Nodes))
	}
	if len(f.Arrived) != len(p.Joins) {
		f.Arrived = make([][]bool, len(p.Joins))
		for j := range f.Arrived {
			f.Arrived[j] = make([]bool, len(p.Joins[j].Sources))
		}
	}
}

func (f *Frontier) reset() {
	f.Due = f.Due[:0]
	if len(f.Sends) > 0 {
		clear(f.Sends) // let go of the payloads
		f.Sends = f.Sends[:0]
	}
	f.stamp++
}

// trigger makes node n due, once, or lets it wait if it is deferred.
func (p *Program) trigger(f *Frontier, n int) {
	switch {
	case p.Nodes[n].Deferred:
		f.wait(n)
	case f.mark[n] != f.stamp:
		f.mark[n] = f.stamp
		f.Due = append(f.Due, n)
	}
}

// wait lets node n wait, once.
func (f *Frontier) wait(n int) {
	if at, found := slices.BinarySearch(f.Waiting, n); !found {
		f.Waiting = slices.Insert(f.Waiting, at, n)
	}
}

// fireFull makes the targets of full joins due and empties the joins. It comes when
// all of a superstep have arrived: a source may have run several times in it.
func (p *Program) fireFull(f *Frontier, done []*Outcome) {
	for _, o := range done {
		if o.Node == NoNode {
			continue
		}
		for _, j := range p.Nodes[o.Node].Feeds {
			if arrived := f.Arrived[j]; !slices.Contains(arrived, false) {
				clear(arrived)
				p.trigger(f, p.Joins[j].Target)
			}
		}
	}
}

// settle puts the due nodes in canonical order, and releases the deferred ones if
// there is nothing else to do.
func (f *Frontier) settle() {
	if len(f.Due) == 1 {
		return // as in a chain
	}
	if f.Empty() && len(f.Waiting) > 0 {
		f.Due = append(f.Due, f.Waiting...)
		f.Waiting = f.Waiting[:0]
	}
	if len(f.Due) > 1 {
		slices.Sort(f.Due)
	}
}
