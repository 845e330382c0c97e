package workflow

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// kindNames are the kinds that a node may have: keys of a node, and names behind
// uses.
type kindNames struct{ keys, uses []string }

var nodeKeys = slices.Concat([]string{"description", "tags", "if", "for_each", "join", "with", "input", "output",
	"child", "cache", "idempotency_key", "defer", "requires", "provides", "next"}, policyKeys)

// node decodes one node.
func (s *source) node(key, value *yaml.Node, kinds kindNames) *node {
	n := &node{ref: ref{key.Value, key}, body: deref(value)}
	if !nodeName.MatchString(n.name) {
		s.fail(key, "WF111", "the node name %q must be letters, digits, _ and -, a letter first", n.name)
	} else if strings.EqualFold(n.name, endName) {
		s.fail(key, "WF112", "END is the end of a path; choose another name for the node")
	} else if n.name == startName {
		s.fail(key, "WF112", "START is where edges begin; choose another name for the node")
	}
	what := "node " + n.name
	o, _ := s.record(value, what, slices.Concat(kinds.keys, nodeKeys)...)
	s.kind(n, o, kinds)
	for _, m := range o {
		switch m.key.Value {
		case "description":
			s.string(m.value, "description")
		case "if":
			n.cond = s.condition(m.value)
		case "for_each":
			n.each = s.forEach(m.value)
		case "join":
			n.join = s.oneOrMore(m.value, "join")
		case "output":
			n.output, _ = s.object(m.value, "output")
		case "tags":
			s.names(m.value, "tags")
		case "cache":
			n.cache = s.caching(m.value)
		case "idempotency_key":
			n.idem = m.value
		case "defer":
			n.deferred = s.bool(m.value, "defer")
		case "requires":
			n.requires = s.names(m.value, "requires")
		case "provides":
			n.provides = s.names(m.value, "provides")
		case "input":
			n.input = m.value
		case "child":
			n.Child = s.bool(m.value, "child")
		case "next":
			n.next = s.next(m.value)
		default:
			s.policyKey(&n.policy, m)
		}
	}
	s.skipItems(n)
	return n
}

// kind finds the key that names the kind of the node.
func (s *source) kind(n *node, o object, kinds kindNames) {
	spelt := slices.ContainsFunc(o, func(m member) bool { return !m.misspelt && slices.Contains(kinds.keys, m.key.Value) })
	for _, m := range o {
		switch name := m.key.Value; {
		case !slices.Contains(kinds.keys, name):
		case m.misspelt && spelt: // it need not be a kind
		case n.kind.at != nil:
			s.fail(m.key, "WF114", "node %s is both %s and %s; a node has one kind", n.name, n.kind.name, name)
		default:
			n.kind, n.args = ref{name, m.key}, m.value
		}
	}
	switch with, input := o.get("with"), o.get("input"); {
	case n.kind.at == nil && s.hasUnknown(o, kinds): // that may be the kind, misspelt
	case n.kind.at == nil:
		s.failAt(n.at.Line, n.at.Column, "WF113", "", "node %s has no kind; write one of %s", n.name, strings.Join(kinds.keys, ", "))
	case n.kind.name == "uses":
		s.uses(n, with, kinds)
	case with != nil:
		s.fail(with, "WF115", "with is only for uses; the parameters of %s belong under %s", n.kind.name, n.kind.name)
	case input != nil && n.kind.name != "workflow":
		s.fail(input, "WF115", "input is only for workflow")
	case o.get("child") != nil && n.kind.name != "workflow":
		s.fail(o.get("child"), "WF115", "child is only for workflow")
	}
}

func (s *source) hasUnknown(o object, kinds kindNames) bool {
	return slices.ContainsFunc(o, func(m member) bool {
		return !slices.Contains(kinds.keys, m.key.Value) && !slices.Contains(nodeKeys, m.key.Value)
	})
}

// uses replaces the kind by the one that is named, and its parameters by with.
func (s *source) uses(n *node, with *yaml.Node, kinds kindNames) {
	name, ok := s.string(n.args, "uses")
	if ok && !slices.Contains(kinds.uses, name) {
		hint := "no Go nodes are registered"
		if len(kinds.uses) > 0 {
			hint = "registered are " + strings.Join(kinds.uses, ", ")
		}
		s.failAt(n.args.Line, n.args.Column, "WF116", hint, "unknown node %q%s", name, didYouMean(name, kinds.uses))
		ok = false
	}
	n.kind, n.args = ref{name, n.args}, with
	if !ok {
		n.kind.name = ""
	}
	if with == nil {
		n.args = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.kind.at.Line, Column: n.kind.at.Column}
	}
}

func (s *source) condition(n *yaml.Node) *condition {
	n = deref(n)
	if n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!str" || n.ShortTag() == "!!bool") {
		return &condition{src: s, at: n}
	}
	s.fail(n, "WF122", "a condition must be an expression, not %s", describe(n))
	return nil
}

func (s *source) forEach(n *yaml.Node) *forEach {
	o, ok := s.record(n, "for_each", "in", "as", "max", "max_parallel", "on_item_error")
	if !ok {
		return nil
	}
	e := &forEach{at: n, in: o.get("in"), alias: ref{"item", n}}
	if e.in == nil {
		s.fail(n, "WF117", "for_each requires in, the list of items")
	}
	if as := o.get("as"); as != nil {
		e.alias.name, _ = s.string(as, "as")
		e.alias.at = as
	}
	if m := o.get("max"); m != nil {
		e.max = s.count(m, "max")
	}
	if m := o.get("max_parallel"); m != nil {
		e.parallel = s.count(m, "max_parallel")
	}
	if o := o.get("on_item_error"); o != nil {
		e.skip = s.choice(o, "on_item_error", "fail", "skip") == "skip"
	}
	return e
}

// skipItems makes on_item_error: skip an on_error that does nothing.
func (s *source) skipItems(n *node) {
	switch {
	case n.each == nil || !n.each.skip:
	case n.onError != nil:
		s.fail(n.onError.at, "WF131", "on_error handles failed items; remove on_item_error: skip")
	default:
		n.onError = &onError{at: n.each.at, ways: []onFailure{{at: n.each.at}}}
		n.given = withKey(n.given, "on_error")
	}
}

// next decodes END, a name, a list of names, or a list of conditions.
func (s *source) next(n *yaml.Node) *next {
	x := &next{src: s, at: n}
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 || deref(n.Content[0]).Kind != yaml.MappingNode {
		x.ways = []way{{to: s.oneOrMore(n, "next")}}
		return x
	}
	items := s.list(n, "next")
	for i, item := range items {
		w, last := s.way(item)
		if last && i < len(items)-1 {
			s.fail(item, "WF120", "else must be the last item; later items are never reached")
		}
		x.ways = append(x.ways, w)
	}
	return x
}

func (s *source) way(n *yaml.Node) (w way, last bool) {
	o, _ := s.record(n, "next", "if", "to", "else")
	cond, to, other := o.get("if"), o.get("to"), o.get("else")
	switch {
	case other != nil && (cond != nil || to != nil):
		s.fail(n, "WF119", "an else item must be {else: node}")
	case other != nil:
		return way{to: s.oneOrMore(other, "else")}, true
	case cond == nil || to == nil:
		s.fail(n, "WF119", "an item of next must be {if: condition, to: node} or {else: node}")
	default:
		return way{s.condition(cond), s.oneOrMore(to, "to")}, false
	}
	return w, false
}
