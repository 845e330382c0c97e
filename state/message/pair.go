package message

import "fmt"

// Pair is a tool call and its answer.
type Pair struct {
	Call   Call
	Result Result // the zero Result when there is none
	At     int    // index of the message that makes the call
	// ResultAt is the index of the message that answers it, -1 when none does.
	ResultAt int
}

// Answered reports whether the call has a result.
func (p Pair) Answered() bool { return p.ResultAt >= 0 }

// Ref names a call or a result by its place.
type Ref struct {
	Index  int    // of the message
	ID     string // of the message
	CallID string
}

// Pairs returns the calls in ms, in order, each with its result. A result answers the
// last call before it that has its id; of several results the first counts.
func Pairs(ms []Message) []Pair { return pair(ms).pairs }

// Orphans returns the calls without a result, and the results without a call.
func Orphans(ms []Message) (calls, results []Ref) {
	p := pair(ms)
	return p.unanswered(ms), p.orphans
}

// pairing matches the calls and the results of a conversation.
type pairing struct {
	pairs   []Pair
	byID    map[string]int // call id → the last pair with it
	orphans []Ref          // results without a call
	again   []Ref          // results for a call that already has a result
	twice   []Ref          // calls with the id of an earlier call
	parent  []int          // a forest of groups of messages with common calls; a root is the first message of its group
}

func pair(ms []Message) *pairing {
	p := &pairing{byID: map[string]int{}, parent: make([]int, len(ms))}
	for i, m := range ms {
		p.parent[i] = i
		for _, r := range m.Results {
			p.result(i, m, r)
		}
		for _, c := range m.Calls {
			p.call(i, m, c)
		}
	}
	return p
}

func (p *pairing) call(i int, m Message, c Call) {
	if at, dup := p.byID[c.ID]; dup && p.pairs[at].At != i {
		p.twice = append(p.twice, Ref{i, m.ID, c.ID})
	}
	p.byID[c.ID] = len(p.pairs)
	p.pairs = append(p.pairs, Pair{Call: c, At: i, ResultAt: -1})
}

func (p *pairing) result(i int, m Message, r Result) {
	at, ok := p.byID[r.CallID]
	if !ok {
		p.orphans = append(p.orphans, Ref{i, m.ID, r.CallID})
		return
	}
	c := &p.pairs[at]
	p.join(c.At, i)
	if c.Answered() {
		p.again = append(p.again, Ref{i, m.ID, r.CallID})
		return
	}
	c.Result, c.ResultAt = r, i
}

func (p *pairing) unanswered(ms []Message) (calls []Ref) {
	for _, c := range p.pairs {
		if !c.Answered() {
			calls = append(calls, Ref{c.At, ms[c.At].ID, c.Call.ID})
		}
	}
	return calls
}

// first returns the index of the first message of the group that i is in.
func (p *pairing) first(i int) int {
	for p.parent[i] != i {
		p.parent[i] = p.parent[p.parent[i]]
		i = p.parent[i]
	}
	return i
}

func (p *pairing) join(a, b int) {
	a, b = p.first(a), p.first(b)
	p.parent[max(a, b)] = min(a, b)
}

func (p *pairing) problems(ms []Message) (all []Problem) {
	add := func(refs []Ref, rule Rule, format string) {
		for _, r := range refs {
			all = append(all, Problem{r.Index, r.ID, rule, fmt.Sprintf(format, r.CallID)})
		}
	}
	add(p.twice, RuleDuplicate, "an earlier message makes a call %q too")
	add(p.orphans, RuleUnknownCall, "it answers the call %q, which no message before it makes")
	add(p.again, RuleSecondResult, "the call %q has a result already")
	add(p.unanswered(ms), RuleUnanswered, "its call %q has no result")
	return all
}
