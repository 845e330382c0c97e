package workflow

import (
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/graph"
)

// test is one entry of the file's tests.
type test struct {
	ref
	input   object
	inputAt *yaml.Node
	config  object
	env     map[string]string
	now     int64
	mocks   []*mock
	answers []answer
	expect  expectation
}

// mock replaces the work of a node.
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

// answer is the answer to the question of a node.
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
	items := s.list(n, "tests")
	if len(items) > maxNodes {
		s.fail(n, "WF603", "there are %d tests; the maximum is %d", len(items), maxNodes)
		return nil
	}
	for _, item := range items {
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
	o, ok := s.record(n, "a test", "name", "description", "input", "config", "env", "now", "mock", "answers", "expect")
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
		case "config":
			t.config, _ = s.object(m.value, "config")
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
			s.fail(m.key, "WF130", "the mock of %s must have exactly one of result, results and error", k.name)
		}
		for _, h := range how {
			switch h.key.Value {
			case "result":
				k.results = []*yaml.Node{h.value}
			case "results":
				if k.results = s.atMost(h.value, "results"); len(k.results) == 0 {
					s.fail(h.value, "WF121", "results is empty")
				}
			case "error":
				k.err = s.mockError(h.value)
			}
		}
		all = append(all, k)
	}
	return all
}

// atMost returns the items of a list of a test, which has no more than there can be nodes.
func (s *source) atMost(n *yaml.Node, what string) []*yaml.Node {
	items := s.list(n, what)
	if len(items) > maxNodes {
		s.fail(n, "WF603", "there are %d %s; the maximum is %d", len(items), what, maxNodes)
		return items[:1]
	}
	return items
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
	for _, item := range s.atMost(n, "answers") {
		o, ok := s.object(item, "an answer")
		if ok && len(o) != 1 {
			s.fail(item, "WF130", "an answer must be one pair {node: value}")
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
	switch {
	case e.errAt != nil && e.status != graph.Failed:
		s.fail(e.errAt, "WF130", "error and code are those of a failed run, but the expected status is %s", e.status)
	case len(e.asks) > 0 && e.status == graph.Done:
		s.fail(e.asksAt, "WF130", "a run that is done asks nothing")
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
