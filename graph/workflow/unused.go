package workflow

import (
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// warn reports what is no mistake, unless the options are strict.
func (s *source) warn(n *yaml.Node, code Code, hint, format string, args ...any) {
	s.failAt(n.Line, n.Column, code, hint, format, args...)
	s.found[len(s.found)-1].Warning = !s.opts.Strict
}

// checkUnused warns of what is declared and used nowhere.
func (c *checker) checkUnused() {
	text := c.texts()
	for _, v := range c.plan.secrets {
		if !strings.Contains(text, "${secret:"+v.name+"}") {
			c.warn(v.at, "WF417", "", "the secret %s is used nowhere", v.name)
		}
	}
	for _, v := range c.plan.env {
		c.warnUnread(text, "env", v.ref)
	}
	for _, s := range c.plan.config {
		if !slices.ContainsFunc(c.plan.nodes, func(n *node) bool { return n.inherits(s.name) }) {
			c.warnUnread(text, "config", s.ref)
		}
	}
	for _, l := range c.plan.limits.shared {
		named := func(n *node) bool { return n.limit.name == l.name }
		if !slices.ContainsFunc(c.plan.nodes, named) && c.plan.defaults.limit.name != l.name {
			c.warn(l.at, "WF417", "", "no node has the limit %s", l.name)
		}
	}
	c.warnFields(text)
}

// warnUnread warns of a name in env or config that no expression reads.
func (c *checker) warnUnread(text, section string, r ref) {
	if !reads(text, section, r.name) {
		c.warn(r.at, "WF417", "", "%s.%s is read nowhere", section, r.name)
	}
}

// warnFields warns of fields that have no part in the workflow: no input, no output, and neither
// read nor written. One that is written and not read is there for people who look at a thread.
func (c *checker) warnFields(text string) {
	if c.plan.output == nil || c.plan.input == nil {
		return // each is one
	}
	for _, f := range c.plan.fields {
		named := func(r ref) bool { return r.name == f.Name }
		required := slices.ContainsFunc(c.plan.nodes, func(n *node) bool { return slices.ContainsFunc(n.requires, named) })
		cached := slices.ContainsFunc(c.plan.nodes, func(n *node) bool { return n.cache != nil && n.cache.key == nil })
		written := slices.ContainsFunc(c.plan.nodes, func(n *node) bool { return n.assigns(f.Name) })
		if !required && !cached && !written && !c.plan.takes(f.Name) && !slices.ContainsFunc(c.plan.output, named) && !reads(text, "state", f.Name) {
			c.warn(f.at, "WF417", "", "the field %s is used nowhere", f.Name)
		}
	}
}

// assigns reports whether n writes a field, by its work or after a failure.
func (n *node) assigns(field string) bool {
	set, _ := n.work.(setWork)
	all := slices.Concat(set, n.outputs)
	for _, r := range n.rescues {
		all = append(all, r.set...)
	}
	return slices.ContainsFunc(all, func(a assignment) bool { return a.field == field })
}

// inherits reports whether n is a workflow that has a setting of this name.
func (n *node) inherits(setting string) bool {
	sub, ok := n.work.(*subWork)
	return ok && sub.child != nil && sub.child.plan.setting(setting) != nil
}

// reads reports whether some expression reads a name of a section, or the section as a whole.
func reads(text, section, name string) bool {
	one := regexp.MustCompile(`\b` + section + `\s*\??\.\s*` + regexp.QuoteMeta(name) + `\b`)
	whole := regexp.MustCompile(`\b` + section + `\s*([^.?\s\w:]|\?[^.]|$)`)
	return one.MatchString(text) || whole.MatchString(text)
}

// texts returns all texts below nodes, edges and secrets, where expressions may stand.
func (c *checker) texts() string {
	var b strings.Builder
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		n = deref(n)
		if n.Kind == yaml.ScalarNode {
			b.WriteString(n.Value + "\n")
		}
		for _, child := range n.Content {
			walk(child)
		}
	}
	for _, section := range []string{"nodes", "edges", "defaults"} {
		if n := valueOf(c.plan.at, section); n != nil {
			walk(n)
		}
	}
	return b.String()
}
