package refmodel

import (
	"fmt"
	"maps"
	"slices"
)

// Interpreter runs a Spec by the laws, one task after the other. With Stored false it has no
// store: a run that stops cannot go on.
type Interpreter struct {
	Stored bool

	spec     *Spec
	place    string // of a subgraph: the id of its task
	shared   *reported
	state    plain
	turn     int
	step     int
	due, ran []*job           // what is next, in canonical order, and what the last step ran
	waiting  map[string]bool  // deferred nodes
	arrived  map[int][]string // by join
	passed   bool             // the static interrupt here was reported
	history  []string
	host     *Interpreter // of a subgraph: what runs it
	chain    *chain
	branch   int // the number of the commit that began the branch; 0 is the first
}

// reported is what a run and its subgraphs share.
type reported struct {
	answers map[string]int
	fresh   map[string]bool // the answers that came with this call
	failed  map[string]int  // how often each act of each task failed
	runs    map[string]int  // of each node, attempts included
	chains  []*chain        // of the subgraphs
}

// NewInterpreter returns an Interpreter at the beginning of a thread.
func NewInterpreter(spec *Spec) *Interpreter {
	shared := &reported{answers: map[string]int{}, failed: map[string]int{}, runs: map[string]int{}}
	return &Interpreter{Stored: true, spec: spec, state: newPlain(), shared: shared, chain: new(chain)}
}

// Invoke begins a turn, and runs it.
func (in *Interpreter) Invoke(input []Op, discard bool) Outcome {
	if len(in.open()) > 0 && !discard {
		return in.outcome("waiting", nil, 0)
	}
	s := &sight{in: in}
	_, _ = run(input, s, "", 0) // an input only writes
	in.begin(s.writes)
	return in.outcome(in.loop())
}

