package twin

import (
	"errors"
	"fmt"
	"slices"
)

var (
	errBroken = errors.New("twin: the task can never finish")
	errPanic  = errors.New("twin: the script panicked")
)

// job is one task that is due.
type job struct {
	node    *Node
	payload int
	id      string
}

// result is what a finished task did.
type result struct {
	writes []write
	to     []Target
}

// question is why a task waits. id is "" at a static interrupt.
type question struct{ id, text string }

// attempts tries a task until it finishes, asks, or has failed too often. It returns how it
// failed, or "".
func (in *Interp) attempts(j job) string {
	for n := 1; ; n++ {
		s := &sight{in: in, job: j, state: in.state, count: map[string]int{}}
		to, err := in.attempt(s)
		delete(in.asked, j.id)
		switch {
		case (err == nil || err == errAsk) && len(s.open) > 0:
			in.asked[j.id] = s.open
			return ""
		case err == nil:
			in.done[j.id] = &result{s.writes, to}
			return ""
		case err == errPanic:
			return "panicked"
		case n >= j.node.Attempts && err == errFail:
			return "failed"
		case n >= j.node.Attempts:
			return "broken"
		}
	}
}

// attempt runs a node and its branches once.
func (in *Interp) attempt(s *sight) (to []Target, err error) {
	defer func() {
		if v := recover(); v == errFail {
			err = errPanic
		} else if v != nil {
			panic(v)
		}
	}()
	node := s.job.node
	if node.Sub != nil {
		err = in.nested(s)
	} else {
		in.shared.runs[node.Name]++
		to, err = run(node.Script, s, node.Name, s.job.payload)
	}
	if err != nil || len(s.open) > 0 {
		return nil, err
	}
	if !declared(to, node.Targets) || len(to) == 0 && in.spec.mustName(node) {
		return nil, errBroken
	}
	for _, b := range node.Branches {
		more, err := run(b.Script, s, node.Name, 0)
		if err == nil && !declared(more, b.Targets) {
			err = errBroken
		}
		if err != nil {
			return nil, err
		}
		to = append(to, more...)
	}
	return to, nil
}

// nested runs the subgraph of a task, or goes on with it.
func (in *Interp) nested(s *sight) error {
	node, child := s.job.node, in.subs[s.job.id]
	if child == nil || !in.Kept {
		child = &Interp{Kept: in.Kept, spec: node.Sub, place: s.job.id, shared: in.shared, state: newPlain()}
		input := &sight{in: child, state: child.state}
		if _, err := run(node.Script, bridge{s, input}, node.Name, 0); err != nil {
			return err
		}
		child.begin(input.writes)
		in.subs[s.job.id] = child
	}
	switch status, open, _ := child.loop(); status {
	case "done":
	case "interrupted":
		s.open = open
		return errAsk
	case "failed":
		return errFail
	case "panicked":
		return errPanic
	default:
		return errBroken
	}
	_, err := run(node.Out, bridge{&sight{in: child, state: child.state}, s}, node.Name, 0)
	return err
}

// sight is how a task sees the state: as it was when the step began, with its own writes.
type sight struct {
	in     *Interp
	job    job
	state  plain
	writes []write
	open   []question
	count  map[string]int // how often each key was asked for
}

func (s *sight) hold(name string) (h held) {
	for _, f := range Fields {
		if f.Name != name {
			continue
		}
		h = s.state[name]
		for _, w := range s.writes {
			if w.field == name {
				h = f.with(h, w)
			}
		}
	}
	return h
}

func (s *sight) Read(field string) int { return s.hold(field).reading() }

func (s *sight) Lap(n int) int { return s.hold("laps").table[n] }

func (s *sight) Write(field, how string, key, n int) {
	s.writes = append(s.writes, write{field, how, key, n})
}

func (s *sight) Ask(key, prompt string) (int, bool) {
	s.count[key]++
	id := fmt.Sprint(s.job.id, "?", key, s.count[key])
	answer, ok := s.in.shared.answers[id]
	if !ok {
		s.open = append(s.open, question{id, "question " + s.job.node.Name + ": " + prompt})
	}
	return answer, ok
}

func (s *sight) Fails(op, limit int) bool {
	id := fmt.Sprint(s.job.id, "!", op)
	s.in.shared.failed[id]++
	return s.in.shared.failed[id] <= limit
}

// bridge reads one state and writes the other, on the way in and out of a subgraph.
type bridge struct {
	from Task
	Task
}

func (b bridge) Read(field string) int { return b.from.Read(field) }

// declared reports whether a task may go to these targets.
func declared(to []Target, targets []string) bool {
	for _, t := range to {
		if !slices.Contains(targets, t.To) {
			return false
		}
	}
	return true
}

// mustName reports whether a node that names no target would lead nowhere.
func (sp *Spec) mustName(n *Node) bool {
	leads := func(e [2]string) bool { return e[0] == n.Name }
	feeds := func(j Join) bool { return slices.Contains(j.From, n.Name) }
	return len(n.Targets) > 0 && len(n.Branches) == 0 && !slices.ContainsFunc(sp.Edges, leads) && !slices.ContainsFunc(sp.Joins, feeds)
}

// node returns the node with this name.
func (sp *Spec) node(name string) *Node {
	for i := range sp.Nodes {
		if sp.Nodes[i].Name == name {
			return &sp.Nodes[i]
		}
	}
	panic("twin: no node " + name)
}
