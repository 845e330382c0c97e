package refmodel

import (
	"encoding/json"
	"slices"
)

// Smaller returns Specs that are a little less than sp. Not all of them compile.
func Smaller(sp *Spec) (all []*Spec) {
	try := func(change func(*Spec)) {
		c := sp.copy()
		change(c)
		all = append(all, c)
	}
	for i := range sp.Turns {
		try(func(c *Spec) { c.Turns = slices.Delete(c.Turns, i, i+1) })
		for k := range sp.Turns[i] {
			try(func(c *Spec) { c.Turns[i] = slices.Delete(c.Turns[i], k, k+1) })
		}
	}
	for i, n := range sp.Nodes {
		try(func(c *Spec) { c.drop(n.Name) })
		for _, less := range n.smaller() {
			try(func(c *Spec) { c.Nodes[i] = less })
		}
	}
	for i := range sp.Edges {
		try(func(c *Spec) { c.Edges = slices.Delete(c.Edges, i, i+1) })
	}
	for i := range sp.Joins {
		try(func(c *Spec) { c.Joins = slices.Delete(c.Joins, i, i+1) })
	}
	for i := range sp.Before {
		try(func(c *Spec) { c.Before = slices.Delete(c.Before, i, i+1) })
	}
	for i := range sp.After {
		try(func(c *Spec) { c.After = slices.Delete(c.After, i, i+1) })
	}
	if sp.MaxSteps < 1000 {
		try(func(c *Spec) { c.MaxSteps = 1000 })
	}
	if sp.MaxTasks < 30 {
		try(func(c *Spec) { c.MaxTasks = 30 })
	}
	return all
}

// smaller returns nodes that are a little less than n.
func (n Node) smaller() (all []Node) {
	try := func(change func(*Node)) {
		c := (&Spec{Nodes: []Node{n}}).copy().Nodes[0]
		change(&c)
		all = append(all, c)
	}
	for i := range n.Script {
		if n.Script[i].Do == "lap" {
			continue // it ends loops
		}
		try(func(c *Node) { c.Script = slices.Delete(c.Script, i, i+1) })
		if n.Script[i].When.Mod > 0 {
			try(func(c *Node) { c.Script[i].When = Cond{} })
		}
		if n.Script[i].From != "" {
			try(func(c *Node) { c.Script[i].From = "" })
		}
	}
	for i := range n.Out {
		if n.Out[i].Do == "lap" {
			continue
		}
		try(func(c *Node) { c.Out = slices.Delete(c.Out, i, i+1) })
	}
	for i := range n.Branches {
		try(func(c *Node) { c.Branches = slices.Delete(c.Branches, i, i+1) })
		for k := 1; k < len(n.Branches[i].Script); k++ {
			try(func(c *Node) { c.Branches[i].Script = slices.Delete(c.Branches[i].Script, k, k+1) })
		}
	}
	if n.Deferred {
		try(func(c *Node) { c.Deferred = false })
	}
	if n.Attempts > 1 {
		try(func(c *Node) { c.Attempts = 1 })
	}
	if n.Sub != nil {
		try(func(c *Node) { c.Sub, c.Script, c.Out = nil, c.Out, nil })
		for _, less := range Smaller(n.Sub) {
			try(func(c *Node) { c.Sub = less })
		}
	}
	return all
}

// copy returns a copy that shares nothing.
func (sp *Spec) copy() *Spec {
	c := new(Spec)
	if err := json.Unmarshal([]byte(sp.String()), c); err != nil {
		panic(err)
	}
	return c
}

// String returns the Spec as JSON.
func (sp *Spec) String() string {
	data, err := json.Marshal(sp)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// drop takes a node away, with all that leads to it and from it.
func (sp *Spec) drop(name string) {
	not := func(names []string) []string {
		return slices.DeleteFunc(names, func(n string) bool { return n == name })
	}
	ops := func(script []Op) []Op {
		return slices.DeleteFunc(script, func(op Op) bool { return op.To == name })
	}
	sp.Nodes = slices.DeleteFunc(sp.Nodes, func(n Node) bool { return n.Name == name })
	sp.Edges = slices.DeleteFunc(sp.Edges, func(e [2]string) bool { return e[0] == name || e[1] == name })
	sp.Joins = slices.DeleteFunc(sp.Joins, func(j Join) bool { return j.To == name })
	for i := range sp.Joins {
		sp.Joins[i].From = not(sp.Joins[i].From)
	}
	sp.Before, sp.After = not(sp.Before), not(sp.After)
	for i := range sp.Nodes {
		n := &sp.Nodes[i]
		n.Targets, n.Script = not(n.Targets), ops(n.Script)
		for k := range n.Branches {
			n.Branches[k].Targets, n.Branches[k].Script = not(n.Branches[k].Targets), ops(n.Branches[k].Script)
		}
	}
}
