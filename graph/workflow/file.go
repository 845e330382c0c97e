package workflow

import (
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"
)

// endName is what a file calls the end of a path.
const endName = "END"

var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	nodeName   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
)

// file decodes the top level.
func (s *source) file(root *yaml.Node, kinds kindNames) *plan {
	p := &plan{at: root}
	o, ok := s.record(root, "the workflow", slices.Concat([]string{"version", "name", "description", "types", "state",
		"input", "output", "config", "env", "secrets"}, s.opts.sectionNames(), []string{"defaults", "limits", "run_retry", "schedules", "interrupt",
		"start", "nodes", "edges", "tests"})...)
	if !ok {
		return p
	}
	p.root = o
	s.version(root, o.get("version"))
	if n := o.get("name"); n != nil {
		p.name, _ = s.string(n, "name")
	}
	if n := o.get("description"); n != nil {
		p.description, _ = s.string(n, "description")
	}
	p.types = s.namedTypes(o.get("types"))
	s.types = p.types
	if n := o.get("state"); n != nil {
		p.fields = s.fields(n, p.types)
	}
	if n := o.get("input"); n != nil {
		p.input = s.names(n, "input")
	}
	if n := o.get("output"); n != nil {
		p.output = s.names(n, "output")
	}
	if n := o.get("limits"); n != nil {
		p.limits = s.limits(n)
	}
	if n := o.get("run_retry"); n != nil {
		p.runRetry = s.retry(n, "run_retry")
	}
	if n := o.get("schedules"); n != nil {
		p.schedules = s.schedules(n)
	}
	if n := o.get("config"); n != nil {
		p.config = s.settings(n, p.types)
	}
	if n := o.get("env"); n != nil {
		p.env = s.environment(n)
	}
	if n := o.get("secrets"); n != nil {
		p.secrets = s.secrets(n)
	}
	if n := o.get("defaults"); n != nil {
		p.defaults = s.defaults(n)
	}
	if n := o.get("interrupt"); n != nil {
		p.before, p.after = s.interrupt(n)
	}
	s.nodes(p, root, o.get("nodes"), kinds)
	if n := o.get("start"); n != nil {
		p.start = s.oneOrMore(n, "start")
	}
	if n := o.get("edges"); n != nil {
		s.edges(p, n)
	}
	s.derive(p)
	if p.start == nil && len(p.nodes) > 0 {
		p.start = []ref{p.nodes[0].ref}
	}
	if n := o.get("tests"); n != nil {
		p.tests = s.tests(n)
	}
	return p
}

// interrupt decodes where a run pauses.
func (s *source) interrupt(n *yaml.Node) (before, after []ref) {
	o, _ := s.record(n, "interrupt", "before", "after")
	if n := o.get("before"); n != nil {
		before = s.oneOrMore(n, "interrupt.before")
	}
	if n := o.get("after"); n != nil {
		after = s.oneOrMore(n, "interrupt.after")
	}
	return before, after
}

func (s *source) version(root, n *yaml.Node) {
	if n == nil {
		s.fail(root, "WF109", "version is missing; write version: 1")
		return
	}
	if v, ok := s.scalar(n); ok && v != int64(1) {
		s.fail(n, "WF109", "version must be 1, not %s", describe(n))
	}
}

// names decodes a list of names; it is never nil.
func (s *source) names(n *yaml.Node, what string) []ref {
	refs := []ref{}
	for _, item := range s.list(n, what) {
		if name, ok := s.string(item, "a name in "+what); ok {
			refs = append(refs, ref{name, item})
		}
	}
	return refs
}

// oneOrMore decodes a name or a list of names.
func (s *source) oneOrMore(n *yaml.Node, what string) []ref {
	n = deref(n)
	if n.Kind == yaml.SequenceNode {
		refs := s.names(n, what)
		if len(n.Content) == 0 {
			s.fail(n, "WF121", "%s is an empty list", what)
		}
		return refs
	}
	name, ok := s.string(n, what)
	if !ok {
		return nil
	}
	return []ref{{name, n}}
}

func (s *source) limits(n *yaml.Node) (l limits) {
	o, _ := s.record(n, "limits", "steps", "run_timeout", "concurrency", "fanout", "state_bytes", "shared")
	for _, m := range o {
		switch m.key.Value {
		case "steps":
			l.steps = s.count(m.value, "limits.steps")
		case "run_timeout":
			l.timeout = s.duration(m.value, "limits.run_timeout")
		case "concurrency":
			l.concurrency = s.count(m.value, "limits.concurrency")
		case "fanout":
			l.fanout = s.count(m.value, "limits.fanout")
		case "state_bytes":
			l.state = s.size(m.value, "limits.state_bytes")
		case "shared":
			l.shared = s.sharedLimits(m.value)
		}
	}
	return l
}

func (s *source) nodes(p *plan, root, n *yaml.Node, kinds kindNames) {
	if n == nil {
		s.fail(root, "WF110", "nodes are missing")
		return
	}
	o, ok := s.object(n, "nodes")
	switch {
	case ok && len(o) == 0:
		s.fail(n, "WF110", "there are no nodes")
	case s.tooLong(n, o, "nodes"):
		return
	}
	for _, m := range o {
		p.nodes = append(p.nodes, s.node(m.key, m.value, kinds))
	}
}
