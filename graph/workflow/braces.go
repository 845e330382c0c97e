package workflow

import (
	"regexp"

	"gopkg.in/yaml.v3"
)

var (
	// almost is what people write who mean ${{ state.x }}: {{ state.x }} and ${state.x}.
	almost = regexp.MustCompile(`(?:^|[^$])(\{\{|\$\{)\s*(?:state|result|config|env|run|error)\s*\??\.[^{}]*\}`)
	// ofEnv is a variable of the environment as sections have it, which nodes do not.
	ofEnv = regexp.MustCompile(`(?:^|[^$])(\$\{)env:[A-Za-z_][A-Za-z0-9_]*\}`)
	// braces begin an expression.
	braces = regexp.MustCompile(`(?:^|[^$])(\$\{\{)`)
)

const asExpression = "write an expression between ${{ and }}"

// warnBraces warns of text that looks like an expression and is none: below nodes and edges, and
// where a file takes constants only.
func (c *checker) warnBraces() {
	for _, section := range []string{"nodes", "edges"} {
		if n := valueOf(c.plan.at, section); n != nil {
			c.warnText(n, almost, asExpression)
			c.warnText(n, ofEnv, "declare the variable under env, and write ${{ env.NAME }}")
		}
	}
	for _, section := range []string{"types", "state", "config", "env", "schedules"} {
		if n := valueOf(c.plan.at, section); n != nil {
			c.warnConstants(n)
		}
	}
	for _, n := range c.plan.nodes {
		if ask, ok := n.work.(*askWork); ok {
			if form := valueOf(deref(ask.at), "form"); form != nil {
				c.warnConstants(form)
			}
		}
	}
}

// warnConstants warns of expressions in values that are constant.
func (c *checker) warnConstants(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		c.warnText(n, braces, "a value is constant here; let a node compute it")
		return
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value != "description" {
			c.warnConstants(n.Content[i+1])
		}
	}
}

// warnText warns of text that matches.
func (c *checker) warnText(n *yaml.Node, text *regexp.Regexp, hint string) {
	if c.more {
		return
	}
	if n.Kind == yaml.ScalarNode {
		if at := text.FindStringSubmatchIndex(n.Value); at != nil {
			line, col := c.findNext(n).of(at[2])
			c.warnAt(line, col, "WF208", hint, "this is plain text, not an expression")
		}
		return
	}
	for _, child := range n.Content {
		c.warnText(child, text, hint)
	}
}
