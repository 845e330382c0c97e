package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// paths are the ways of a plan. A node is its place in nodes; END is none.
type paths struct {
	nodes []*node
	place map[string]int // of a node, by its name
	next  [][]int        // all that a node may lead to
	own   [][]int        // the same without its on_error
	left  *int           // how many ways may still be looked at
}

// maxWays bounds the work of checkPaths; real graphs need far less. In a larger graph, mistakes
// beyond the bound are not reported on loading: they fail the run.
const maxWays = 1_000_000

// spend reports whether n more ways may be looked at.
func (p paths) spend(n int) bool {
	*p.left -= n
	return *p.left >= 0
}

// checkPaths reports what the ways show before anything runs: loops that cannot end, joins that
// a loop starves, and two writes in one step of a field that takes one.
func (c *checker) checkPaths() {
	count := len(c.plan.nodes)
	p := paths{nodes: c.plan.nodes, place: make(map[string]int, count), next: make([][]int, count), own: make([][]int, count), left: new(int)}
	*p.left = maxWays
	for i, n := range p.nodes {
		p.place[n.name] = i
	}
	for i, n := range p.nodes {
		p.own[i] = p.places(n.next.targets())
		p.next[i] = slices.Concat(p.own[i], p.places(n.onError.targets()))
	}
	back := p.backwards()
	for i := range p.nodes {
		c.checkReentry(p, back, i)
	}
	c.checkEndless(p)
	c.checkWriters(p)
}

// places returns the indexes of the named nodes, without END.
func (p paths) places(refs []ref) []int {
	all := make([]int, 0, len(refs))
	for _, r := range refs {
		if at, ok := p.place[r.name]; ok {
			all = append(all, at)
		}
	}
	return all
}

// noOne is the index of no node.
const noOne = -1

// reach reports for each node whether a path from these leads to it that does not go through
// without. The nodes of from are reached too. Beyond maxWays, it reports too few nodes.
func (p paths) reach(from []int, without int) []bool {
	seen := make([]bool, len(p.nodes))
	for todo := slices.Clone(from); len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		if at == without || !p.spend(1+len(p.next[at])) {
			continue
		}
		for _, to := range p.next[at] {
			if !seen[to] {
				todo = append(todo, to)
			}
		}
	}
	return seen
}

// backwards returns the same nodes with their ways turned around.
func (p paths) backwards() paths {
	back := p
	back.next = make([][]int, len(p.nodes))
	for from, all := range p.next {
		for _, to := range all {
			back.next[to] = append(back.next[to], from)
		}
	}
	return back
}

// checkReentry reports the ways behind a join that lead back to some of its arms alone: then it
// would wait for the others for ever. What runs beside such a way may lead to the others, so only
// ways are reported through which all paths from the join to them lead.
func (c *checker) checkReentry(p, backwards paths, join int) {
	arms := p.places(p.nodes[join].join)
	if len(arms) < 2 {
		return
	}
	behind := p.reach([]int{join}, noOne)
	leads := make([][]bool, len(arms)) // what leads to each arm, the join not in between
	for i, arm := range arms {
		leads[i] = backwards.reach([]int{arm}, join)
		leads[i][join] = arm == join
	}
	for at, n := range p.nodes {
		if !behind[at] {
			continue
		}
		for _, w := range n.next.all() {
			var back, others []int
			for i, arm := range arms {
				if slices.ContainsFunc(p.places(w.to), func(to int) bool { return leads[i][to] }) {
					back = append(back, arm)
				} else {
					others = append(others, arm)
				}
			}
			if len(back) > 0 && len(others) > 0 {
				c.reportReentry(p, join, at, w, back, p.missing(join, at, others))
			}
		}
	}
}

// missing returns those of the arms that nothing else leads to than the node at.
func (p paths) missing(join, at int, arms []int) []int {
	around := make([]bool, len(p.nodes))
	if at != join {
		around = p.reach(p.next[join], at)
	}
	if !p.spend(0) {
		return nil // around lacks some, or what leads to the arms does
	}
	return slices.DeleteFunc(arms, func(arm int) bool { return around[arm] })
}

func (c *checker) reportReentry(p paths, join, node int, w way, back, missing []int) {
	if len(missing) == 0 {
		return
	}
	j, at := p.nodes[join], w.to[0].at
	c.failAt(at.Line, at.Column, "WF307", "lead to all nodes of the join, as in ["+strings.Join(refNames(j.join), ", ")+"]",
		"node %s leads back to %s, but %s joins %s too, and would wait forever",
		p.nodes[node].name, strings.Join(p.names(back), " and "), j.name, strings.Join(p.names(missing), " and "))
}

func (p paths) names(places []int) []string {
	all := make([]string, len(places))
	for i, at := range places {
		all[i] = p.nodes[at].name
	}
	return all
}

