package twin

import (
	"fmt"
	"maps"
	"slices"
)

// Interp runs a Spec by the laws, one task after the other. With Kept false it has no
// store: a run that stops cannot go on.
type Interp struct {
	Kept bool

	spec    *Spec
	place   string // of a subgraph: the id of its task
	shared  *told
	state   plain
	turn    int
	step    int
	due     []job // in canonical order
	waiting map[string]bool
	arrived []map[string]bool // by join
	ran     []job             // in the last step
	passed  bool              // somebody was told of the static interrupt here
	history []string

	// What is kept of the step that is due.
	done  map[string]*result
	asked map[string][]question
	subs  map[string]*Interp
}

// told is what a run and its subgraphs share.
type told struct {
	answers map[string]int
	fresh   map[string]bool // the answers that came with this call
	failed  map[string]int  // how often each act of each task failed
	runs    map[string]int  // of each node, attempts included
}

// NewInterp returns an Interp at the beginning of a thread.
func NewInterp(spec *Spec) *Interp {
	return &Interp{Kept: true, spec: spec, state: newPlain(), shared: &told{map[string]int{}, nil, map[string]int{}, map[string]int{}}}
}

// Invoke begins a turn, and runs it.
func (in *Interp) Invoke(input []Op, discard bool) Outcome {
	if len(in.open()) > 0 && !discard {
		return in.outcome("waiting", nil, 0)
	}
	s := &sight{in: in, state: in.state}
	if _, err := run(input, s, "", 0); err != nil {
		panic(err)
	}
	in.begin(s.writes)
	return in.outcome(in.loop())
}

// Resume goes on where the thread stopped.
func (in *Interp) Resume(answers []Answer) Outcome {
	open := in.open()
	in.shared.fresh = map[string]bool{}
	given := map[string]int{}
	for _, a := range answers {
		switch {
		case a.Place == Only && len(open) > 1:
			return in.outcome("ambiguous", nil, 0)
		case a.Place == Only && len(open) == 1:
			a.Place = 0
		case a.Place < 0 || a.Place >= len(open):
			return in.outcome("unknown", nil, 0)
		}
		given[open[a.Place].id] = a.Value
	}
	for id, n := range given {
		in.shared.answers[id], in.shared.fresh[id] = n, true
	}
	return in.outcome(in.loop())
}

// History returns the commits, oldest first.
func (in *Interp) History() []string { return in.history }

// Runs returns how often each node was run, attempts included.
func (in *Interp) Runs() map[string]int { return in.shared.runs }

// open returns the questions that have no answer, in canonical order.
func (in *Interp) open() (open []question) {
	for _, j := range in.due {
		open = append(open, in.unanswered(in.asked[j.id])...)
	}
	return open
}

func (in *Interp) unanswered(asked []question) (open []question) {
	for _, q := range asked {
		if _, ok := in.shared.answers[q.id]; !ok && q.id != "" {
			open = append(open, q)
		}
	}
	return open
}

// begin starts a turn: fields of the last one are reset, and so are the joins; what was
// left of it is dropped; then comes the input.
func (in *Interp) begin(input []write) {
	in.turn++
	for _, f := range Fields {
		if f.Turn || f.oneStep() {
			in.state[f.Name] = f.initial()
		}
	}
	in.merge([][]write{input})
	in.waiting, in.arrived = map[string]bool{}, make([]map[string]bool, len(in.spec.Joins))
	for i := range in.arrived {
		in.arrived[i] = map[string]bool{}
	}
	in.ran = nil
	in.goOn([]Target{}, Start)
}

// loop runs supersteps until nothing is due, or something stops the run.
func (in *Interp) loop() (status string, open []question, steps int) {
	for len(in.due) > 0 {
		if open = in.breaks("after", in.ran, in.spec.After); len(open) > 0 {
			return "interrupted", open, steps
		}
		if steps >= in.spec.MaxSteps {
			return "steps", nil, steps
		}
		if len(in.due) > in.spec.MaxTasks {
			return "fanout", nil, steps
		}
		if open = in.breaks("before", in.due, in.spec.Before); len(open) > 0 {
			return "interrupted", open, steps
		}
		steps++
		if status, open = in.superstep(); status != "" {
			return status, open, steps
		}
	}
	return "done", nil, steps
}

