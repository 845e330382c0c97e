package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/internal/schedule"
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

// program is a compiled graph of any state: what the executor runs. It does not
// change, and all runs share it.
type program struct {
	name   string
	shape  step.Program
	nodes  []node // numbered as in shape
	schema *state.Schema
	expire []int // the fields that live for one step
	breaks bool  // some node has a static interrupt
	safe   bool  // folding the writes of one task cannot fail
	cfg    Config
	hash   string
}

// node is a compiled node.
type node struct {
	job
	name          string
	branches      []branch
	payload       *payloadType
	child         *program // the graph it runs, if it is one; for drawings
	cache         *caching // nil: its results are not cached
	rescue        *job     // its handler, or nil
	ends          bool     // a static edge leads to End
	leaves        bool     // it may go to the parent, or its handler or a branch may
	mustGo        bool     // it has no static edge, so its Command must name a target
	straight      bool     // it has a static edge and no branch: no Command is needed
	quick         bool     // running it is to call it: there is no cache, limit or budget
	before, after bool     // a static interrupt
}

// job is a function of the user and how it is run: a node's, or its handler's.
type job struct {
	call     call
	targets  targets
	limit    time.Duration // of one attempt; 0 is none
	idle     time.Duration // without a sign of life; 0 is none
	retry    *Retry
	budgeted bool           // the retries have a Budget
	gate     *schedule.Gate // each attempt passes it; nil is none
	parallel int            // at most so many attempts at once in a run; 0 is no bound
	plain    bool           // no limit of any kind holds
}

type branch struct {
	call    call
	targets targets
}

// compile turns the draft into a program, or lists all that is wrong with it.
func (d *draft) compile(cfg Config, pos string) (*program, error) {
	c := compiler{draft: d, pos: pos, entry: -1, limits: cfg.Limits, mistakes: slices.Clone(d.mistakes)}
	c.checkConfig(cfg)
	c.addMigrations(cfg)
	c.addNodes()
	c.addEdges()
	c.addBranches()
	c.addJoins()
	c.addDefers()
	c.addBreakpoints(cfg)
	c.addRescues()
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
	c.p.breaks = len(cfg.InterruptBefore)+len(cfg.InterruptAfter) > 0
	c.p.name, c.p.cfg = d.name, cfg.withDefaults()
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
	pos      string
	entry    int // the number of the node that chooses where a turn begins; -1 if no branch leads from Start
	p        program
	limits   *Limits
	index    map[string]int // node name → number
	places   []string       // node number → where it was added
	mistakes []Mistake
}

func (c *compiler) fail(pos, format string, args ...any) {
	c.failAs(MistakeInCall, pos, format, args...)
}

func (c *compiler) failAs(kind MistakeKind, pos, format string, args ...any) {
	c.mistakes = append(c.mistakes, Mistake{Pos: pos, What: fmt.Sprintf(format, args...), Kind: kind})
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
	c.index = map[string]int{}
	sorted := slices.Clone(c.nodes)
	if at := slices.IndexFunc(c.branches, func(b branchDraft) bool { return b.from == Start }); at >= 0 {
		sorted = append(sorted, nodeDraft{name: Start, call: doNothing, pos: c.branches[at].pos, entry: true})
	}
	slices.SortStableFunc(sorted, func(a, b nodeDraft) int { return cmp.Compare(a.name, b.name) })
	for _, n := range sorted {
		if why := badName(n.name); why != "" && !n.entry {
			c.fail(n.pos, "node %q: %s", n.name, why)
		}
		if n.call == nil {
			c.fail(n.pos, "node %q has no function", n.name)
		}
		j := c.job("node "+quote(n.name), n)
		if first, dup := c.index[n.name]; dup && !n.entry {
			c.fail(n.pos, "node %q was already added at %s", n.name, c.places[first])
			continue
		}
		if n.entry {
			c.entry = len(c.places)
		} else {
			c.index[n.name] = len(c.places)
		}
		c.places = append(c.places, n.pos)
		c.p.nodes = append(c.p.nodes, node{name: n.name, job: j, payload: n.payload, child: n.child, cache: n.cache,
			quick: j.plain && !j.budgeted && n.cache == nil})
		c.p.shape.Nodes = append(c.p.shape.Nodes, step.Node{Name: n.name})
	}
	for _, n := range sorted {
		if i, ok := c.index[n.name]; ok && c.places[i] == n.pos {
			c.p.nodes[i].targets = c.resolve(n.pos, "node "+quote(n.name), c.withoutParent(i, n.targets))
		}
	}
}

// job returns what runs for a node or a handler, without its targets.
func (c *compiler) job(who string, d nodeDraft) job {
	var p Policy
	pos := d.pos
	switch {
	case d.policy != nil:
		p = *d.policy
	case c.defaults != nil:
		who, p, pos = "the defaults", c.defaults.policy, c.defaults.pos
	}
	if err := p.check(); err != nil {
		c.fail(pos, "%s: policy: %v", who, err)
		return job{call: d.call}
	}
	j := job{call: d.call, limit: p.Timeout, idle: p.Idle, retry: &p.Retry, budgeted: p.Retry.budgeted()}
	if p.Limit != "" {
		if j.gate = c.limits.find(p.Limit); j.gate == nil {
			c.fail(pos, "%s: policy: Config.Limits has no %q%s", who, p.Limit, hint(p.Limit, c.limits.names()))
		}
	}
	j.parallel = p.Parallel
	j.plain = j.limit == 0 && j.idle == 0 && j.gate == nil && j.parallel == 0
	return j
}

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

