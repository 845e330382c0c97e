package workflow

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// test is one entry of the file's tests.
type test struct {
	ref
	input   object
	inputAt *yaml.Node
	env     map[string]string
	now     int64
	mocks   []*mock
	answers []answer
	expect  expectation
}

// mock stands in for the work of a node.
type mock struct {
	ref
	at      *yaml.Node
	results []*yaml.Node // one after the other; the last one stays
	err     *mockError   // nil if the node does not fail
}

// mockError is how a mocked node fails.
type mockError struct{ message, code string }

func (e *mockError) Error() string { return e.message }

func (e *mockError) Code() string { return e.code }

// answer is what somebody answers to a node.
type answer struct {
	ref
	value any
}

// expectation is what a test holds against the run. What is nil is not looked at.
type expectation struct {
	at            *yaml.Node
	status        graph.Status
	path          [][]string
	pathAt        *yaml.Node
	output, state object
	err, code     string
	errAt         *yaml.Node
	asks          []ref
	asksAt        *yaml.Node
}

func (s *source) tests(n *yaml.Node) (all []*test) {
	seen := map[string]bool{}
	for _, item := range s.list(n, "tests") {
		t := s.test(item)
		if seen[t.name] {
			s.fail(t.at, "WF123", "two tests have the name %q", t.name)
		}
		seen[t.name] = true
		all = append(all, t)
	}
	return all
}

func (s *source) test(n *yaml.Node) *test {
	t := &test{ref: ref{at: n}, inputAt: n, expect: expectation{at: n, status: graph.Done}}
	o, ok := s.record(n, "a test", "name", "description", "input", "env", "now", "mock", "answers", "expect")
	if ok && o.get("name") == nil {
		s.fail(n, "WF130", "a test needs a name")
	}
	for _, m := range o {
		switch m.key.Value {
		case "name":
			t.name, _ = s.string(m.value, "name")
			t.at = m.value
		case "description":
			s.string(m.value, "description")
		case "input":
			t.input, _ = s.object(m.value, "input")
			t.inputAt = m.value
		case "env":
			t.env = s.testEnv(m.value)
		case "now":
			t.now = s.instant(m.value)
		case "mock":
			t.mocks = s.mocks(m.value)
		case "answers":
			t.answers = s.answers(m.value)
		case "expect":
			t.expect = s.expectation(m.value)
		}
	}
	return t
}

func (s *source) testEnv(n *yaml.Node) map[string]string {
	env := map[string]string{}
	o, _ := s.object(n, "env")
	for _, m := range o {
		env[m.key.Value], _ = s.string(m.value, "env."+m.key.Value)
	}
	return env
}

func (s *source) instant(n *yaml.Node) int64 {
	text, ok := s.string(n, "now")
	at, err := time.Parse(time.RFC3339, text)
	if ok && err != nil {
		s.fail(n, "WF130", "now must be a time such as \"2026-11-21T09:30:00Z\", not %q", text)
	}
	return at.Unix()
}

func (s *source) mocks(n *yaml.Node) (all []*mock) {
	o, _ := s.object(n, "mock")
	for _, m := range o {
		k := &mock{ref: ref{m.key.Value, m.key}, at: m.value}
		how, ok := s.record(m.value, "the mock of "+k.name, "result", "results", "error")
		if ok && len(how) != 1 {
			s.fail(m.key, "WF130", "the mock of %s is one of result, results and error", k.name)
		}
		for _, h := range how {
			switch h.key.Value {
			case "result":
				k.results = []*yaml.Node{h.value}
			case "results":
				if k.results = s.list(h.value, "results"); len(k.results) == 0 {
					s.fail(h.value, "WF121", "results lists nothing")
				}
			case "error":
				k.err = s.mockError(h.value)
			}
		}
		all = append(all, k)
	}
	return all
}

func (s *source) mockError(n *yaml.Node) *mockError {
	e := &mockError{message: "mocked failure"}
	if deref(n).Kind == yaml.ScalarNode {
		e.message, _ = s.string(n, "error")
		return e
	}
	o, _ := s.record(n, "error", "message", "code")
	for _, m := range o {
		switch m.key.Value {
		case "message":
			e.message, _ = s.string(m.value, "message")
		case "code":
			e.code, _ = s.string(m.value, "code")
		}
	}
	return e
}

// answers decodes a list of {node: answer}.
func (s *source) answers(n *yaml.Node) (all []answer) {
	for _, item := range s.list(n, "answers") {
		o, ok := s.object(item, "an answer")
		if ok && len(o) != 1 {
			s.fail(item, "WF130", "an answer is one {node: value}")
		}
		for _, m := range o {
			v, _ := s.constant(m.value)
			all = append(all, answer{ref{m.key.Value, m.key}, v})
		}
	}
	return all
}

func (s *source) expectation(n *yaml.Node) expectation {
	e := expectation{at: n, status: graph.Done}
	o, _ := s.record(n, "expect", "status", "path", "output", "state", "error", "code", "asks")
	for _, m := range o {
		switch m.key.Value {
		case "path":
			e.path, e.pathAt = s.steps(m.value), m.value
		case "output":
			e.output, _ = s.object(m.value, "output")
		case "state":
			e.state, _ = s.object(m.value, "state")
		case "error":
			e.err, _ = s.string(m.value, "error")
			e.status, e.errAt = graph.Failed, m.value
		case "code":
			e.code, _ = s.string(m.value, "code")
			e.status, e.errAt = graph.Failed, m.value
		case "asks":
			e.asks = s.names(m.value, "asks")
			e.status, e.asksAt = graph.Interrupted, m.value
		}
	}
	if n := o.get("status"); n != nil {
		e.status = graph.Status(s.choice(n, "status", string(graph.Done), string(graph.Failed), string(graph.Interrupted)))
	}
	return e
}

// steps decodes a list of nodes, and of lists of nodes that run in one step.
func (s *source) steps(n *yaml.Node) [][]string {
	path := [][]string{}
	for _, item := range s.list(n, "path") {
		var step []string
		for _, r := range s.oneOrMore(item, "path") {
			step = append(step, r.name)
		}
		slices.Sort(step)
		path = append(path, step)
	}
	return path
}

// checkTest holds the names and values of a test against the file.
func (c *checker) checkTest(t *test) {
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
		f.takesFrom(c.literal(m.value))
	}
	for _, f := range c.plan.fields {
		if f.required && !given[f.Name] {
			c.fail(t.inputAt, "WF132", "the input %s is missing", f.Name)
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
		c.fail(m.key, "WF132", "expect.%s names %q, which is not there", what, m.key.Value)
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
			c.failAt(m.ref.at.Line, m.ref.at.Column, "WF133", "write it under answers", "a node of the kind ask is answered and not mocked")
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
	plain, err := state.Type{}.Convert(v)
	if err != nil {
		return nil
	}
	return plain
}