// breaks returns the static interrupts that these jobs meet. A pause between two steps is
// made once.
func (in *Interp) breaks(kind string, jobs []job, nodes []string) (open []question) {
	for _, j := range jobs {
		if !in.passed && slices.Contains(nodes, j.node.Name) {
			open = append(open, question{"", kind + " " + j.node.Name})
		}
	}
	in.passed = in.passed || len(open) > 0
	return open
}

// superstep runs what is due and has not finished, and folds it when all has. Else it says
// why not.
func (in *Interp) superstep() (status string, open []question) {
	for _, j := range in.due {
		asked := in.asked[j.id]
		goesOn := func(q question) bool { return q.id == "" || in.shared.fresh[q.id] }
		switch left := in.unanswered(asked); {
		case in.done[j.id] != nil:
		case len(left) > 0 && !slices.ContainsFunc(asked, goesOn):
			open = append(open, left...)
		default:
			failure := in.attempts(j)
			if status == "" {
				status = failure
			}
			open = append(open, in.asked[j.id]...)
		}
	}
	if status != "" {
		return status, nil
	}
	if len(open) > 0 {
		return "interrupted", open
	}
	var writes [][]write
	for _, j := range in.due {
		writes = append(writes, in.done[j.id].writes)
	}
	if !in.merge(writes) {
		in.done = map[string]*result{} // none of them counts
		return "conflict", nil
	}
	in.step++
	in.ran = in.due
	var to []Target
	var from []string
	for _, j := range in.ran {
		to, from = append(to, in.done[j.id].to...), append(from, j.node.Name)
	}
	in.goOn(to, from...)
	return "", nil
}

// merge folds writes into the state, or leaves it as it is.
func (in *Interp) merge(tasks [][]write) bool {
	next := plain{}
	for _, f := range Fields {
		h, ok := f.folded(in.state[f.Name], tasks)
		if !ok {
			return false
		}
		next[f.Name] = h
	}
	in.state = next
	return true
}

// goOn works out what is due when these nodes have completed and chosen these targets.
func (in *Interp) goOn(to []Target, from ...string) {
	due, sends := map[string]bool{}, []Target{}
	trigger := func(name string) {
		switch {
		case name == End:
		case in.spec.node(name).Deferred:
			in.waiting[name] = true
		default:
			due[name] = true
		}
	}
	for _, name := range from {
		for _, e := range in.spec.Edges {
			if e[0] == name {
				trigger(e[1])
			}
		}
		for i, join := range in.spec.Joins {
			if slices.Contains(join.From, name) {
				in.arrived[i][name] = true
			}
		}
	}
	for _, t := range to {
		if t.Send {
			sends = append(sends, t)
		} else {
			trigger(t.To)
		}
	}
	for i, join := range in.spec.Joins {
		if len(in.arrived[i]) == len(join.From) {
			clear(in.arrived[i])
			trigger(join.To)
		}
	}
	if len(due)+len(sends) == 0 {
		due, in.waiting = in.waiting, map[string]bool{}
	}
	in.due, in.passed = nil, false
	in.done, in.asked, in.subs = map[string]*result{}, map[string][]question{}, map[string]*Interp{}
	next := []string{}
	for _, name := range slices.Sorted(maps.Keys(due)) {
		in.due = append(in.due, job{node: in.spec.node(name), id: in.taskID(name, -1)})
		next = append(next, name)
	}
	for i, t := range sends {
		in.due = append(in.due, job{in.spec.node(t.To), t.Payload, in.taskID(t.To, i)})
		next = append(next, t.To)
	}
	ran := []string{}
	for _, j := range in.ran {
		ran = append(ran, j.node.Name)
	}
	in.history = append(in.history, fmt.Sprintf("turn %d step %d ran %v next %v %s", in.turn, in.step, ran, next, in.state.encode()))
}

func (in *Interp) taskID(node string, index int) string {
	return fmt.Sprintf("%s|%d/%d/%s/%d", in.place, in.turn, in.step+1, node, index)
}

// outcome tells how a call ended.
func (in *Interp) outcome(status string, open []question, steps int) Outcome {
	if status == "panicked" {
		status = "failed" // and is not tried again
	}
	o := Outcome{Status: status, State: in.state.encode()}
	for _, q := range open {
		o.Open = append(o.Open, q.text)
	}
	if status == "done" || status == "interrupted" {
		o.Steps = steps
	}
	for i, join := range in.spec.Joins {
		if status == "done" && len(in.arrived[i]) > 0 {
			o.Starved = append(o.Starved, join.To)
		}
	}
	return o
}
