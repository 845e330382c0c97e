package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/step"
	"github.com/weftrun/weft/state"
)

// routing is where the run goes after a task: the Commands of its node and of the branches,
// turned from names into numbers. It reads nothing but the nodes of the program and what each
// Command may name.
type routing struct {
	program   *program
	hasParent bool // a graph is around this one

	out      step.Outcome
	choices  []choice       // the targets of the Commands, in order
	reasons  []string       // that were given for them
	toParent *parentCommand // the Command for the parent with which the run is to end
	buffer   []*more        // for the next Command
}

// choice is one target of a Command: a checkpoint.Way without what makes it large.
type choice struct {
	node   int32 // end for End
	branch int32 // from 1; 0 for the node's own Command
	reason int32 // its place in routing.reasons, from 1; 0 if none was given
	send   bool
}

// clear drops what Commands have named.
func (r *routing) clear() {
	if len(r.choices) > 0 || r.toParent != nil {
		r.toParent = nil
		r.out.Goto, r.out.Sends, r.choices, r.reasons = r.out.Goto[:0], r.out.Sends[:0], r.choices[:0], r.reasons[:0]
	}
	r.out.Diverted = false
}

// follow takes the targets of a Command, which may name those that are allowed. branch is the
// number of the branch that returned it, from 1, or 0 for the node.
func (r *routing) follow(c Command, allowed targets, branch int) error {
	additions := c.additions(r.buffer)
	r.buffer = additions[:0]
	defer clear(additions)
	for _, m := range additions {
		switch {
		case m.kind != moreParent:
		case c.to != "" || c.last.n > 1:
			return fmt.Errorf("%w: %s: a Command that goes to the parent goes nowhere else", ErrTarget, c)
		default:
			return r.escalate(m.up)
		}
	}
	first, why := len(r.choices), ""
	if len(additions) > 1 {
		r.makeRoom(additions)
	}
	if c.to != "" {
		if err := r.goTo(c.to, allowed, branch); err != nil {
			return err
		}
	}
	for _, m := range additions {
		var err error
		switch m.kind {
		case moreReason:
			why = m.text
		case moreSend:
			err = r.send(m, allowed, branch)
		case moreTimeout:
			err = fmt.Errorf("graph: WithTimeout(%v) does not follow a Send", m.within)
		default:
			err = r.goTo(m.text, allowed, branch)
		}
		if err != nil {
			return err
		}
	}
	if why != "" {
		if !utf8.ValidString(why) {
			return fmt.Errorf("graph: the reason of a Command: %w", state.CheckText(why))
		}
		r.explain(first, why)
	}
	return nil
}

// makeRoom makes room for the targets of a Command, of which a fan-out has many.
func (r *routing) makeRoom(additions []*more) {
	sends := 0
	for _, m := range additions {
		if m.kind == moreSend {
			sends++
		}
	}
	r.out.Sends = slices.Grow(r.out.Sends, sends)
	r.choices = slices.Grow(r.choices, len(additions)+1)
}

// escalate lets the run end with a Command for its parent.
func (r *routing) escalate(a *parentCommand) error {
	if !r.hasParent {
		return fmt.Errorf("%w: %s", ErrNoParent, a)
	}
	r.toParent = a
	return a.check()
}

// apply takes the targets of a Command from a subgraph as if the node had returned it.
func (r *routing) apply(a *parentCommand, allowed targets) error {
	if a.Up != nil {
		return r.escalate(a.Up)
	}
	first := len(r.choices)
	for _, name := range a.Goto {
		if err := r.goTo(name, allowed, 0); err != nil {
			return fmt.Errorf("a Command from the child: %w", err)
		}
	}
	for _, s := range a.Sends {
		if err := r.sendStored(s, allowed); err != nil {
			return fmt.Errorf("a Command from the child: %w", err)
		}
	}
	if a.Why != "" {
		r.explain(first, a.Why)
	}
	return nil
}

// explain gives a reason for the choices from first on.
func (r *routing) explain(first int, reason string) {
	r.reasons = append(r.reasons, reason)
	for i := range r.choices[first:] {
		r.choices[first+i].reason = int32(len(r.reasons))
	}
}

func (r *routing) goTo(name string, allowed targets, branch int) error {
	n, ok := allowed.find(name)
	switch {
	case !ok && name == Parent:
		return fmt.Errorf("%w %q: a Command goes to the parent by InParent or ToParent", ErrTarget, name)
	case !ok:
		return fmt.Errorf("%w %q; it may go to %v", ErrTarget, name, allowed)
	case n == end:
		r.choices = append(r.choices, choice{node: end, branch: int32(branch)})
		return nil
	case r.program.nodes[n].payload != nil:
		return fmt.Errorf("%w %q: a Worker is started by Send, not Goto", ErrTarget, name)
	}
	r.out.Goto = append(r.out.Goto, n)
	r.choices = append(r.choices, choice{node: int32(n), branch: int32(branch)})
	return nil
}

