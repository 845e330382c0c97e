package refmodel

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// Runner runs one thread. The engine and the reference interpreter implement it.
type Runner interface {
	Invoke(input []Op, discard bool) Outcome
	Resume(answers []Answer) Outcome
}

var (
	_ Runner = (*Interpreter)(nil)
	_ Runner = (*Engine)(nil)
)

// Outcome is how a call ended.
type Outcome struct {
	// Status is done or interrupted; failed or steps, after which Resume goes on; broken,
	// conflict or fanout, which end the turn; or waiting, unknown or ambiguous, for calls
	// that were refused.
	Status  string
	State   string   // as JSON
	Open    []string // why it pauses, in canonical order
	Starved []string
	Steps   int // of this call, when it was done or interrupted
}

// Answer is an answer to one of the open questions of the last Outcome.
type Answer struct {
	Place int // among them; or Only, or Unasked
	Value int
}

const (
	Only    = -1 // the only open question, without its id
	Unasked = -2 // a question that was not asked
)

// Play takes a runner through all turns of a spec, and returns what it saw. With calm it
// answers all that is asked at once; else it also gives answers one by one, wrong ones and
// none, and turns its back on questions, as seed has it. What it answers depends on the
// question alone.
func Play(sp *Spec, r Runner, seed uint64, calm bool) (seen []Outcome) {
	discard := false
	for _, input := range sp.Turns {
		p := player{r, seed, calm, &seen}
		o := p.saw(r.Invoke(input, discard))
		for p.goesOn(o) {
			if len(seen) > 2000 {
				panic("refmodel: the thread does not come to an end")
			}
			o = p.move(o)
		}
		discard = o.Status != "done"
	}
	return seen
}

// player plays one turn.
type player struct {
	Runner
	seed uint64
	calm bool
	seen *[]Outcome
}

// chance returns a number that depends on the seed and on the moves so far. Failures do not
// count, see Trace.
func (p *player) chance() uint64 {
	moves := 0
	for _, o := range *p.seen {
		if o.Status != "failed" {
			moves++
		}
	}
	return hash(p.seed, moves, "")
}

func (p *player) saw(o Outcome) Outcome {
	*p.seen = append(*p.seen, o)
	return o
}

// goesOn reports whether there is more to do in this turn.
func (p *player) goesOn(o Outcome) bool {
	switch o.Status {
	case "failed", "steps":
		return true
	case "interrupted":
		return p.calm || p.chance()%16 != 0
	case "conflict": // it stays, whatever runs again
		return !p.calm && (*p.seen)[max(0, len(*p.seen)-2)].Status != "conflict"
	}
	return false
}

// move makes the next call.
func (p *player) move(o Outcome) Outcome {
	if o.Status != "interrupted" {
		return p.saw(p.Resume(nil))
	}
	h, asked := p.chance(), questions(o)
	if !p.calm && h%7 == 0 {
		p.saw(p.Resume([]Answer{{Unasked, 1}}))
	}
	if !p.calm && h%5 == 0 && len(asked) > 1 {
		p.saw(p.Resume([]Answer{{Only, 1}}))
	}
	if !p.calm && h%11 == 0 && len(asked) > 0 {
		p.saw(p.Invoke(nil, false))
	}
	return p.saw(p.Resume(choose(o, h, p.calm)))
}

// questions returns the open questions of o, without static interrupts.
func questions(o Outcome) (asked []string) {
	for _, q := range o.Open {
		if strings.HasPrefix(q, "question ") {
			asked = append(asked, q)
		}
	}
	return asked
}

// choose returns answers to some of the questions of o, or when calm to all.
func choose(o Outcome, h uint64, calm bool) (answers []Answer) {
	asked := questions(o)
	for i, q := range asked {
		if calm || h>>(8+i%32)&3 != 0 {
			answers = append(answers, Answer{i, int(hash(0, 0, q) % 50)})
		}
	}
	if !calm && len(asked) == 1 && len(answers) == 1 && h%2 == 0 {
		answers[0].Place = Only
	}
	if !calm && h%3 == 0 { // the order of answers does not matter
		for i, j := 0, len(answers)-1; i < j; i, j = i+1, j-1 {
			answers[i], answers[j] = answers[j], answers[i]
		}
	}
	return answers
}

func hash(seed uint64, n int, text string) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, seed, " ", n, " ", text)
	return h.Sum64() * 0x9e3779b97f4a7c15 >> 16
}

// Trace returns what must be the same in both runs: all of seen, but of failures in a row
// only the last. How many there are depends on which task of a step fails first and stops
// the others.
func Trace(seen []Outcome) string {
	var b strings.Builder
	for i, o := range seen {
		failure := func(o Outcome) bool { return o.Status == "failed" || o.Status == "broken" }
		if i+1 < len(seen) && o.Status == "failed" && failure(seen[i+1]) {
			continue
		}
		fmt.Fprintf(&b, "%s after %d steps\n\t%s\n", o.Status, o.Steps, o.State)
		for _, q := range o.Open {
			fmt.Fprintf(&b, "\t%s\n", q)
		}
		for _, name := range o.Starved {
			fmt.Fprintf(&b, "\tstarved %s\n", name)
		}
	}
	return b.String()
}

// History returns the commits, oldest first.
func (in *Interpreter) History() []string { return in.history }

// Runs returns how often each node was run, attempts included.
func (in *Interpreter) Runs() map[string]int { return in.shared.runs }

// outcome returns how a call ended.
func (in *Interpreter) outcome(status string, open []question, steps int) Outcome {
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