func (c *compiler) addEdges() {
	for _, e := range c.edges {
		to, known := c.lookup(e.to)
		switch {
		case e.to == Start:
			c.fail(e.pos, "an edge from %q leads to Start; nothing can", e.from)
			continue
		case !known:
			c.fail(e.pos, "an edge from %q leads to %q, which is not a node%s", e.from, e.to, c.suggest(e.to))
		case to != end && c.p.nodes[to].payload != nil:
			c.fail(e.pos, "an edge from %q leads to %q, a Worker; only a Send gives it its payload", e.from, e.to)
		}
		if e.from == Start {
			switch {
			case to == end && known:
				c.fail(e.pos, "an edge leads from Start to End; there is nothing to run")
			case !known:
			case c.entry >= 0:
				c.p.shape.Nodes[c.entry].Next = insert(c.p.shape.Nodes[c.entry].Next, to)
			default:
				c.p.shape.Start = insert(c.p.shape.Start, to)
			}
			continue
		}
		from, ok := c.source(e.pos, "an edge", e.from)
		switch {
		case !ok || !known:
		case to == end:
			c.p.nodes[from].ends = true
		default:
			c.p.shape.Nodes[from].Next = insert(c.p.shape.Nodes[from].Next, to)
		}
	}
}

// insert adds n to a sorted set of node numbers.
func insert(set []int, n int) []int {
	at, found := slices.BinarySearch(set, n)
	if found {
		return set
	}
	return slices.Insert(set, at, n)
}

func (c *compiler) source(pos, what, name string) (n int, ok bool) {
	switch name {
	case End:
		c.fail(pos, "%s leads from End; nothing follows it", what)
		return 0, false
	case Start:
		c.fail(pos, "%s leads from Start; only an edge and a branch can", what)
		return 0, false
	}
	if n, ok = c.index[name]; !ok {
		c.fail(pos, "%s leads from %q, which is not a node%s", what, name, c.suggest(name))
	}
	return n, ok
}

func (c *compiler) addBranches() {
	for _, b := range c.branches {
		if len(b.targets) == 0 {
			c.fail(b.pos, "a branch from %q declares no targets", b.from)
		}
		from, ok := c.entry, true
		if b.from != Start {
			from, ok = c.source(b.pos, "a branch", b.from)
		}
		if ok {
			b.targets = c.withoutParent(from, b.targets)
		}
		ts := c.resolve(b.pos, "a branch from "+quote(b.from), b.targets)
		if ok {
			c.p.nodes[from].branches = append(c.p.nodes[from].branches, branch{b.call, ts})
		}
	}
}

func (c *compiler) addJoins() {
	into := map[int][]int{} // node number → the joins that lead to it
	for _, j := range c.joins {
		to, known := c.index[j.to]
		switch {
		case !known:
			c.fail(j.pos, "a join leads to %q, which is not a node%s", j.to, c.suggest(j.to))
		case c.p.nodes[to].payload != nil:
			c.fail(j.pos, "a join leads to %q, a Worker; only a Send gives it its payload", j.to)
		}
		if len(j.from) == 0 {
			c.fail(j.pos, "the join into %q waits for nothing", j.to)
		}
		var sources []int
		for _, name := range j.from {
			if from, ok := c.source(j.pos, "the join into "+quote(j.to), name); ok {
				sources = insert(sources, from)
			}
		}
		if slices.ContainsFunc(into[to], func(o int) bool { return slices.Equal(c.p.shape.Joins[o].Sources, sources) }) {
			continue // declared twice, like an edge
		}
		into[to] = append(into[to], len(c.p.shape.Joins))
		for _, s := range sources {
			c.p.shape.Nodes[s].Feeds = append(c.p.shape.Nodes[s].Feeds, len(c.p.shape.Joins))
		}
		c.p.shape.Joins = append(c.p.shape.Joins, step.Join{Target: to, Sources: sources})
	}
}

func (c *compiler) addDefers() {
	for _, d := range c.defers {
		if n, ok := c.index[d.name]; ok {
			c.p.shape.Nodes[n].Deferred = true
		} else {
			c.fail(d.pos, "%q is deferred, but is not a node%s", d.name, c.suggest(d.name))
		}
	}
}

func (c *compiler) addBreakpoints(cfg Config) {
	mark := func(names []string, set func(*node)) {
		for _, name := range names {
			if name == "*" {
				for i := range c.p.nodes {
					if i != c.entry {
						set(&c.p.nodes[i])
					}
				}
			} else if n, ok := c.index[name]; ok {
				set(&c.p.nodes[n])
			} else {
				c.fail(c.pos, "the run is to be interrupted at %q, which is not a node%s", name, c.suggest(name))
			}
		}
	}
	mark(cfg.InterruptBefore, func(n *node) { n.before = true })
	mark(cfg.InterruptAfter, func(n *node) { n.after = true })
}
