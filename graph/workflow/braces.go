package workflow

import (
	"regexp"

	"gopkg.in/yaml.v3"
)

// almost is what people write who mean ${{ state.x }}: {{ state.x }} and ${state.x}.
var almost = regexp.MustCompile(`(?:^|[^$])(\{\{|\$\{)\s*(?:state|result|config|env|run|error)\s*\??\.[^{}]*\}`)

// warnBraces warns of text below nodes and edges that looks like an expression and is none.
func (c *checker) warnBraces() {
	for _, section := range []string{"nodes", "edges"} {
		if n := valueOf(c.plan.at, section); n != nil {
			c.warnBracesIn(n)
		}
	}
}

func (c *checker) warnBracesIn(n *yaml.Node) {
	if c.more {
		return
	}
	if n.Kind == yaml.ScalarNode {
		if at := almost.FindStringSubmatchIndex(n.Value); at != nil {
			line, col := c.findNext(n).of(at[2])
			c.warnAt(line, col, "WF208", "write an expression between ${{ and }}", "this is plain text, not an expression")
		}
		return
	}
	for _, child := range n.Content {
		c.warnBracesIn(child)
	}
}
