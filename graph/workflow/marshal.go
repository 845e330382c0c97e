package workflow

import (
	"bytes"
	"slices"

	"gopkg.in/yaml.v3"
)

// Marshal returns the workflow as a file in one canonical form. The keys have the order of the
// reference, aliases are written out, and comments are omitted. Marshal always writes next, join
// and start, even if they follow from edges, from requires and provides, or from the order of the
// nodes. Loading the result gives a graph with the same program, and Marshal then returns the same
// bytes.
func (w *Workflow) Marshal() ([]byte, error) {
	root := w.canonical()
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, err
	}
	return b.Bytes(), enc.Close()
}

// nodeOrder is the order of a node's keys: what it waits for, what it does, what follows.
var nodeOrder = []string{
	"description", "tags", "requires", "join", "defer", "if", "for_each",
	"", // the kind
	"with", "input", "output", "provides", "cache", "idempotency_key",
	"timeout", "idle_timeout", "retry", "limit", "on_error", "next",
}

func (w *Workflow) canonical() *yaml.Node {
	root := plainTree(w.plan.at)
	setKey(root, "name", text(w.Name))
	setKey(root, "start", textList(w.plan.start))
	dropKey(root, "edges")
	var order []string
	for _, k := range w.opts.rootSection().keys {
		order = append(order, k.name)
	}
	nodes := valueOf(root, "nodes")
	for i := 0; i < len(nodes.Content); i += 2 {
		n := w.plan.node(nodes.Content[i].Value)
		body := nodes.Content[i+1]
		if n.next != nil && valueOf(body, "next") == nil {
			setKey(body, "next", w.written(n.next))
		}
		if len(n.join) > 0 {
			setKey(body, "join", textList(n.join))
		}
		sortKeys(body, nodeOrder)
	}
	sortKeys(root, order)
	return root
}

// written returns a next as a file writes it.
func (w *Workflow) written(x *next) *yaml.Node {
	if !x.conditional() {
		return textList(x.targets())
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, way := range x.ways {
		item := &yaml.Node{Kind: yaml.MappingNode}
		if way.cond == nil {
			setKey(item, "else", textList(way.to))
		} else {
			setKey(item, "if", plainTree(way.cond.at))
			setKey(item, "to", textList(way.to))
		}
		list.Content = append(list.Content, item)
	}
	return list
}

// plainTree returns a copy of a tree without aliases, anchors and comments.
func plainTree(n *yaml.Node) *yaml.Node {
	n = deref(n)
	plain := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value}
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		plain.Style = yaml.LiteralStyle
	}
	for _, c := range n.Content {
		plain.Content = append(plain.Content, plainTree(c))
	}
	return plain
}

func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

// textList returns one name as a text, and several as a list in one line.
func textList(refs []ref) *yaml.Node {
	if len(refs) == 1 {
		return text(refs[0].name)
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, r := range refs {
		list.Content = append(list.Content, text(r.name))
	}
	return list
}

func valueOf(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

func setKey(m *yaml.Node, key string, value *yaml.Node) {
	dropKey(m, key)
	m.Content = append(m.Content, text(key), value)
}

func dropKey(m *yaml.Node, key string) {
	for i := 0; i < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			m.Content = slices.Delete(m.Content, i, i+2)
			return
		}
	}
}

// sortKeys sorts the entries of a mapping. An entry that is not in order takes the place of "".
func sortKeys(m *yaml.Node, order []string) {
	place := func(i int) int {
		if at := slices.Index(order, m.Content[i].Value); at >= 0 {
			return at
		}
		return slices.Index(order, "")
	}
	var pairs [][2]*yaml.Node
	places := map[*yaml.Node]int{}
	for i := 0; i < len(m.Content); i += 2 {
		places[m.Content[i]] = place(i)
		pairs = append(pairs, [2]*yaml.Node{m.Content[i], m.Content[i+1]})
	}
	slices.SortStableFunc(pairs, func(a, b [2]*yaml.Node) int { return places[a[0]] - places[b[0]] })
	m.Content = m.Content[:0]
	for _, p := range pairs {
		m.Content = append(m.Content, p[0], p[1])
	}
}