// all returns the ways of n; none for a node that ends the run.
func (n *next) all() []way {
	if n == nil {
		return nil
	}
	return n.ways
}

func refNames(refs []ref) []string {
	all := make([]string, len(refs))
	for i, r := range refs {
		all[i] = r.name
	}
	return all
}

// checkEndless reports nodes that lead to each other without any condition: nothing but a
// failure or a limit would end such a run.
func (c *checker) checkEndless(p paths) {
	always := p
	always.next = make([][]int, len(p.nodes))
	for at, n := range p.nodes {
		if n.next == nil || n.next.conditional() {
			continue
		}
		for _, to := range p.own[at] {
			if len(p.nodes[to].join) < 2 {
				always.next[at] = append(always.next[at], to)
			}
		}
	}
	reported, endless := make([]bool, len(p.nodes)), always.endless()
	for at, n := range p.nodes {
		if !endless[at] {
			continue
		}
		circle := always.circle(at)
		if circle == nil || slices.ContainsFunc(circle, func(at int) bool { return reported[at] }) {
			continue
		}
		for _, at := range circle {
			reported[at] = true
		}
		c.failAt(n.at.Line, n.at.Column, "WF319", "give one of them a next with conditions",
			"these nodes lead to each other without a condition, so the run never ends: %s", strings.Join(append(p.names(circle), n.name), " → "))
	}
}

// endless reports the nodes whose paths never end. It removes nodes that lead to no remaining
// node until none is left to remove; the others are endless.
func (p paths) endless() []bool {
	backwards, left, todo := p.backwards(), make([]int, len(p.nodes)), []int{}
	for at := range p.nodes {
		if left[at] = len(p.next[at]); left[at] == 0 {
			todo = append(todo, at)
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		for _, from := range backwards.next[todo[0]] {
			if left[from]--; left[from] == 0 {
				todo = append(todo, from)
			}
		}
	}
	on := make([]bool, len(p.nodes))
	for at, n := range left {
		on[at] = n > 0
	}
	return on
}

// circle returns a way from a node back to itself, without its end; nil if there is none.
func (p paths) circle(from int) []int {
	before := make([]int, len(p.nodes))
	for i := range before {
		before[i] = noOne
	}
	for todo := []int{from}; len(todo) > 0 && p.spend(1+len(p.next[todo[0]])); todo = todo[1:] {
		for _, to := range p.next[todo[0]] {
			if to == from {
				way := []int{}
				for at := todo[0]; at != from; at = before[at] {
					way = append(way, at)
				}
				way = append(way, from)
				slices.Reverse(way)
				return way
			}
			if before[to] == noOne {
				before[to] = todo[0]
				todo = append(todo, to)
			}
		}
	}
	return nil
}

// checkWriters reports two nodes that always run in one step and write the same field, if the field
// accepts one write. It starts from the start nodes, and from each successor list of several nodes.
// From there it follows unconditional edges.
func (c *checker) checkWriters(p paths) {
	groups := [][]ref{c.plan.start}
	for _, n := range p.nodes {
		for _, w := range n.next.all() {
			groups = append(groups, w.to)
		}
	}
	reported, seen := map[string]bool{}, map[string]bool{}
	for _, g := range groups {
		for step := p.certain(p.places(g)); len(step) > 1 && p.spend(len(step)); {
			key := fmt.Sprint(step)
			if seen[key] {
				break
			}
			seen[key] = true
			c.checkStep(p, step, reported)
			var then []int
			for _, at := range step {
				if n := p.nodes[at]; n.next != nil && !n.next.conditional() {
					then = append(then, p.own[at]...)
				}
			}
			step = p.certain(then)
		}
	}
}

// certain returns those of the nodes, each once, that do their work in the step in which they are
// led to, and are done with it.
func (p paths) certain(step []int) (all []int) {
	seen := make([]bool, len(p.nodes))
	for _, at := range step {
		n := p.nodes[at]
		if n.cond == nil && n.each == nil && !n.deferred && len(n.join) == 0 && !seen[at] {
			all = append(all, at)
		}
		seen[at] = true
	}
	p.spend(len(step))
	return all
}

func (c *checker) checkStep(p paths, step []int, reported map[string]bool) {
	first := map[string]string{}
	for _, at := range step {
		n := p.nodes[at]
		name := n.name
		set, _ := n.work.(setWork)
		for _, a := range slices.Concat(set, n.outputs) {
			if !c.plan.field(a.field).single() {
				continue
			}
			other, twice := first[a.field]
			key := fmt.Sprint(a.field, " ", other, " ", name)
			if !twice {
				first[a.field] = name
			} else if !reported[key] {
				reported[key] = true
				c.failAt(a.value.at.Line, a.value.at.Column, "WF318", "give the field a reducer, such as append or latest, or let one run after the other",
					"node %s and node %s run in one step and both write %s, which accepts one write", other, name, a.field)
			}
		}
	}
}
