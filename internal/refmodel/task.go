package refmodel

import "fmt"

// job is a task that is due, and what has become of it.
type job struct {
	node    *Node
	payload int
	id      string
	done    bool
	writes  []write
	to      []Target
	asked   []question
	sub     *Interpreter
	back    *way // where its subgraph goes on from, if the thread went back there
}

// question is why a task waits. id is "" at a static interrupt.
type question struct{ id, text string }

func (j *job) unanswered(answers map[string]int) (open []question) {
	for _, q := range j.asked {
		if _, ok := answers[q.id]; !ok && q.id != "" {
			open = append(open, q)
		}
	}
	return open
}

// sight is how a task sees the state: as it was when the step began, with its own writes.
type sight struct {
	in     *Interpreter
	job    *job
	writes []write
	open   []question
	count  map[string]int // how often each key was asked for
}

func (s *sight) hold(name string) (h held) {
	for _, f := range Fields {
		if f.Name != name {
			continue
		}
		h = s.in.state[name]
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

func names(jobs []*job) []string {
	all := []string{}
	for _, j := range jobs {
		all = append(all, j.node.Name)
	}
	return all
}
