package workflow

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/internal/exprs"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/record"
)

// checker fills a plan with what can run, and reports what cannot.
type checker struct {
	*source
	plan        *plan
	load        *loader
	rel         string // the file's path below the root
	shape       *record.Shape
	state       exprs.Type // these are what expressions see by the same names
	env, config exprs.Type
	timed       bool // the state has timeField

	called []*Workflow // that entries name
	misled bool        // a way leads to no node, so the paths say nothing
}

// check compiles every expression and resolves every name of the plan.
func (c *checker) check() {
	c.checkTypes()
	c.shareLimits()
	c.checkVariables()
	c.checkNames("input", c.plan.input)
	c.checkNames("output", c.plan.output)
	for _, f := range c.plan.fields {
		if f.required && !c.plan.takes(f.Name) {
			c.fail(f.at, "WF408", "field %s is required, but input does not list it", f.Name)
		}
	}
	c.checkTargets(c.plan.start, "start")
	for _, n := range c.plan.nodes {
		kind, registered := c.opts.Kinds[n.kind.name]
		c.plan.defaults.fillDefaults(n, registered && !kind.Waits)
		c.checkNode(n)
	}
	for _, n := range c.plan.nodes {
		c.checkJoin(n)
	}
	c.checkPauses("interrupt.before", c.plan.before)
	c.checkPauses("interrupt.after", c.plan.after)
	c.checkShape()
	for _, s := range c.plan.schedules {
		c.checkSchedule(s)
	}
	for _, t := range c.plan.tests {
		c.checkTest(t)
	}
}

func (c *checker) checkTypes() {
	fields := map[string]exprs.Type{}
	for _, f := range c.plan.fields {
		fields[f.Name] = exprType(f.Type)
	}
	c.state = exprs.Object(fields)
	c.env, c.config = c.plan.envType(), c.plan.configType()
}

// checkVariables reports a name that is reserved.
func (c *checker) checkVariables() {
	if f := c.plan.field(configField); f != nil && len(c.plan.config) > 0 {
		c.fail(f.at, "WF416", "the field name %s is reserved for config", configField)
	}
}

func (c *checker) checkPauses(what string, refs []ref) {
	for _, r := range refs {
		if r.name != "*" && c.plan.node(r.name) == nil {
			c.fail(r.at, "WF304", "%s names %q, which is not a node%s", what, r.name, didYouMean(r.name, c.plan.nodeNames()))
			c.misled = true
		}
	}
}

// checkShape makes the shape of the state. A file that reads the time of the turn, or
// names one that does, has a field more.
func (c *checker) checkShape() {
	records := make([]record.Field, 0, len(c.plan.fields)+1)
	for _, f := range c.plan.fields {
		records = append(records, f.record())
	}
	c.timed = usesTime.Match(c.text) || slices.ContainsFunc(c.plan.nodes, (*node).readsTime)
	if f := c.plan.field(timeField); c.timed && f != nil {
		c.fail(f.at, "WF416", "the field name %s is reserved for run.time", timeField)
	}
	if whole, err := record.ParseType("int", nil); c.timed && err == nil {
		records = append(records, record.Field{Name: timeField, Type: whole, Turn: true, Unhashed: true})
	}
	if len(c.plan.config) > 0 {
		records = append(records, record.Field{Name: configField, Turn: true})
	}
	var err error
	var se *state.SchemaError
	if c.shape, err = record.NewShape(records...); errors.As(err, &se) {
		for _, m := range se.Mistakes {
			if f := c.plan.field(m.Path); f != nil && !c.failedIn(f.at.Line) {
				c.fail(f.at, "WF410", "field %s: %s", f.Name, m.What)
			}
		}
	}
}

// failedIn reports whether a mistake in this line is known already.
func (c *checker) failedIn(line int) bool {
	return slices.ContainsFunc(c.found, func(p Problem) bool { return p.File == c.path && p.Line == line })
}

func (c *checker) checkNames(what string, refs []ref) {
	seen := map[string]bool{}
	for _, r := range refs {
		if c.plan.field(r.name) == nil {
			c.fail(r.at, "WF409", "%s names %q, which is not a field of the state%s", what, r.name, didYouMean(r.name, c.plan.fieldNames()))
		}
		if seen[r.name] {
			c.fail(r.at, "WF123", "%s names %q twice", what, r.name)
		}
		seen[r.name] = true
	}
}

