package graph

import "slices"

// Start is where a turn begins and End where a path ends. They are names for edges
// and targets, not nodes.
const (
	Start = "__start__"
	End   = "__end__"
)

// Command says where a run goes after a node, beside the node's static edges. The
// zero Command says nothing. Commands are values: the methods return a new one.
type Command struct {
	to   string // the first target: most commands have one, and it costs nothing
	rest *rest  // never changed once it is set
}

// rest is what few commands have.
type rest struct {
	to    []string // the other targets
	sends []send
}

type send struct {
	node    string
	payload any
}

// Goto makes the named nodes due in the next step. Going to End ends this path and
// leaves others alone. A target must have been declared by the node.
func Goto(nodes ...string) Command { return Command{}.Goto(nodes...) }

// Send starts a task of a [Worker] in the next step, with a payload of its own.
// Several Sends to one Worker start several tasks; their results are folded in the
// order of the Sends. The payload is stored in the checkpoint as JSON.
func Send(node string, payload any) Command { return Command{}.Send(node, payload) }

// Goto returns c with more targets.
func (c Command) Goto(nodes ...string) Command {
	if c.to == "" && len(nodes) > 0 && nodes[0] != "" {
		c.to, nodes = nodes[0], nodes[1:]
	}
	if len(nodes) > 0 {
		r := c.copyRest()
		r.to = append(r.to, nodes...)
		c.rest = &r
	}
	return c
}

// Send returns c with one more task.
func (c Command) Send(node string, payload any) Command {
	r := c.copyRest()
	r.sends = append(r.sends, send{node, payload})
	c.rest = &r
	return c
}

func (c Command) copyRest() rest {
	if c.rest == nil {
		return rest{}
	}
	return rest{slices.Clip(c.rest.to), slices.Clip(c.rest.sends)}
}

func (c Command) empty() bool { return c.to == "" && c.rest == nil }
