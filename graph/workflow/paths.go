package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// paths are the ways of a plan, by node. END is no node.
type paths struct {
	plan *plan
	next map[string][]string // all that a node may lead to
}

// checkPaths reports what the ways show before anything runs: loops that cannot end, joins that
// a loop starves, and two writes in one step of a field that takes one.
func (c *checker) checkPaths() {
	p := paths{c.plan, map[string][]string{}}
	for _, n := range c.plan.nodes {
		for _, r := range slices.Concat(n.next.targets(), n.onError.targets()) {
			if r.name != endName {
				p.next[n.name] = append(p.next[n.name], r.name)
			}
		}
	}
	for _, n := range c.plan.nodes {
		c.checkReentry(p, n)
	}
	c.checkEndless(p)
	c.checkWriters(p)
}

// reach returns all nodes that a path from these leads to, themselves included, that does not
// go through a node of without.
func (p paths) reach(from []string, without string) map[string]bool {
	seen := map[string]bool{}
	for todo := slices.Clone(from); len(todo) > 0; {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[name] || name == endName {
			continue
		}
		if seen[name] = true; name != without {
			todo = append(todo, p.next[name]...)
		}
	}
	return seen
}

// checkReentry reports the ways behind a join that lead back to some of its arms alone: then it
// would wait for the others for ever. What runs beside such a way may lead to the others, so only
// ways are reported through which all paths from the join to them lead.
func (c *checker) checkReentry(p paths, join *node) {
	if len(join.join) < 2 {
		return
	}
	behind := p.reach([]string{join.name}, "")
	for _, n := range c.plan.nodes {
		if !behind[n.name] {
			continue
		}
		for _, w := range n.next.all() {
			to := p.reach(refNames(w.to), join.name)
			around := p.reach(p.next[join.name], n.name)
			var back, missing []string
			for _, arm := range join.join {
				switch {
				case to[arm.name]:
					back = append(back, arm.name)
				case n == join, !around[arm.name]:
					missing = append(missing, arm.name)
				}
			}
			if len(back) > 0 && len(missing) > 0 && len(w.to) > 0 {
				at := w.to[0].at
				c.failAt(at.Line, at.Column, "WF307", "lead to all arms at once, as in ["+strings.Join(refNames(join.join), ", ")+"]",
					"node %s leads back to %s, but %s joins %s too, and would wait for ever",
					n.name, strings.Join(back, " and "), join.name, strings.Join(missing, " and "))
			}
		}
	}
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
	always := paths{c.plan, map[string][]string{}}
	for _, n := range c.plan.nodes {
		if n.next == nil || n.next.conditional() {
			continue
		}
		for _, name := range p.next[n.name] {
			to := c.plan.node(name)
			leads := slices.ContainsFunc(n.next.targets(), func(r ref) bool { return r.name == name })
			if leads && len(to.join) < 2 {
				always.next[n.name] = append(always.next[n.name], name)
			}
		}
	}
	reported := map[string]bool{}
	for _, n := range c.plan.nodes {
		circle := always.circle(n.name)
		if circle == nil || slices.ContainsFunc(circle, func(name string) bool { return reported[name] }) {
			continue
		}
		for _, name := range circle {
			reported[name] = true
		}
		c.failAt(n.at.Line, n.at.Column, "WF319", "give one of them a next with conditions",
			"these nodes lead to each other without a condition, so the run never ends: %s", strings.Join(append(circle, n.name), " → "))
	}
}

// circle returns a way from a node back to itself, without its end; nil if there is none.
func (p paths) circle(from string) []string {
	before := map[string]string{}
	for todo := []string{from}; len(todo) > 0; todo = todo[1:] {
		for _, to := range p.next[todo[0]] {
			if to == from {
				way := []string{}
				for at := todo[0]; at != from; at = before[at] {
					way = append(way, at)
				}
				way = append(way, from)
				slices.Reverse(way)
				return way
			}
			if _, seen := before[to]; !seen {
				before[to] = todo[0]
				todo = append(todo, to)
			}
		}
	}
	return nil
}

// checkWriters follows nodes that certainly run in one step, from the start and from each way to
// several, as long as they go on without a condition, and reports two that write one field
// which takes one write.
func (c *checker) checkWriters(p paths) {
	groups := [][]ref{c.plan.start}
	for _, n := range c.plan.nodes {
		for _, w := range n.next.all() {
			groups = append(groups, w.to)
		}
	}
	reported := map[string]bool{}
	for _, g := range groups {
		names := refNames(g)
		for range len(c.plan.nodes) {
			if names = c.certain(names); len(names) < 2 {
				break
			}
			c.checkStep(names, reported)
			var then []string
			for _, name := range names {
				if n := c.plan.node(name); n.next != nil && !n.next.conditional() {
					then = append(then, refNames(n.next.targets())...)
				}
			}
			names = then
		}
	}
}

// certain returns those of the nodes, each once, that do their work in the step in which they are
// led to, and are done with it.
func (c *checker) certain(names []string) (all []string) {
	for _, name := range names {
		n := c.plan.node(name)
		if n != nil && n.cond == nil && n.each == nil && !n.deferred && len(n.join) == 0 && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

func (c *checker) checkStep(names []string, reported map[string]bool) {
	first := map[string]string{}
	for _, name := range names {
		n := c.plan.node(name)
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
					"node %s and node %s run in one step and both write %s, which takes one write", other, name, a.field)
			}
		}
	}
}
