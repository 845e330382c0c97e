package workflow

import (
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/exprs"
	"github.com/weftrun/weft/state/record"
)

// plan is a file as it was written: its shape is checked, its names and expressions
// are not yet.
type plan struct {
	at            *yaml.Node // the root
	root          object     // its keys
	name          string
	description   string
	types         map[string]record.Type
	fields        []field
	input, output []ref // nil when the section is missing
	limits        limits
	runRetry      graph.Retry
	defaults      policy
	before, after []ref // where a run pauses
	config        []setting
	env           []variable
	secrets       []variable
	start         []ref
	nodes         []*node
	schedules     []*schedule
	tests         []*test
}

// ref is a name and where it is used.
type ref struct {
	name string
	at   *yaml.Node
}

// field is a field of the state.
type field struct {
	record.Field
	at       *yaml.Node
	reducer  string
	about    string // its description
	required bool
	untyped  bool // its type could not be read, and was reported
}

// limits bound a run. What is zero is left to the caller.
type limits struct {
	steps, concurrency, fanout, state int
	timeout                           time.Duration
	shared                            []sharedLimit
}

// node is one node: what was written, and what the checker made of it.
type node struct {
	ref
	policy
	body     *yaml.Node // all that was written
	cond     *condition
	each     *forEach
	join     []ref
	kind     ref // the key of its kind, or the name after uses
	args     *yaml.Node
	input    *yaml.Node // of a workflow
	output   object
	cache    *caching
	idem     *yaml.Node // its idempotency key
	deferred bool
	requires []ref
	provides []ref
	next     *next

	work       work // what it does, once it was checked
	outputs    []assignment
	onFailures []onFailurePlan
	reads      exprs.Reads // of its expressions
}

// forEach runs a node once for each item of a list.
type forEach struct {
	at       *yaml.Node
	in       *yaml.Node
	alias    ref
	max      int
	parallel int  // items at once; 0 is no bound
	skip     bool // an item that fails is left out
	list     *template
}

// condition is an expression that is true or false.
type condition struct {
	src  *source
	at   *yaml.Node
	test *exprs.Condition
}

func (c *condition) holds(vars map[string]any) (bool, error) {
	ok, err := c.test.Eval(vars)
	if err != nil {
		return false, c.src.runError(c.at, err)
	}
	return ok, nil
}

// next has the ways on from a node.
type next struct {
	src     *source
	at      *yaml.Node
	ways    []way
	derived bool // from requires and provides
}

// way is one possibility of a next. Without a condition it is always taken.
type way struct {
	cond *condition
	to   []ref
}

// maxReason is how many bytes of a condition are the reason of a choice.
const maxReason = 200

// reason returns why a way is taken.
func (w way) reason() string {
	if w.cond == nil {
		return "else"
	}
	text := strings.Join(strings.Fields(w.cond.at.Value), " ")
	if inner, ok := strings.CutPrefix(text, "${{"); ok && strings.HasSuffix(inner, "}}") {
		text = strings.TrimSpace(strings.TrimSuffix(inner, "}}"))
	}
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}

// conditional reports whether the node decides at run time where to go.
func (n *next) conditional() bool { return n != nil && (len(n.ways) != 1 || n.ways[0].cond != nil) }

// targets returns all that n may lead to, each once.
func (n *next) targets() []ref {
	if n == nil {
		return nil
	}
	most := 0
	for _, w := range n.ways {
		most += len(w.to)
	}
	seen, all := make(map[string]bool, most), make([]ref, 0, most)
	for _, w := range n.ways {
		for _, r := range w.to {
			if !seen[r.name] {
				seen[r.name] = true
				all = append(all, r)
			}
		}
	}
	return all
}

// field returns the field with this name, or nil.
func (p *plan) field(name string) *field {
	for i := range p.fields {
		if p.fields[i].Name == name {
			return &p.fields[i]
		}
	}
	return nil
}

func (p *plan) node(name string) *node {
	for _, n := range p.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

func (p *plan) fieldNames() []string {
	names := make([]string, len(p.fields))
	for i, f := range p.fields {
		names[i] = f.Name
	}
	return names
}

func (p *plan) fieldHint() string {
	if len(p.fields) == 0 {
		return "the workflow has no state"
	}
	return "known are " + strings.Join(p.fieldNames(), ", ")
}

func (p *plan) nodeNames() []string {
	names := make([]string, len(p.nodes))
	for i, n := range p.nodes {
		names[i] = n.name
	}
	return names
}
