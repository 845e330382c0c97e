package workflow

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// warn reports what is no mistake, unless the options are strict.
func (s *source) warn(n *yaml.Node, code Code, hint, format string, args ...any) {
	s.warnAt(n.Line, n.Column, code, hint, format, args...)
}

// warnElse warns of a next whose conditions may all fail: the run fails then.
func (c *checker) warnElse() {
	for _, n := range c.plan.nodes {
		if !n.next.conditional() {
			continue
		}
		if last := n.next.ways[len(n.next.ways)-1].cond; last != nil && strings.TrimSpace(last.at.Value) != "true" {
			c.warn(last.at, "WF320", "add {else: NODE} or {else: END}; under edges, an edge without if",
				"the run fails if no condition of the next of %s holds: it has no else", n.name)
		}
	}
}

// warnRejection warns of nodes that lead to others whether a person approves or rejects.
func (c *checker) warnRejection() {
	for _, n := range c.plan.nodes {
		w, ok := n.work.(*kindWork)
		if !ok || n.next == nil || n.readsResult() || !n.goesOn() {
			continue
		}
		r := w.kind.New()
		if d, ok := r.(Decider); ok {
			given := w.args.constants(paramsIn(r))
			if d.MayReject(func(name string) bool { return given[name] }) {
				c.warn(n.kind.at, "WF519", "for example next: [{if: result.approved, to: NODE}, {else: END}]",
					"%s goes on in the same way after a rejection: neither its next nor its output reads result", n.name)
			}
		}
	}
}

// goesOn reports whether n leads to another node.
func (n *node) goesOn() bool {
	return slices.ContainsFunc(n.next.ways, func(w way) bool {
		return slices.ContainsFunc(w.to, func(to ref) bool { return to.name != endName })
	})
}

// readsResult reports whether the output of n, or a condition of its next, reads its result.
func (n *node) readsResult() bool {
	for _, m := range n.output {
		if len(readIn(textOf(m.value), "result")) > 0 {
			return true
		}
	}
	return slices.ContainsFunc(n.next.ways, func(w way) bool { return w.cond != nil && len(readIn(w.cond.at.Value, "result")) > 0 })
}

// checkUnused warns of what is declared and used nowhere.
func (c *checker) checkUnused() {
	u := readIn(c.texts(func(section string) bool { return slices.Contains([]string{"nodes", "edges", "defaults"}, section) }), "state", "env", "config")
	all := c.texts(func(section string) bool { return section != "secrets" && section != "tests" }) // a tool may have a secret
	for _, v := range c.plan.secrets {
		if !strings.Contains(all, "${secret:"+v.name+"}") {
			c.warn(v.at, "WF417", "", "the secret %s is never used", v.name)
		}
	}
	for _, v := range c.plan.env {
		c.warnUnread(u, "env", v.ref)
	}
	for _, s := range c.plan.config {
		if !slices.ContainsFunc(c.plan.nodes, func(n *node) bool { return n.inherits(s.name) }) {
			c.warnUnread(u, "config", s.ref)
		}
	}
	for _, l := range c.plan.limits.shared {
		named := func(n *node) bool { return n.limit.name == l.name }
		if !slices.ContainsFunc(c.plan.nodes, named) && c.plan.defaults.limit.name != l.name {
			c.warn(l.at, "WF417", "", "no node has the limit %s", l.name)
		}
	}
	c.warnFields(u)
}

// warnUnread warns of a name in env or config that no expression reads.
func (c *checker) warnUnread(u used, section string, r ref) {
	if !u.reads(section, r.name) {
		c.warn(r.at, "WF417", "", "%s.%s is never read", section, r.name)
	}
}

// warnFields warns of fields that have no part in the workflow: no input, no output, and neither
// read nor written. One that is written and not read is there for people who look at a thread.
func (c *checker) warnFields(u used) {
	if c.plan.output == nil || c.plan.input == nil {
		return // each is one
	}
	for _, f := range c.plan.fields {
		named := func(r ref) bool { return r.name == f.Name }
		required := slices.ContainsFunc(c.plan.nodes, func(n *node) bool { return slices.ContainsFunc(n.requires, named) })
		cached := slices.ContainsFunc(c.plan.nodes, func(n *node) bool { return n.cache != nil && n.cache.key == nil })
		written := slices.ContainsFunc(c.plan.nodes, func(n *node) bool { return n.assigns(f.Name) })
		if !required && !cached && !written && !c.plan.takes(f.Name) && !slices.ContainsFunc(c.plan.output, named) && !u.reads("state", f.Name) {
			c.warn(f.at, "WF417", "", "the field %s is never used", f.Name)
		}
	}
}

// assigns reports whether n writes a field, by its work or after a failure.
func (n *node) assigns(field string) bool {
	set, _ := n.work.(setWork)
	all := slices.Concat(set, n.outputs)
	for _, r := range n.onFailures {
		all = append(all, r.set...)
	}
	return slices.ContainsFunc(all, func(a assignment) bool { return a.field == field })
}

// inherits reports whether n is a workflow that has a setting of this name.
func (n *node) inherits(setting string) bool {
	sub, ok := n.work.(*subWork)
	return ok && sub.child != nil && sub.child.plan.setting(setting) != nil
}

// used are the names that expressions read: each by its section, as in state.topic, and "state"
// where the section is read as a whole.
type used map[string]bool

// readIn finds what of some sections is read in a text.
func readIn(text string, sections ...string) used {
	u := used{}
	for _, section := range sections {
		for at, rest := 0, text; ; {
			i := strings.Index(rest, section)
			if i < 0 {
				break
			}
			begins := at+i == 0 || !wordByte(text[at+i-1])
			at, rest = at+i+len(section), rest[i+len(section):]
			if begins {
				u.add(section, rest)
			}
		}
	}
	return u
}

// add notes what follows the name of a section.
func (u used) add(section, rest string) {
	if rest == "" || wordByte(rest[0]) {
		return
	}
	rest = strings.TrimLeft(rest, asciiSpace)
	rest, asked := strings.CutPrefix(rest, "?")
	field, ok := strings.CutPrefix(rest, ".")
	switch {
	case ok:
		field = strings.TrimLeft(field, asciiSpace)
		end := strings.IndexFunc(field, func(r rune) bool { return r > 127 || !wordByte(byte(r)) })
		if end < 0 {
			end = len(field)
		}
		u[section+"."+field[:end]] = true
	case asked || rest == "" || rest[0] != ':' && !wordByte(rest[0]):
		u[section] = true
	}
}

const asciiSpace = " \t\r\n\f"

func wordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

func (u used) reads(section, name string) bool { return u[section] || u[section+"."+name] }

// texts returns all texts in some sections of the file.
func (c *checker) texts(in func(section string) bool) string {
	var b strings.Builder
	for i := 0; i+1 < len(c.plan.at.Content); i += 2 {
		if in(c.plan.at.Content[i].Value) {
			b.WriteString(textOf(c.plan.at.Content[i+1]))
		}
	}
	return b.String()
}

// textOf returns all texts below a node of the file, each with a newline.
func textOf(n *yaml.Node) string {
	n = deref(n)
	if n.Kind == yaml.ScalarNode {
		return n.Value + "\n"
	}
	var b strings.Builder
	for _, child := range n.Content {
		b.WriteString(textOf(child))
	}
	return b.String()
}
