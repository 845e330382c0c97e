package graph

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Start is where a turn begins and End where a path ends. They are names for edges
// and targets, not nodes.
const (
	Start = "__start__"
	End   = "__end__"
)

// Parent is the target of a node that may leave its graph for the one around it, by
// [Command.InParent] or [ToParent]. A node needs it only where nothing else leads on from it:
// without it Compile calls such a node a dead end.
const Parent = "__parent__"

// Command names where a run goes after a node, in addition to the node's static edges. The
// zero Command names nothing. Commands are values: the methods return a new one.
type Command struct {
	to   string // the first target: most commands have one, and it costs nothing
	last *more  // what was added after it; nil for most
}

// more is one addition to a Command. It never changes, so Commands share what they
// have in common, and a fan-out of n Sends costs n.
type more struct {
	before  *more
	n       int32 // how many there are, with this one
	kind    moreKind
	text    string         // the target; of a moreReason the reason
	payload any            // of a moreSend
	up      *parentCommand // of a moreParent
	within  time.Duration  // of a moreSend: the time of one attempt; 0 is that of the node
}

type moreKind uint8

const (
	moreGoto    moreKind = iota
	moreSend             // with a payload
	moreParent           // a Command for the parent
	moreReason           // not a target, but what is said of all of them
	moreTimeout          // a mistake: it does not follow a Send
)

// Goto makes the named nodes due in the next step. Going to End ends this path and
// leaves others alone. A target must have been declared by the node.
func Goto(nodes ...string) Command { return Command{}.Goto(nodes...) }

// Send starts a task of a [Worker] in the next step, with a payload of its own.
// Several Sends to one Worker start several tasks, Send("w", 1).Send("w", 2); their
// results are folded in the order of the Sends. The payload is stored in the checkpoint
// as JSON.
func Send(node string, payload any) Command { return Command{}.Send(node, payload) }

// Goto returns c with more targets.
func (c Command) Goto(nodes ...string) Command {
	for _, node := range nodes {
		if c.to == "" && c.last == nil && node != "" {
			c.to = node
		} else {
			c = c.add(more{text: node})
		}
	}
	return c
}

// Send returns c with one more task.
func (c Command) Send(node string, payload any) Command {
	return c.add(more{kind: moreSend, text: node, payload: payload})
}

// WithReason returns c with a reason, which the history stores with the decision: what
// the state said that made the node go there. It changes nothing else.
func (c Command) WithReason(format string, args ...any) Command {
	return c.add(more{kind: moreReason, text: cmp.Or(fmt.Sprintf(format, args...), "no reason")})
}

// WithTimeout gives the task of the Send just before it a timeout of its own for each
// attempt, in place of that of the Worker's Policy: Send("w", item).WithTimeout(time.Minute).
// It is stored with the Send. 0 leaves the Worker's; anywhere else than after a Send it
// is an error of the node that returns c.
func (c Command) WithTimeout(d time.Duration) Command {
	if d == 0 {
		return c
	}
	if c.last == nil || c.last.kind != moreSend {
		return c.add(more{kind: moreTimeout, within: d})
	}
	m := *c.last
	m.within = d
	c.last = &m
	return c
}

func (c Command) add(m more) Command {
	m.before, m.n = c.last, 1
	if c.last != nil {
		m.n += c.last.n
	}
	c.last = &m
	return c
}

// additions returns what was added after the first target, in order, in the memory of a buffer.
func (c Command) additions(buffer []*more) []*more {
	if c.last == nil {
		return buffer[:0]
	}
	all := slices.Grow(buffer[:0], int(c.last.n))[:c.last.n]
	for m := c.last; m != nil; m = m.before {
		all[m.n-1] = m
	}
	return all
}

// String returns the calls that make c, such as Goto("a").Send("w", 3): two Commands
// with the same text do the same. So a test of a Router compares texts; the reason given
// with WithReason is part of them.
func (c Command) String() string {
	var calls []string
	if c.to != "" {
		calls = append(calls, fmt.Sprintf("Goto(%q)", c.to))
	}
	for _, m := range c.additions(nil) {
		switch m.kind {
		case moreParent:
			calls = append(calls, m.up.String())
		case moreReason:
			calls = append(calls, fmt.Sprintf("WithReason(%q)", m.text))
		case moreSend:
			calls = append(calls, fmt.Sprintf("Send(%q, %#v)", m.text, m.payload))
			if m.within != 0 {
				calls = append(calls, fmt.Sprintf("WithTimeout(%v)", m.within))
			}
		case moreTimeout:
			calls = append(calls, fmt.Sprintf("WithTimeout(%v)", m.within))
		default:
			calls = append(calls, fmt.Sprintf("Goto(%q)", m.text))
		}
	}
	return strings.Join(calls, ".")
}

// zero reports whether the Command is empty.
func (c Command) zero() bool { return c.to == "" && c.last == nil }

// empty reports whether c names no target.
func (c Command) empty() bool {
	for m := c.last; m != nil; m = m.before {
		if m.kind != moreReason {
			return false
		}
	}
	return c.to == ""
}

// parentCommand is a Command on its way to the parent, in the form in which it is stored.
type parentCommand struct {
	Writes []fieldWrite    `json:"writes,omitempty"`
	Fields json.RawMessage `json:"fields,omitempty"` // writes by name, as in an input
	Goto   []string        `json:"goto,omitempty"`
	Sends  []sendResult    `json:"sends,omitempty"`
	Why    string          `json:"why,omitempty"` // what was said of them
	Up     *parentCommand  `json:"up,omitempty"`  // and on to the parent's parent

	err error // it cannot be stored
}

func (a *parentCommand) String() string {
	var calls []string
	for _, to := range a.Goto {
		calls = append(calls, fmt.Sprintf("Goto(%q)", to))
	}
	for _, s := range a.Sends {
		calls = append(calls, fmt.Sprintf("Send(%q, %s)", s.Node, s.Payload))
	}
	if a.Up != nil {
		calls = append(calls, a.Up.String())
	}
	what := append(calls, "InParent()")
	if data, _ := json.Marshal(a.Writes); len(a.Writes) > 0 || a.Fields != nil {
		what[len(what)-1] = fmt.Sprintf("InParent(%s%s)", data, a.Fields)
	}
	return strings.Join(what, ".")
}