// takes reports whether a field may be given as input. Without an input section
// every field may.
func (p *plan) takes(name string) bool {
	return p.input == nil || slices.ContainsFunc(p.input, func(r ref) bool { return r.name == name })
}

// checkTargets looks up what a next or start leads to.
func (c *checker) checkTargets(refs []ref, what string) {
	seen := map[string]bool{}
	for _, r := range refs {
		switch {
		case seen[r.name]:
			c.fail(r.at, "WF123", "%s names %q twice", what, r.name)
		case r.name == endName && (len(refs) > 1 || what == "start"):
			c.misled = true
			if what == "start" {
				c.fail(r.at, "WF305", "start must not name END")
			} else {
				c.fail(r.at, "WF305", "END must be the only entry of %s", what)
			}
		case r.name != endName && c.plan.node(r.name) == nil:
			c.misled = true
			c.fail(r.at, "WF304", "%s names %q, which is not a node%s", what, r.name, didYouMean(r.name, append(c.plan.nodeNames(), endName)))
		}
		seen[r.name] = true
	}
}

func (c *checker) checkNode(n *node) {
	c.reads = exprs.Reads{}
	defer func() { n.reads, c.reads = c.reads, nil }()
	env := c.baseEnv()
	if n.cond != nil {
		c.compile(n.cond, env)
	}
	c.checkEach(n, env)
	c.checkError(n, env)
	c.checkLimit(n.limit)
	c.checkCache(n)
	result, ok := c.checkWork(n, env)
	if ok {
		env["result"] = result
	}
	for _, m := range n.output {
		if n.kind.name == "set" {
			c.fail(m.key, "WF414", "set has no result; assign the field under set")
			continue
		}
		n.outputs = c.assign(n.outputs, m, env)
	}
	c.checkOnce(n)
	after := c.baseEnv()
	after["result"] = result
	c.checkNext(n, after)
}

// checkCache compiles the key of a cached node.
func (c *checker) checkCache(n *node) {
	if n.cache != nil && n.cache.key != nil {
		n.cache.by = c.template(n.cache.key, c.baseEnv(), "cache.key")
	}
	if _, registered := c.opts.Kinds[n.kind.name]; n.idem != nil && !registered {
		c.fail(n.idem, "WF517", "idempotency_key is only for kinds that act on other systems, not for %s", n.kind.name)
	}
}

// checkOnce refuses a for_each that writes a field which takes one write.
func (c *checker) checkOnce(n *node) {
	if n.each == nil {
		return
	}
	set, _ := n.work.(setWork)
	all := slices.Concat(set, n.outputs)
	for _, r := range n.onFailures {
		all = append(all, r.set...)
	}
	for _, a := range all {
		if c.plan.field(a.field).single() {
			c.fail(a.value.at, "WF413", "field %s would be written once for each item; give it a reducer, such as append or add", a.field)
		}
	}
}

var stateField = regexp.MustCompile(`^\s*state\.([A-Za-z_][A-Za-z0-9_]*)\s*$`)

// checkEach compiles the list of a for_each and adds the alias to env.
func (c *checker) checkEach(n *node, env exprs.Env) {
	e := n.each
	if e == nil || e.in == nil {
		return
	}
	item := record.Type{}
	switch in := deref(e.in); in.Kind {
	case yaml.SequenceNode:
		e.list = c.template(in, env, "for_each")
	default:
		e.list = c.expression(in, env)
		if m := stateField.FindStringSubmatch(in.Value); m != nil && c.plan.field(m[1]) != nil {
			item = c.plan.field(m[1]).Type.Elem()
		}
	}
	if k := e.list.kind(); k != exprs.ListKind && k != exprs.AnyKind {
		c.fail(e.in, "WF412", "for_each requires a list, not %s", k)
	}
	if err := exprs.CheckName(e.alias.name); err != nil {
		c.fail(e.alias.at, "WF124", "%s", strings.TrimPrefix(err.Error(), "exprs: "))
	} else if slices.Contains([]string{"state", "result", "error", "env", "run", "config"}, e.alias.name) {
		c.fail(e.alias.at, "WF124", "%q already has a meaning; choose another name for the item", e.alias.name)
	}
	env[e.alias.name] = exprType(item)
}

// checkWork compiles what the node does. ok is false for the kind that has no result.
func (c *checker) checkWork(n *node, env exprs.Env) (result exprs.Type, ok bool) {
	switch n.kind.name {
	case "":
		return exprs.Any, true
	case "set":
		n.work = c.set(n, env)
		return exprs.Any, false
	case "ask":
		return c.ask(n, env), true
	case "workflow":
		return c.sub(n, env), true
	}
	kind := c.opts.Kinds[n.kind.name]
	n.work = c.kindWork(n, kind, env)
	return exprTypeOf(kind.Result), true
}