func (r *routing) send(s *more, allowed targets, branch int) error {
	n, ok := allowed.find(s.text)
	if !ok || n == end {
		return fmt.Errorf("%w %q of a Send; it may go to %v", ErrTarget, s.text, allowed)
	}
	p := r.program.nodes[n].payload
	switch {
	case p == nil:
		return fmt.Errorf("%w %q of a Send: it is not a Worker and takes no payload", ErrTarget, s.text)
	case !p.accepts(s.payload):
		return fmt.Errorf("graph: the payload of a Send to %q is of type %T, not %s", s.text, s.payload, p.name)
	case s.within < 0:
		return fmt.Errorf("graph: the timeout of a Send to %q must not be negative (got %v)", s.text, s.within)
	}
	if p.text {
		if err := state.CheckText(s.payload); err != nil {
			return fmt.Errorf("graph: the payload of a Send to %q: %w", s.text, err)
		}
	}
	r.out.Sends = append(r.out.Sends, step.Send{Node: n, Payload: s.payload, Timeout: int64(s.within)})
	r.choices = append(r.choices, choice{node: int32(n), branch: int32(branch), send: true})
	return nil
}

// sendStored is send for a Send in the form in which it is stored.
func (r *routing) sendStored(s sendResult, allowed targets) error {
	m := &more{kind: moreSend, text: s.Node, within: time.Duration(s.Within)}
	if n, ok := allowed.find(s.Node); ok && n != end && r.program.nodes[n].payload != nil {
		var err error
		if m.payload, err = r.program.nodes[n].payload.decode(s.Payload); err != nil {
			return fmt.Errorf("graph: the payload %s of a Send to %q is not of type %s: %w", s.Payload, s.Node, r.program.nodes[n].payload.name, err)
		}
	}
	return r.send(m, allowed, 0)
}

// appendWays appends the targets that were chosen, in the form in which they are stored. r may be
// nil.
func (r *routing) appendWays(ways []checkpoint.Way) []checkpoint.Way {
	if r == nil {
		return ways
	}
	for _, c := range r.choices {
		w := checkpoint.Way{To: End, Send: c.send, Branch: int(c.branch)}
		if c.node != end {
			w.To = r.program.nodes[c.node].name
		}
		if c.reason > 0 {
			w.Why = r.reasons[c.reason-1]
		}
		ways = append(ways, w)
	}
	return ways
}

// sends returns the Sends in the form in which they are stored.
func (r *routing) sends() (sends []sendResult, err error) {
	for _, s := range r.out.Sends {
		name := r.program.nodes[s.Node].name
		payload, err := json.Marshal(s.Payload)
		if err != nil {
			return nil, fmt.Errorf("the payload of a Send to %q: %w", name, err)
		}
		sends = append(sends, sendResult{name, payload, s.Timeout})
	}
	return sends, nil
}

// restoreFrom brings back what was stored.
func (r *routing) restoreFrom(res *result) error {
	for _, w := range res.Ways {
		if err := r.restoreWay(w); err != nil {
			return err
		}
	}
	for _, s := range res.Sends {
		n, ok := r.program.find(s.Node)
		if !ok || r.program.nodes[n].payload == nil {
			return fmt.Errorf("%w: it sends to %q, which is gone", ErrProgram, s.Node)
		}
		p, err := r.program.nodes[n].payload.decode(s.Payload)
		if err != nil {
			return fmt.Errorf("%w: its payload for %q: %w", ErrProgram, s.Node, err)
		}
		r.out.Sends = append(r.out.Sends, step.Send{Node: n, Payload: p, Timeout: s.Within})
	}
	r.out.Diverted, r.toParent = res.Diverted, res.Up
	return nil
}

// restoreWay brings back one choice. A Send is brought back with its payload.
func (r *routing) restoreWay(w checkpoint.Way) error {
	n, ok := end, true
	if w.To != End {
		n, ok = r.program.find(w.To)
	}
	switch {
	case !ok:
		return fmt.Errorf("%w: it goes to %q, which is gone", ErrProgram, w.To)
	case n != end && !w.Send:
		r.out.Goto = append(r.out.Goto, n)
	}
	r.choices = append(r.choices, choice{node: int32(n), branch: int32(w.Branch), send: w.Send})
	if w.Why != "" {
		r.explain(len(r.choices)-1, w.Why)
	}
	return nil
}

// nowhere returns the error of a node that must name one of the allowed targets and did not.
func (r *routing) nowhere(allowed targets) error {
	sends := func(to target) bool { return to.node != end && r.program.nodes[to.node].payload != nil }
	if slices.ContainsFunc(allowed, sends) {
		return &nowhereError{fmt.Sprintf("the Command names none of %v and starts no task, as when the list of a fan-out is empty, and no edge leads on; "+
			"return a Goto for the empty list, or add an edge from the node", allowed)}
	}
	return &nowhereError{fmt.Sprintf("the Command names none of %v, and no edge leads on; return a Goto, or add an edge from the node", allowed)}
}

// nowhereError is an ErrTarget without its words: no target was named, declared or not.
type nowhereError struct{ what string }

func (e *nowhereError) Error() string { return "graph: " + e.what }

func (e *nowhereError) Is(err error) bool { return err == ErrTarget }
