package workflow

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// startName is what the edges of a file call the start.
const startName = "START"

// edges gives the nodes that have no next the edges that lead from them, in their
// order. Without conditions all of them are taken; otherwise they are read as a next:
// the first that holds, and edges without a condition, behind them, are the else.
func (s *source) edges(p *plan, n *yaml.Node) {
	written := map[string]*next{}
	for _, item := range s.list(n, "edges") {
		o, ok := s.record(item, "an edge", "from", "to", "if")
		from, to := o.get("from"), o.get("to")
		if !ok || from == nil || to == nil {
			s.fail(item, "WF126", "an edge must be {from: node, to: node}, with an optional if")
			continue
		}
		w := way{to: s.oneOrMore(to, "to")}
		if cond := o.get("if"); cond != nil {
			w.cond = s.condition(cond)
		}
		for _, r := range s.oneOrMore(from, "from") {
			s.edge(p, r, w, written)
		}
	}
}

func (s *source) edge(p *plan, from ref, w way, written map[string]*next) {
	n := p.node(from.name)
	switch {
	case from.name == startName && w.cond != nil:
		s.fail(w.cond.at, "WF126", "an edge from START cannot have an if; put a node before the condition")
		return
	case from.name == startName:
		p.start = append(p.start, w.to...)
		return
	case n == nil:
		s.fail(from.at, "WF304", "an edge leads from %q, which is not a node%s", from.name, didYouMean(from.name, append(p.nodeNames(), startName)))
		return
	case n.next != nil && written[n.name] == nil:
		s.fail(from.at, "WF127", "node %s has a next, in line %d; write its edges there or here", n.name, n.next.at.Line)
		return
	case n.next == nil:
		n.next = &next{src: s, at: from.at}
		written[n.name] = n.next
	}
	x := n.next
	switch last := len(x.ways) - 1; {
	case last >= 0 && x.ways[last].cond == nil && w.cond != nil:
		s.fail(from.at, "WF120", "this edge is never reached: it follows an edge without a condition")
	case last >= 0 && x.ways[last].cond == nil:
		x.ways[last].to = append(slices.Clip(x.ways[last].to), w.to...)
	default:
		x.ways = append(x.ways, w)
	}
}

// derive adds the edges that follow from requires and provides: a node that has no next
// leads to those that require what it provides, or to the end, and a node waits for
// all that provide what it requires. What the input gives, or a default, needs no
// provider.
func (s *source) derive(p *plan) {
	if !slices.ContainsFunc(p.nodes, (*node).derived) {
		return
	}
	d := deriver{source: s, plan: p, providers: map[string]ref{}, consumers: map[string][]ref{}}
	for _, n := range p.nodes {
		d.provide(n)
	}
	for _, n := range p.nodes {
		d.require(n)
	}
	d.circle()
	for _, n := range p.nodes {
		d.lead(n)
	}
	if p.start == nil {
		p.start = d.starts()
	}
}

func (n *node) derived() bool { return len(n.requires)+len(n.provides) > 0 }

type deriver struct {
	*source
	plan      *plan
	providers map[string]ref   // by what they provide; at is where they say so
	consumers map[string][]ref // by the node that provides; at is what they require
}

func (d *deriver) provide(n *node) {
	for _, r := range n.provides {
		first, twice := d.providers[r.name]
		switch {
		case d.plan.field(r.name) == nil:
			d.fail(r.at, "WF409", "provides names %q, which is not a field of the state%s", r.name, didYouMean(r.name, d.plan.fieldNames()))
		case twice:
			d.failAt(r.at.Line, r.at.Column, "WF313", "let one of them provide it, or write next and join explicitly",
				"%s is provided by %s and by %s, in line %d", r.name, n.name, first.name, first.at.Line)
		case !n.writes(r.name):
			d.fail(r.at, "WF316", "node %s provides %s, but does not write it", n.name, r.name)
		}
		if !twice {
			d.providers[r.name] = ref{n.name, r.at}
		}
	}
}

