package refmodel

import (
	"math/rand/v2"
	"slices"
)

// Generate returns a random Spec that compiles and ends. Edges lead forward, and what leads
// back counts its laps.
func Generate(r *rand.Rand) *Spec {
	m := maker{Rand: r}
	m.fails = m.once(3)
	m.failing = m.fails
	sp := m.spec(0)
	for range 1 + m.IntN(2) {
		var input []Op
		for range m.IntN(4) {
			op := m.write(-1)
			op.When, op.From = Cond{}, "" // it sees no state
			input = append(input, op)
		}
		sp.Turns = append(sp.Turns, input)
	}
	if m.once(4) {
		sp.MaxSteps = 1 + m.IntN(6)
	}
	if m.once(8) {
		sp.MaxTasks = 1 + m.IntN(6)
	}
	return sp
}

// Source returns the randomness of a seed.
func Source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x7477696e)) }

// maker makes one Spec.
type maker struct {
	*rand.Rand
	fails   bool // some scripts fail
	failing bool // those of the graph that is being made
	keys    int  // that were given to acts that fail
}

// once is true once in n times.
func (m *maker) once(n int) bool { return m.IntN(n) == 0 }

func pick[T any](m *maker, from []T) T { return from[m.IntN(len(from))] }

func (m *maker) spec(depth int) *Spec {
	sp := &Spec{MaxSteps: 1000, MaxTasks: 30}
	n := 1 + m.IntN(6-2*depth)
	for _, at := range m.Perm(n) {
		sp.Nodes = append(sp.Nodes, Node{Name: string(rune('a' + at)), Attempts: 1 + m.IntN(3)})
	}
	for i := range sp.Nodes {
		m.fill(sp, i, depth)
	}
	for i := range sp.Nodes {
		m.lead(sp, i)
	}
	for i := range sp.Nodes {
		m.finish(sp, i, depth)
	}
	return sp
}

// fill gives node i what it does.
func (m *maker) fill(sp *Spec, i, depth int) {
	n := &sp.Nodes[i]
	lap := Op{Do: "lap", Key: i}
	switch {
	case depth < 2 && m.once(8+8*depth):
		m.sub(n, depth)
		for range m.IntN(3) {
			n.Script = append(n.Script, m.write(-1))
		}
		n.Out = []Op{lap, m.write(i)}
		return
	case i > 0 && m.once(4):
		n.Worker = true
		i = -1 // several run at once
	}
	n.Script = []Op{lap}
	for range m.IntN(5) {
		n.Script = append(n.Script, m.act(i))
	}
}

// sub gives n a subgraph. One that fails has a single attempt: how often two of its tasks
// fail together and how often in turn is not for the laws to say.
func (m *maker) sub(n *Node, depth int) {
	before := m.failing
	if m.failing = m.failing && m.once(2); m.failing {
		n.Attempts = 1
	}
	n.Sub = m.spec(depth + 1)
	m.failing = before
}

// act returns an act of node i; -1 for one that may run beside itself.
func (m *maker) act(i int) Op {
	switch roll := m.IntN(20); {
	case roll < 2:
		do := "ask"
		if m.once(4) {
			do = "both"
		}
		return Op{When: m.cond(), Do: do, Field: "list", N: m.IntN(9), Key: m.IntN(2)}
	case roll < 6 && m.failing:
		do := "fail"
		if m.once(5) {
			do = "panic"
		}
		m.keys++
		return Op{When: m.cond(), Do: do, N: 1 + m.IntN(3), Key: m.keys}
	}
	return m.write(i)
}

var (
	single    = []string{"value", "mood", "spark"} // one task of a step may write them
	shared    = []string{"latest", "list", "draft", "sum", "tries", "max", "min", "map", "set", "topic", "fold"}
	wholes    = []string{"list", "draft", "sum", "tries", "max", "min", "map", "set", "fold"}
	removable = []string{"latest", "map", "set"}
)

// write returns a write of node i. Each single field has a node that writes it; others do
// seldom, and conflict.
func (m *maker) write(i int) Op {
	op := Op{When: m.cond(), Do: "write", Field: pick(m, shared), N: m.IntN(40), Key: m.IntN(4)}
	switch roll := m.IntN(40); {
	case roll < 8 && i >= 0 && i < len(single):
		op.Field = single[i]
		if m.once(5) {
			op.Do = "remove"
		}
	case roll == 8:
		op.Field = pick(m, single)
	case roll < 12:
		op.Do, op.Field = "remove", pick(m, removable)
	case roll == 12:
		op.Do, op.Field = "overwrite", pick(m, wholes)
	}
	if m.once(2) {
		op.From = m.field()
	}
	return op
}