// assign adds the assignment of a template to a field.
func (c *checker) assign(to []assignment, m member, env exprs.Env) []assignment {
	t := c.template(m.value, env, "the field "+m.key.Value)
	f := c.plan.field(m.key.Value)
	if f == nil {
		c.failAt(m.key.Line, m.key.Column, "WF203", c.plan.fieldHint(),
			"unknown state field %q%s", m.key.Value, didYouMean(m.key.Value, c.plan.fieldNames()))
		return to
	}
	f.takesFrom(t)
	return append(to, assignment{f.Name, t, f.Type.Base() == "any"})
}

// takesFrom checks a template against what the field's reducer takes.
func (f *field) takesFrom(t *template) {
	k := t.kind()
	if only, ok := channelTypes[f.reducer]; ok {
		if !slices.Contains(only.takes, k) {
			t.src.fail(t.at, "WF410", "%s: want %s, got %s", f.Name, only.holds, k)
		}
		return
	}
	switch {
	case f.reducer == "deep_merge":
		t.fitsPatch(f.Type, f.Name)
	case f.reducer == "append" || f.reducer == "prepend" || f.reducer == "union":
		want := f.Type
		if k != exprs.ListKind && k != exprs.AnyKind && k != exprs.NilKind {
			want = f.Type.Elem()
		}
		t.fits(want, f.Name)
	case k == exprs.NilKind:
	case f.reducer == "merge" && t.keys != nil:
		for _, item := range t.items {
			if item.kind() != exprs.NilKind {
				item.fits(f.Type.Elem(), f.Name)
			}
		}
	default:
		t.fits(f.Type, f.Name)
	}
}

func (c *checker) compile(cond *condition, env exprs.Env) {
	test, err := c.exprs.Condition(cond.at.Value, env)
	if err != nil {
		c.exprErrors(cond.at, err)
		return
	}
	cond.test = test
	c.reads.Add(test.Reads())
}

func (c *checker) checkNext(n *node, env exprs.Env) {
	kind, final := c.opts.Kinds[n.kind.name], false
	if final = kind.Final; final && n.next != nil && n.next.derived {
		n.next = nil
	}
	if final && n.next != nil {
		c.fail(n.next.at, "WF310", "%s ends the run, so it cannot have a next", n.kind.name)
	}
	if n.next == nil {
		if !final {
			c.misled = true
			c.failAt(n.at.Line, n.at.Column, "WF302", "write next: END to end the path here", "node %s is a dead end: it has no next", n.name)
		}
		return
	}
	if n.each != nil || n.cache != nil || n.isGraph() || n.kind.name == "set" {
		delete(env, "result") // it is gone by then: see the package's documentation
	}
	for _, w := range n.next.ways {
		c.checkTargets(w.to, "next")
		if w.cond != nil {
			c.compile(w.cond, env)
		}
	}
}

// checkJoin holds a join and the next of its arms against each other.
func (c *checker) checkJoin(n *node) {
	seen, before := map[string]bool{}, len(c.found)
	for _, r := range n.join {
		arm := c.plan.node(r.name)
		switch {
		case arm == nil:
			c.fail(r.at, "WF304", "join names %q, which is not a node%s", r.name, didYouMean(r.name, c.plan.nodeNames()))
		case seen[r.name]:
			c.fail(r.at, "WF123", "join names %q twice", r.name)
		case arm.next == nil && c.opts.Kinds[arm.kind.name].Final:
			c.fail(r.at, "WF309", "node %s joins %s, which ends the run and leads nowhere", n.name, r.name)
		case arm.next == nil:
		case !slices.ContainsFunc(arm.next.targets(), func(t ref) bool { return t.name == n.name }):
			c.failAt(r.at.Line, r.at.Column, "WF306", fmt.Sprintf("add %s to the next of %s", n.name, r.name),
				"node %s joins %s, but %s does not lead to it", n.name, r.name, r.name)
		case arm.next.conditional():
			c.failAt(r.at.Line, r.at.Column, "WF308", "put a node without conditions between them",
				"node %s leads to %s conditionally, so the join might wait forever", r.name, n.name)
		}
		seen[r.name] = true
	}
	c.misled = c.misled || len(c.found) > before
}
