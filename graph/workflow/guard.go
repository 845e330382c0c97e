package workflow

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// guard looks at a whole tree before anything else does. What the parser leaves
// open when it parses into nodes is decided here: aliases, doubled keys, tags.
type guard struct {
	*source
	open     map[*yaml.Node]bool // nodes that are being walked
	alias    *yaml.Node          // the outermost alias that is being written out
	seen     int
	bytes    int
	mistakes bool
}

// walk reports false when there is no sense in going on.
func (g *guard) walk(n *yaml.Node, depth int) bool {
	g.seen++
	g.bytes += len(n.Value)
	switch {
	case depth > maxDepth:
		return g.stop(n, "WF602", "nested deeper than %d levels", maxDepth)
	case g.seen > maxTree && g.alias != nil:
		return g.stop(g.alias, "WF602", "more than %d values, with aliases written out", maxTree)
	case g.seen > maxTree:
		return g.stop(n, "WF602", "more than %d values", maxTree)
	case g.bytes > maxText:
		return g.stop(n, "WF602", "more than %d bytes of values, with aliases written out", maxText)
	case n.Kind == yaml.AliasNode && g.open[n.Alias]:
		return g.stop(n, "WF007", "the alias *%s is inside its own anchor", n.Value)
	case n.Kind == yaml.AliasNode:
		if g.alias == nil {
			g.alias = n
			defer func() { g.alias = nil }()
		}
		return g.walk(n.Alias, depth)
	}
	g.checkTag(n)
	if n.Kind == yaml.MappingNode {
		g.checkKeys(n)
	}
	g.open[n] = true
	defer delete(g.open, n)
	for _, child := range n.Content {
		if !g.walk(child, depth+1) {
			return false
		}
	}
	return true
}

func (g *guard) stop(n *yaml.Node, code Code, format string, args ...any) bool {
	g.mistake(n, code, format, args...)
	return false
}

func (g *guard) mistake(n *yaml.Node, code Code, format string, args ...any) {
	g.fail(n, code, format, args...)
	g.mistakes = true
}

func (g *guard) checkTag(n *yaml.Node) {
	tag := n.ShortTag()
	switch {
	case n.Style&yaml.TaggedStyle != 0 && n.Kind != yaml.AliasNode:
		g.mistake(n, "WF008", "the tag %s is not allowed; the syntax of a value determines its type", n.Tag)
	case strings.HasPrefix(tag, "!!"):
	default:
		g.mistake(n, "WF008", "the tag %s is not allowed", tag)
	}
}

func (g *guard) checkKeys(n *yaml.Node) {
	first := map[string]*yaml.Node{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		switch tag := key.ShortTag(); {
		case tag == "!!merge":
			g.mistake(key, "WF009", "merge keys (<<) are not allowed; write the keys out")
		case key.Kind != yaml.ScalarNode || tag != "!!str":
			g.mistake(key, "WF010", "a key must be text; quote it")
		case first[key.Value] != nil:
			g.mistake(key, "WF011", "duplicate key %q; the first is in line %d", key.Value, first[key.Value].Line)
		default:
			first[key.Value] = key
		}
	}
}
