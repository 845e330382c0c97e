package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/step"
	"github.com/weftrun/weft/state"
)

// Compile checks the graph and returns it ready to run. It returns a
// *CompileError that lists every mistake: unknown, duplicate and unreachable
// nodes, dead ends, a missing entry, undeclared targets, a state type that cannot
// be stored, a policy that cannot hold. Later calls on b do not change the graph.
func (b *Builder[S]) Compile(cfg Config) (*Graph[S], error) {
	p, err := b.draft().compile(cfg, caller(1))
	if err != nil {
		return nil, err
	}
	return &Graph[S]{p}, nil
}

// compile turns the draft into a program, or lists all that is wrong with it.
func (d *draft) compile(cfg Config, pos place) (*program, error) {
	c := compiler{draft: d, pos: pos, entry: -1, limits: cfg.Limits, observed: cfg.Observer != nil, mistakes: slices.Clone(d.mistakes)}
	c.checkConfig(cfg)
	c.addMigrations(cfg)
	c.addNodes()
	c.addEdges()
	c.addBranches()
	c.addJoins()
	c.addDefers()
	c.addBreakpoints(cfg)
	c.addHandlers()
	c.addLabels()
	if c.entry >= 0 {
		c.p.shape.Start = []int{c.entry}
	}
	c.checkPaths()
	c.checkRescues()
	if len(c.mistakes) > 0 {
		slices.SortStableFunc(c.mistakes, func(a, b Mistake) int { return comparePos(a.Pos, b.Pos) })
		return nil, &CompileError{Graph: d.name, Mistakes: slices.Compact(c.mistakes)}
	}
	c.p.safe = d.schema.Safe()
	c.p.name, c.p.cfg = d.name, cfg.withDefaults()
	c.p.blobs = checkpoint.BlobsIn(cfg.Store)
	for i, ch := range d.schema.Blank().Channels {
		if _, ok := ch.(state.Expirer); ok {
			c.p.expire = append(c.p.expire, i)
		}
	}
	c.p.hash = c.p.digest()
	return &c.p, nil
}

// comparePos orders file:line:col positions by file and then by number.
func comparePos(a, b string) int {
	as, bs := strings.Split(a, ":"), strings.Split(b, ":")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return cmp.Or(cmp.Compare(len(as[i]), len(bs[i]))*numeric(as[i], bs[i]), cmp.Compare(as[i], bs[i]))
		}
	}
	return cmp.Compare(len(as), len(bs))
}

// numeric returns 1 if both are numbers, which compare by length first, and else 0.
func numeric(a, b string) int {
	if strings.Trim(a+b, "0123456789") == "" {
		return 1
	}
	return 0
}

// compiler is the state of one compilation.
type compiler struct {
	*draft
	pos      place
	entry    int // the number of the node that chooses where a turn begins; -1 if no branch leads from Start
	p        program
	limits   *Limits
	observed bool           // the graph has an Observer
	index    map[string]int // node name → number
	places   []place        // node number → where it was added
	mistakes []Mistake
}

func (c *compiler) fail(pos place, format string, args ...any) {
	c.failAs(MistakeInCall, pos, format, args...)
}

func (c *compiler) failAs(kind MistakeKind, pos place, format string, args ...any) {
	c.mistakes = append(c.mistakes, Mistake{Pos: pos.String(), What: fmt.Sprintf(format, args...), Kind: kind})
}

func (c *compiler) checkConfig(cfg Config) {
	if c.name == "" {
		c.fail(c.draft.pos, "the graph has no name")
	}
	if err := cfg.check(); err != nil {
		c.fail(c.pos, "%v", err)
	}
	var se *state.SchemaError
	if errors.As(c.schemaErr, &se) {
		for _, m := range se.Mistakes {
			c.fail(c.draft.pos, "state %s: %s: %s", se.Type, m.Path, m.What)
		}
	} else if c.schemaErr != nil {
		c.fail(c.draft.pos, "%v", c.schemaErr)
	}
}

// doNothing is the function of the node from which the branches of Start lead.
func doNothing(context.Context, any, any) (Command, error) { return Command{}, nil }

