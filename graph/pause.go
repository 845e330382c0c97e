package graph

import (
	"slices"

	"github.com/weftrun/weft/internal/step"
)

// pause is why a run does not go on although tasks are due.
type pause struct {
	at      []Interrupt // static interrupts, or the questions of a thread on which nothing is run
	drained bool
	resumed bool // from a static interrupt, which the first step passes
}

// before reports whether a node of the step that is due has a static interrupt before it.
func (p *pause) before(namespace string, tasks []*task) bool {
	if p.resumed {
		return false
	}
	for _, t := range tasks {
		if t.node.before {
			p.at = append(p.at, Interrupt{Namespace: namespace, Node: t.node.name, Task: t.id(), Kind: "before"})
		}
	}
	return len(p.at) > 0
}

// after reports whether a node of the last step has a static interrupt after it.
func (p *pause) after(namespace string, nodes []node, last []*step.Outcome) bool {
	if p.resumed {
		return false
	}
	for _, o := range last {
		if n := &nodes[o.Node]; n.after {
			p.at = append(p.at, Interrupt{Namespace: namespace, Node: n.name, Kind: "after"})
		}
	}
	return len(p.at) > 0
}

// waiting returns what a run that ended with status s waits for, in canonical order.
func (p *pause) waiting(s Status, tasks []*task) []Interrupt {
	if s == Done || len(p.at) > 0 {
		return p.at
	}
	var all []Interrupt
	for _, t := range tasks {
		all = append(all, t.waiting()...)
	}
	return all
}

// end returns the status of a run that ended with status s, what it waits for, and the reason of
// its drain. A run that has work left waits for answers, or was drained, or both.
func (p *pause) end(s Status, tasks []*task, d *Drain) (status Status, open []Interrupt, drained string) {
	all := p.waiting(s, tasks)
	open = withoutDrained(all)
	if s != Interrupted && s != Pending || !p.drained && len(open) == len(all) {
		return s, open, ""
	}
	reason, _ := d.Requested()
	if len(open) > 0 {
		return Interrupted, open, reason
	}
	return Pending, nil, reason
}

// kindDrained is the Kind of the Interrupt with which the task of a subgraph that
// stopped for a Drain waits. It has no question, so Resume goes on with the task. It
// is not shown.
const kindDrained = "drained"

func isDrained(in Interrupt) bool { return in.Kind == kindDrained }

// withoutDrained returns what tasks wait for other than to go on after a drain.
func withoutDrained(open []Interrupt) []Interrupt {
	if !slices.ContainsFunc(open, isDrained) {
		return open
	}
	return slices.DeleteFunc(slices.Clone(open), isDrained)
}

// pausesOf returns what a task waits for whose subgraph ended with out: it paused or was drained.
func pausesOf(t *task, out outcome) []Interrupt {
	if out.drained == "" {
		return out.interrupts
	}
	return append(slices.Clip(out.interrupts), Interrupt{Namespace: t.run.ns(), Node: t.node.name, Task: t.id(), Kind: kindDrained})
}