// writes reports whether n assigns a field.
func (n *node) writes(field string) bool {
	if n.output.get(field) != nil {
		return true
	}
	if n.kind.name != "set" || n.args == nil || deref(n.args).Kind != yaml.MappingNode {
		return false
	}
	args := deref(n.args).Content
	for i := 0; i < len(args); i += 2 {
		if args[i].Value == field {
			return true
		}
	}
	return false
}

func (d *deriver) require(n *node) {
	for _, r := range n.requires {
		p, ok := d.providers[r.name]
		switch f := d.plan.field(r.name); {
		case f == nil:
			d.fail(r.at, "WF409", "requires names %q, which is not a field of the state%s", r.name, didYouMean(r.name, d.plan.fieldNames()))
		case ok:
			d.consume(p.name, ref{n.name, r.at})
		case d.plan.input != nil && d.plan.takes(r.name), f.Default != nil, d.plan.input == nil && f.required:
		default:
			d.failAt(r.at.Line, r.at.Column, "WF314", "let a node provide it, list it under input, or give it a default",
				"node %s requires %s, which no node provides", n.name, r.name)
		}
	}
}

func (d *deriver) consume(provider string, by ref) {
	known := func(r ref) bool { return r.name == by.name }
	if !slices.ContainsFunc(d.consumers[provider], known) {
		d.consumers[provider] = append(d.consumers[provider], by)
	}
}

// circle reports nodes that wait for each other, each with its place.
func (d *deriver) circle() {
	state := map[string]int{} // 1 is on the path, 2 is done
	var path []ref
	var visit func(r ref) bool
	visit = func(r ref) bool {
		if state[r.name] == 2 {
			return false
		}
		path = append(path, r)
		defer func() { path = path[:len(path)-1] }()
		if state[r.name] == 1 {
			d.reportCircle(path)
			return true
		}
		state[r.name] = 1
		defer func() { state[r.name] = 2 }()
		return slices.ContainsFunc(d.consumers[r.name], visit)
	}
	for _, n := range d.plan.nodes {
		if visit(n.ref) {
			return
		}
	}
}

func (d *deriver) reportCircle(path []ref) {
	last := path[len(path)-1]
	begin := slices.IndexFunc(path, func(r ref) bool { return r.name == last.name })
	var steps []string
	for _, r := range path[begin+1:] {
		steps = append(steps, fmt.Sprintf("%s (line %d)", r.name, r.at.Line))
	}
	d.fail(last.at, "WF315", "these nodes require each other: %s → %s", last.name, strings.Join(steps, " → "))
}

// lead adds the next and the join of n.
func (d *deriver) lead(n *node) {
	if !n.derived() {
		return
	}
	consumers := d.consumers[n.name]
	switch {
	case n.next == nil:
		n.next = &next{src: d.source, at: n.at, derived: true, ways: []way{{to: consumers}}}
		if len(consumers) == 0 {
			n.next.ways[0].to = []ref{{endName, n.at}}
		}
	default:
		for _, c := range consumers {
			leads := func(r ref) bool { return r.name == c.name }
			if !slices.ContainsFunc(n.next.targets(), leads) {
				d.fail(c.at, "WF317", "node %s requires a field of %s, but the next of %s does not lead to it", c.name, n.name, n.name)
			}
		}
	}
	providers := d.providersOf(n)
	if len(providers) > 1 && n.join == nil {
		n.join = providers
	}
}

// providersOf returns the nodes that n waits for, each at its place in requires.
func (d *deriver) providersOf(n *node) (all []ref) {
	for _, r := range n.requires {
		p, ok := d.providers[r.name]
		known := func(r ref) bool { return r.name == p.name }
		if ok && !slices.ContainsFunc(all, known) {
			all = append(all, ref{p.name, r.at})
		}
	}
	return all
}

// starts returns the nodes that wait for no other node. It looks at the first node and at the
// nodes with requires or provides.
func (d *deriver) starts() (all []ref) {
	led := map[string]bool{}
	for _, n := range d.plan.nodes {
		for _, r := range slices.Concat(n.next.targets(), n.onError.targets()) {
			led[r.name] = led[r.name] || r.name != n.name
		}
	}
	for i, n := range d.plan.nodes {
		if !led[n.name] && (i == 0 || n.derived()) {
			all = append(all, n.ref)
		}
	}
	return all
}