func (m *maker) field() string { return Fields[m.IntN(len(Fields)-1)].Name }

func (m *maker) cond() Cond {
	if m.once(2) {
		return Cond{}
	}
	mod := 2 + m.IntN(2)
	return Cond{Field: m.field(), Mod: mod, Is: m.IntN(mod)}
}

// lead makes ways into node i, from nodes before it.
func (m *maker) lead(sp *Spec, i int) {
	n := &sp.Nodes[i]
	if i == 0 {
		sp.edge(Start, n.Name)
		return
	}
	for range 1 + m.IntN(2) {
		from := m.IntN(i)
		switch roll := m.IntN(10); {
		case n.Worker:
			m.goes(sp, from, Op{When: m.cond(), Do: "send", To: n.Name, N: m.IntN(30), From: m.field()})
			m.goes(sp, from, Op{When: m.cond(), Do: "send", To: n.Name, N: m.IntN(30)})
		case roll < 4:
			sp.edge(sp.Nodes[from].Name, n.Name)
		case roll < 6:
			m.join(sp, i)
		case roll < 9:
			m.goes(sp, from, Op{When: m.cond(), Do: "goto", To: n.Name})
		default:
			sp.edge(Start, n.Name)
		}
	}
}

func (m *maker) join(sp *Spec, i int) {
	j := Join{To: sp.Nodes[i].Name}
	for _, from := range m.Perm(i)[:1+m.IntN(min(i, 3))] {
		j.From = append(j.From, sp.Nodes[from].Name)
	}
	slices.Sort(j.From)
	if !slices.ContainsFunc(sp.Joins, func(o Join) bool { return o.To == j.To && slices.Equal(o.From, j.From) }) {
		sp.Joins = append(sp.Joins, j)
	}
}

// goes lets a node go somewhere: in its script where that can, or in a branch.
func (m *maker) goes(sp *Spec, from int, op Op) {
	n := &sp.Nodes[from]
	if !n.Worker && n.Sub == nil && m.once(2) {
		n.Targets = with(n.Targets, op.To)
		n.Script = slices.Insert(n.Script, 1+m.IntN(len(n.Script)), op)
		return
	}
	if len(n.Branches) == 0 || m.once(3) {
		n.Branches = append(n.Branches, Branch{[]string{End}, []Op{{Do: "goto", To: End}}})
	}
	b := &n.Branches[len(n.Branches)-1]
	b.Targets = with(b.Targets, op.To)
	b.Script = append(b.Script, op)
}

// finish gives node i ways back and onward, and its marks.
func (m *maker) finish(sp *Spec, i, depth int) {
	n := &sp.Nodes[i]
	if m.once(4) {
		to := sp.Nodes[m.IntN(i+1)]
		op := Op{When: Cond{Lap: i, Below: 2 + m.IntN(2)}, Do: "goto", To: to.Name}
		if to.Worker {
			op.Do, op.N = "send", m.IntN(9)
		}
		m.goes(sp, i, op)
	}
	if m.once(50) && len(n.Targets) > 0 {
		n.Script = append(n.Script, Op{When: m.cond(), Do: "goto", To: "nowhere"})
	}
	if m.failing && len(n.Branches) > 0 && m.once(3) {
		m.keys++
		n.Branches[0].Script = append(n.Branches[0].Script, Op{Do: "fail", N: 1 + m.IntN(3), Key: m.keys})
	}
	leads := slices.ContainsFunc(sp.Edges, func(e [2]string) bool { return e[0] == n.Name })
	if !leads && len(n.Targets) > 0 && m.once(4) {
		n.Targets = with(n.Targets, End) // it must name one of them each time
		n.Script = append(n.Script, Op{When: m.cond(), Do: "goto", To: End})
	} else if !leads || m.once(3) {
		sp.edge(n.Name, End)
	}
	n.Deferred = m.once(6)
	// A failure beside a subgraph stops it before or after its pause, as it comes.
	if depth == 0 || !m.fails {
		if m.once(12) {
			sp.Before = append(sp.Before, n.Name)
		}
		if m.once(12) {
			sp.After = append(sp.After, n.Name)
		}
	}
}

func (sp *Spec) edge(from, to string) {
	if !slices.Contains(sp.Edges, [2]string{from, to}) {
		sp.Edges = append(sp.Edges, [2]string{from, to})
	}
}

// with returns a set with one more name.
func with(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}
