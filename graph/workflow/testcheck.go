package workflow

import (
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/state/record"
)

// checkTest holds the names and values of a test against the file.
func (c *checker) checkTest(t *test) {
	c.checkTestConfig(t)
	c.checkTestInput(t)
	for _, m := range t.mocks {
		if n := c.testNode("mock", m.ref); n != nil {
			c.checkMock(n, m)
		}
	}
	for _, a := range t.answers {
		if !c.inside(a.name) {
			c.testNode("answers", a.ref)
		}
	}
	for _, r := range t.expect.asks {
		if !c.inside(r.name) {
			c.testNode("asks", r)
		}
	}
	if at := t.expect.pathAt; at != nil {
		for _, item := range deref(at).Content {
			for _, r := range c.oneOrMore(item, "path") {
				c.testNode("path", r)
			}
		}
	}
	for what, o := range map[string]object{"output": t.expect.output, "state": t.expect.state} {
		for _, m := range o {
			c.checkExpected(what, m)
		}
	}
}

func (c *checker) inputNames() (all []string) {
	for _, f := range c.plan.fields {
		if c.plan.takes(f.Name) {
			all = append(all, f.Name)
		}
	}
	return all
}

func (c *checker) testNode(what string, r ref) *node {
	n := c.plan.node(r.name)
	if n == nil {
		c.fail(r.at, "WF304", "%s names %q, which is not a node%s", what, r.name, didYouMean(r.name, c.plan.nodeNames()))
	}
	return n
}

// inside reports whether a sub-workflow has a node of this name.
func (c *checker) inside(name string) bool {
	var has func(w *Workflow) bool
	has = func(w *Workflow) bool {
		return w != nil && (w.plan.node(name) != nil || slices.ContainsFunc(w.subs, has))
	}
	return slices.ContainsFunc(c.plan.nodes, func(n *node) bool {
		sub, ok := n.work.(*subWork)
		return ok && has(sub.child)
	})
}

func (c *checker) checkTestInput(t *test) {
	given := map[string]bool{}
	for _, m := range t.input {
		f := c.plan.field(m.key.Value)
		given[m.key.Value] = true
		if f == nil || !c.plan.takes(f.Name) {
			c.fail(m.key, "WF132", "there is no input %q%s", m.key.Value, didYouMean(m.key.Value, c.inputNames()))
			continue
		}
		value := c.literal(m.value)
		f.takesFrom(value)
		if f.misses(value.isNull()) {
			c.fail(m.value, "WF132", "the input %s is null; want %s", f.Name, f.Type)
		}
	}
	for _, f := range c.plan.fields {
		if f.required && !given[f.Name] {
			c.fail(t.inputAt, "WF132", "the input %s is missing", f.Name)
		}
	}
}

func (c *checker) checkTestConfig(t *test) {
	given := map[string]bool{}
	for _, m := range t.config {
		s := c.plan.setting(m.key.Value)
		given[m.key.Value] = true
		if s == nil {
			c.fail(m.key, "WF132", "there is no setting %q in config%s", m.key.Value, didYouMean(m.key.Value, c.plan.settingNames()))
			continue
		}
		c.literal(m.value).fits(s.typ, "config."+s.name)
	}
	for _, s := range c.plan.config {
		if s.def == nil && !given[s.name] {
			c.fail(t.inputAt, "WF132", "the setting %s is missing: it has no default", s.name)
		}
	}
}

// literal returns a template of n in which nothing is an expression.
func (c *checker) literal(n *yaml.Node) *template {
	n = deref(n)
	t := &template{src: c.source, at: n}
	switch n.Kind {
	case yaml.MappingNode:
		t.keys = []*yaml.Node{}
		for i := 0; i < len(n.Content); i += 2 {
			t.keys = append(t.keys, n.Content[i])
			t.items = append(t.items, c.literal(n.Content[i+1]))
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			t.items = append(t.items, c.literal(item))
		}
	default:
		var ok bool
		t.plain, ok = c.scalar(n)
		t.bad = !ok
	}
	return t
}

func (c *checker) checkExpected(what string, m member) {
	f := c.plan.field(m.key.Value)
	outside := what == "output" && c.plan.output != nil &&
		!slices.ContainsFunc(c.plan.output, func(r ref) bool { return r.name == m.key.Value })
	if f == nil || outside {
		c.fail(m.key, "WF132", "expect.%s names %q, which does not exist", what, m.key.Value)
		return
	}
	if v, ok := c.constant(m.value); ok && v != nil {
		if _, err := f.Type.Convert(v); err != nil {
			c.fail(m.value, "WF410", "expect.%s.%s: %v", what, f.Name, err)
		}
	}
}

// checkMock compares the results of a mock with what the node's kind gives.
func (c *checker) checkMock(n *node, m *mock) {
	for _, r := range m.results {
		t := c.literal(r)
		switch w := n.work.(type) {
		case setWork:
			c.fail(m.at, "WF133", "a node of the kind set needs no mock")
			return
		case *askWork:
			c.failAt(m.ref.at.Line, m.ref.at.Column, "WF133", "write it under answers", "a node of the kind ask cannot be mocked")
			return
		case *subWork:
			if w.child != nil {
				c.knownKeys(t, w.child.outputNames(), "the mock of "+n.name)
			}
		case *kindWork:
			if r := w.kind.Result; r != nil && r.Kind() == reflect.Struct {
				var names []string
				for _, p := range paramsOf(r) {
					names = append(names, p.name)
				}
				c.knownKeys(t, names, "the mock of "+n.name)
			}
		}
	}
}

func (c *checker) knownKeys(t *template, known []string, what string) {
	if t.keys == nil {
		c.fail(t.at, "WF133", "%s must be a mapping, not %s", what, describe(t.at))
	}
	for _, k := range t.keys {
		if !slices.Contains(known, k.Value) {
			c.failAt(k.Line, k.Column, "WF133", "known are "+strings.Join(known, ", "), "unknown field %q in %s%s", k.Value, what, didYouMean(k.Value, known))
		}
	}
}

func (w *Workflow) outputNames() (all []string) {
	for _, f := range w.outputs() {
		all = append(all, f.Name)
	}
	return all
}

// plainOf returns the value that a constant of the file has in the state.
func (s *source) plainOf(n *yaml.Node) any {
	v, _ := s.constant(n)
	plain, err := record.Type{}.Convert(v)
	if err != nil {
		return nil
	}
	return plain
}
