package refmodel

import (
	"fmt"
	"slices"
)

// The ends of a graph, as package graph spells them.
const (
	Start = "__start__"
	End   = "__end__"
)

// Spec is a graph as data, with the inputs of its turns.
type Spec struct {
	Nodes         []Node
	Edges         [][2]string
	Joins         []Join
	Before, After []string // static interrupts
	MaxSteps      int
	MaxTasks      int
	Turns         [][]Op // what each input writes
}

// Node is one node and the branches behind it.
type Node struct {
	Name     string
	Worker   bool // Sends start it, with an int
	Deferred bool
	Attempts int
	Targets  []string
	Script   []Op
	Branches []Branch
	Sub      *Spec // a subgraph: Script makes its input, Out brings home what it ended with
	Out      []Op
}

// Branch is a decision after a node: a script that only goes.
type Branch struct {
	Targets []string
	Script  []Op
}

// Join makes To due when all of From have completed.
type Join struct {
	To   string
	From []string
}

// Op is one act of a script.
type Op struct {
	When  Cond
	Do    string // write, overwrite, remove, lap, ask, both, fail, panic, goto, send
	Field string // write, overwrite, remove, ask, both: where it writes
	From  string // a field whose reading is added to N, or ""
	N     int    // the value; fail, panic: how often; ask, both: odd drops the error of asking
	Key   int    // of a map; lap: which; ask: such questions are counted together; fail, panic: its own
	To    string // goto, send
}

// Cond holds when Field reads Is modulo Mod, and always when Mod is 0. With Below it holds
// while lap Lap has been counted less often than that.
type Cond struct {
	Field      string
	Mod, Is    int
	Lap, Below int
}

// Target is where a script goes. With Send it starts a Worker with Payload.
type Target struct {
	To      string
	Send    bool
	Payload int
}

// Task is what a script needs of its task. The state is seen with the task's own writes.
type Task interface {
	// Read returns a number that depends on all that the field holds, and on its order.
	Read(field string) int
	// Lap returns how often a lap was counted.
	Lap(n int) int
	// Write writes n to a field; how is "write", "overwrite" or "remove".
	Write(field, how string, key, n int)
	// Ask asks a question; ok is false if there is no answer yet.
	Ask(key, prompt string) (answer int, ok bool)
	// Fails reports whether the action with this key must fail. It fails limit times.
	Fails(key, limit int) bool
}

// What stops a script.
const (
	errFail = stop("failed")
	errAsk  = stop("interrupted")
)

// stop is why a script, a task or a run does not go on: the status of its Outcome.
type stop string

func (s stop) Error() string { return "refmodel: " + string(s) }

// run runs a script. payload is that of a Worker.
func run(script []Op, t Task, node string, payload int) (to []Target, err error) {
	for _, op := range script {
		if !op.When.holds(t) {
			continue
		}
		n := op.value(t) + payload
		switch op.Do {
		case "write", "overwrite", "remove":
			t.Write(op.Field, op.Do, op.Key, n)
		case "lap":
			t.Write("laps", "write", op.Key, t.Lap(op.Key)+1)
		case "ask", "both":
			if err := op.ask(t, fmt.Sprintf("%s %d %d", node, payload, n)); err != nil {
				return nil, err
			}
		case "fail", "panic":
			if t.Fails(op.Key, op.N) {
				if op.Do == "panic" {
					panic(errFail)
				}
				return nil, errFail
			}
		case "goto":
			to = append(to, Target{To: op.To})
		case "send":
			to = append(to, Target{To: op.To, Send: true, Payload: n})
		default:
			panic("refmodel: unknown op " + op.Do)
		}
	}
	return to, nil
}

// ask asks one question, or both of two at once, and writes the answers.
func (op Op) ask(t Task, prompt string) error {
	key := ""
	if op.Key > 0 {
		key = fmt.Sprint("k", op.Key)
	}
	first, ok := t.Ask(key, prompt)
	second, also := 0, true
	if op.Do == "both" {
		second, also = t.Ask(key, prompt+" too")
	}
	if !ok || !also {
		if op.N%2 == 1 {
			return nil // swallowed, and yet the task waits
		}
		return errAsk
	}
	t.Write(op.Field, "write", op.Key, first)
	if op.Do == "both" {
		t.Write("list", "write", 0, second)
	}
	return nil
}

func (op Op) value(t Task) int {
	n := op.N
	if op.From != "" {
		n += t.Read(op.From)
	}
	return n % modulus
}

// modulus keeps numbers short.
const modulus = 997

func (c Cond) holds(t Task) bool {
	switch {
	case c.Below > 0:
		return t.Lap(c.Lap) < c.Below
	case c.Mod > 0:
		return t.Read(c.Field)%c.Mod == c.Is
	}
	return true
}

// mix adds x to a reading.
func mix(h, x int) int { return ((h*31+x+1)%modulus + modulus) % modulus }

// Field describes how a field of the state merges writes.
type Field struct {
	Name    string
	Kind    string
	Turn    bool
	Default int
}

// Fields are the fields of every state. laps counts the runs of each node in a turn, by
// which scripts end their loops.
var Fields = []Field{
	{Name: "value", Kind: "value"},
	{Name: "mood", Kind: "value", Turn: true, Default: 3},
	{Name: "latest", Kind: "latest"},
	{Name: "list", Kind: "list"},
	{Name: "draft", Kind: "list", Turn: true},
	{Name: "sum", Kind: "sum"},
	{Name: "tries", Kind: "sum", Turn: true, Default: 7},
	{Name: "max", Kind: "max"},
	{Name: "min", Kind: "min"},
	{Name: "map", Kind: "map"},
	{Name: "set", Kind: "set"},
	{Name: "spark", Kind: "ephemeral"},
	{Name: "topic", Kind: "topic"},
	{Name: "fold", Kind: "reduced"},
	{Name: "laps", Kind: "map", Turn: true},
}

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
	panic("refmodel: no node " + name)
}