// Resume goes on where the thread stopped.
func (in *Interpreter) Resume(answers []Answer) Outcome {
	open, given := in.open(), map[string]int{}
	in.shared.fresh = map[string]bool{}
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

// open returns the questions that have no answer, in canonical order.
func (in *Interpreter) open() (open []question) {
	for _, j := range in.due {
		open = append(open, j.unanswered(in.shared.answers)...)
	}
	return open
}

// begin starts a turn: fields of the last one are reset, and so are the joins; what was
// left of it is dropped; then comes the input.
func (in *Interpreter) begin(input []write) {
	in.turn++
	for _, f := range Fields {
		if f.Turn || f.oneStep() {
			in.state[f.Name] = f.initial()
		}
	}
	in.state.merge([][]write{input})
	in.waiting, in.arrived, in.ran = map[string]bool{}, map[int][]string{}, nil
	in.goOn([]string{Start}, nil)
}

// loop runs supersteps until nothing is due, or something stops the run.
func (in *Interpreter) loop() (status string, open []question, steps int) {
	for len(in.due) > 0 {
		if open = in.breaks("after", in.ran, in.spec.After); len(open) > 0 {
			return "interrupted", open, steps
		}
		switch {
		case steps >= in.spec.MaxSteps:
			return "steps", nil, steps
		case len(in.due) > in.spec.MaxTasks:
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
func (in *Interpreter) breaks(kind string, jobs []*job, nodes []string) (open []question) {
	for _, j := range jobs {
		if !in.passed && slices.Contains(nodes, j.node.Name) {
			open = append(open, question{"", kind + " " + j.node.Name})
		}
	}
	in.passed = in.passed || len(open) > 0
	return open
}

// superstep runs the due jobs that have not finished, and folds them once all have. Otherwise it
// returns the reason as status.
func (in *Interpreter) superstep() (status string, open []question) {
	for _, j := range in.due {
		goesOn := func(q question) bool { return q.id == "" || in.shared.fresh[q.id] }
		switch left := j.unanswered(in.shared.answers); {
		case j.done:
		case len(left) > 0 && !slices.ContainsFunc(j.asked, goesOn):
			open = append(open, left...)
		default:
			if failure := in.attempts(j); status == "" {
				status = failure
			}
			open = append(open, j.asked...)
		}
	}
	switch {
	case status != "":
		return status, nil
	case len(open) > 0:
		return "interrupted", open
	}
	var writes [][]write
	var to []Target
	for _, j := range in.due {
		writes, to = append(writes, j.writes), append(to, j.to...)
	}
	if !in.state.merge(writes) {
		for _, j := range in.due {
			j.done = false // none of them counts
		}
		return "conflict", nil
	}
	in.step++
	in.ran = in.due
	in.goOn(names(in.ran), to)
	return "", nil
}

// goOn works out what is due when these nodes have completed and chosen these targets.
func (in *Interpreter) goOn(from []string, to []Target) {
	next, sends := map[string]bool{}, slices.DeleteFunc(slices.Clone(to), func(t Target) bool { return !t.Send })
	trigger := func(name string) {
		switch {
		case name == End:
		case in.spec.node(name).Deferred:
			in.waiting[name] = true
		default:
			next[name] = true
		}
	}
	for _, e := range in.spec.Edges {
		if slices.Contains(from, e[0]) {
			trigger(e[1])
		}
	}
	for _, t := range to {
		if !t.Send {
			trigger(t.To)
		}
	}
	for i, join := range in.spec.Joins {
		for _, name := range from {
			if slices.Contains(join.From, name) && !slices.Contains(in.arrived[i], name) {
				in.arrived[i] = append(in.arrived[i], name)
			}
		}
		if len(in.arrived[i]) == len(join.From) {
			delete(in.arrived, i)
			trigger(join.To)
		}
	}
	if len(next)+len(sends) == 0 {
		next, in.waiting = in.waiting, map[string]bool{}
	}
	in.due, in.passed = nil, false
	for _, name := range slices.Sorted(maps.Keys(next)) {
		in.plan(name, 0, -1)
	}
	for i, t := range sends {
		in.plan(t.To, t.Payload, i)
	}
	in.note()
}

// note commits the current position of the graph.
func (in *Interpreter) note() {
	in.commit()
	in.history = append(in.history, fmt.Sprintf("turn %d step %d ran %v next %v %s", in.turn, in.step, names(in.ran), names(in.due), in.state.encode()))
}

func (in *Interpreter) plan(node string, payload, index int) {
	id := fmt.Sprintf("%s|%d/%d/%s/%d", in.place, in.turn, in.step+1, node, index)
	in.due = append(in.due, &job{node: in.spec.node(node), payload: payload, id: id})
}

// attempts tries a task until it finishes, asks, or has failed too often. It returns how it
// failed, or "".
func (in *Interpreter) attempts(j *job) string {
	for n := 1; ; n++ {
		s := &sight{in: in, job: j, count: map[string]int{}}
		to, err := in.attempt(s)
		j.asked = nil
		switch {
		case (err == nil || err == errAsk) && len(s.open) > 0:
			j.asked = s.open
			return ""
		case err == nil:
			j.done, j.writes, j.to = true, s.writes, to
			return ""
		case err == stop("panicked") || n >= j.node.Attempts:
			return string(err.(stop))
		}
	}
}

// attempt runs a node and its branches once.
func (in *Interpreter) attempt(s *sight) (to []Target, err error) {
	defer func() {
		if v := recover(); v == errFail {
			err = stop("panicked")
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
	switch {
	case err != nil || len(s.open) > 0:
		return nil, err
	case !declared(to, node.Targets) || len(to) == 0 && in.spec.mustName(node):
		return nil, stop("broken")
	}
	for _, b := range node.Branches {
		more, err := run(b.Script, s, node.Name, 0)
		if err == nil && !declared(more, b.Targets) {
			err = stop("broken")
		}
		if err != nil {
			return nil, err
		}
		to = append(to, more...)
	}
	return to, nil
}

// nested runs the subgraph of a task, or goes on with it.
func (in *Interpreter) nested(s *sight) error {
	j := s.job
	switch {
	case j.sub == nil && j.back != nil:
		j.sub = &Interpreter{Stored: in.Stored, spec: j.node.Sub, place: j.back.chain.place, shared: in.shared, host: in, chain: j.back.chain}
		j.sub.fork(j.back.at, j.back.next)
	case j.sub == nil || !in.Stored:
		child := &Interpreter{Stored: in.Stored, spec: j.node.Sub, place: j.id, shared: in.shared, state: newPlain()}
		if in.branch != 0 {
			child.place += fmt.Sprint("@", in.branch)
		}
		child.within(in, j.node.Name)
		input := &sight{in: child}
		if _, err := run(j.node.Script, bridge{s, input}, j.node.Name, 0); err != nil {
			return err
		}
		child.begin(input.writes)
		j.sub = child
	}
	status, open, _ := j.sub.loop()
	switch s.open = open; status {
	case "done":
		_, err := run(j.node.Out, bridge{&sight{in: j.sub}, s}, j.node.Name, 0)
		return err
	case "failed", "panicked", "interrupted":
		return stop(status)
	}
	return stop("broken")
}