// addNodes numbers the nodes by name.
func (c *compiler) addNodes() {
	drafts := c.nodes
	if at := slices.IndexFunc(c.branches, func(b branchDraft) bool { return b.from == Start }); at >= 0 {
		drafts = append(slices.Clip(drafts), nodeDraft{name: Start, call: doNothing, pos: c.branches[at].pos, entry: true})
	}
	sorted := make([]*nodeDraft, len(drafts)) // drafts are large
	for i := range drafts {
		sorted[i] = &drafts[i]
	}
	slices.SortStableFunc(sorted, func(a, b *nodeDraft) int { return cmp.Compare(a.name, b.name) })
	c.index = make(map[string]int, len(sorted))
	c.places = make([]place, 0, len(sorted))
	c.p.nodes = make([]node, 0, len(sorted))
	c.p.shape.Nodes = make([]step.Node, 0, len(sorted))
	added := make([]*nodeDraft, 0, len(sorted)) // by number
	for _, n := range sorted {
		if why := badName(n.name); why != "" && !n.entry {
			c.fail(n.pos, "node %q: %s", n.name, why)
		}
		if n.call == nil {
			c.fail(n.pos, "node %q has no function", n.name)
		}
		j := c.job("node ", n.name, n)
		if first, dup := c.index[n.name]; dup && !n.entry {
			c.fail(n.pos, "node %q was already added at %s", n.name, c.places[first])
			continue
		}
		if n.entry {
			c.entry = len(c.places)
		} else {
			c.index[n.name] = len(c.places)
		}
		added = append(added, n)
		c.places = append(c.places, n.pos)
		c.p.nodes = append(c.p.nodes, node{name: n.name, job: j, outcome: step.Outcome{Node: len(c.p.nodes)}, payload: n.payload, child: n.child, cache: n.cache,
			quick: j.plain && !j.budgeted && n.cache == nil && !c.observed})
		c.p.shape.Nodes = append(c.p.shape.Nodes, step.Node{Name: n.name})
	}
	for i, n := range added {
		if !n.entry {
			c.markLeaves(i, n.targets)
			c.p.nodes[i].targets = c.resolve(n.pos, "node ", n.name, n.targets)
		}
	}
}

// job returns what runs for a node or a handler, without its targets. Mistakes name it by kind and
// name.
func (c *compiler) job(kind, name string, d *nodeDraft) job {
	who := func() string { return kind + quote(name) }
	policy, pos := d.policy, d.pos
	switch {
	case policy != nil:
	case c.defaults != nil:
		who = func() string { return "the defaults" }
		policy, pos = &c.defaults.policy, c.defaults.pos
	default:
		return job{call: d.call, retry: &noPolicy.Retry, plain: true}
	}
	p := *policy
	if err := p.check(); err != nil {
		c.fail(pos, "%s: policy: %v", who(), err)
		return job{call: d.call}
	}
	j := job{call: d.call, limit: p.Timeout, idle: p.Idle, retry: &policy.Retry, budgeted: p.Retry.budgeted()}
	if p.Limit != "" {
		if j.gate, j.shared = c.limits.find(p.Limit), p.Limit; j.gate == nil {
			c.fail(pos, "%s: policy: Config.Limits has no %q%s", who(), p.Limit, hint(p.Limit, c.limits.names()))
		}
	}
	if p.Child && d.child == nil {
		c.fail(pos, "%s: policy: Child is for a node that runs a graph", who())
	}
	j.parallel, j.queue, j.apart = p.Parallel, p.TaskQueue, p.Child
	j.plain = j.limit == 0 && j.idle == 0 && j.gate == nil && j.parallel == 0
	return j
}

// noPolicy is the policy of nodes that have none. It does not change.
var noPolicy Policy

func badName(name string) string {
	switch {
	case name == "":
		return "a node needs a name"
	case name == Start || name == End || name == Parent || name == "*":
		return "the name is reserved"
	case strings.ContainsAny(name, "|:/\x00\n\r\t"):
		return `a name may not contain | : / or control characters`
	}
	return ""
}

func quote(s string) string { return `"` + s + `"` }

func (c *compiler) lookup(name string) (n int, ok bool) {
	if name == End {
		return end, true
	}
	n, ok = c.index[name]
	return n, ok
}

func (c *compiler) addBreakpoints(cfg Config) {
	c.p.interrupt(cfg.InterruptBefore, cfg.InterruptAfter)
	for _, name := range slices.Concat(cfg.InterruptBefore, cfg.InterruptAfter) {
		if c.p.isUnknown(name) {
			c.fail(c.pos, "the run is to be interrupted at %q, which is not a node%s", name, c.suggest(name))
		}
	}
}

// addMigrations gives the schema the migrations of its fields.
func (c *compiler) addMigrations(cfg Config) {
	c.p.schema = c.schema
	if c.schemaErr != nil || c.schema == nil {
		return
	}
	with, err := c.schema.Migrating(cfg.Migrate)
	if err == nil {
		c.p.schema = with
		return
	}
	var se *state.SchemaError
	if !errors.As(err, &se) {
		c.fail(c.pos, "%v", err)
		return
	}
	for _, m := range se.Mistakes {
		c.fail(c.pos, "Config.Migrate: field %s: %s", m.Path, m.What)
	}
}
