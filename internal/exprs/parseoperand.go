package exprs

import (
	"fmt"
	"strconv"
	"strings"
)

func (p *parser) primary() *node {
	t := p.peek()
	if power := unaryPrecedence[t.text]; power > 0 && t.kind == operatorToken {
		p.next()
		operand := p.expression(power)
		return p.postfix(p.node(t, node{kind: unaryNode, name: operatorName(t.text), args: []*node{operand}}))
	}
	if p.accept("(") {
		n := p.sequence()
		p.expect(")")
		return p.postfix(n)
	}
	if p.loops > 0 && t.is("#", ".") {
		return p.postfix(p.item(t))
	}
	return p.secondary()
}

// item parses # #index #acc, and the # that .name leaves out.
func (p *parser) item(t token) *node {
	n := p.node(t, node{kind: itemNode, slot: p.loops - 1})
	if p.accept("#") && p.peek().kind == nameToken {
		n.name = p.next().text
	}
	return n
}

func (p *parser) secondary() *node {
	t := p.peek()
	switch {
	case t.kind == nameToken:
		p.next()
		switch t.text {
		case "true":
			return p.constant(t, true)
		case "false":
			return p.constant(t, false)
		case "nil":
			return p.constant(t, nil)
		}
		if p.peek().is("(") {
			return p.postfix(p.call(t))
		}
		return p.postfix(p.node(t, node{kind: variableNode, name: t.text}))
	case t.kind == numberToken:
		p.next()
		return p.constant(t, p.number(t))
	case t.kind == textToken:
		p.next()
		return p.postfix(p.constant(t, t.text))
	case t.kind == bytesToken:
		p.next()
		return p.postfix(p.node(t, node{kind: bytesNode}))
	case p.accept("["):
		return p.postfix(p.node(t, node{kind: listNode, args: p.items("]", nil)}))
	case p.accept("{"):
		return p.postfix(p.mapping(t))
	}
	p.unexpected()
	return nil
}

// number returns the value of a number: an int64, or a float64.
func (p *parser) number(t token) any {
	text := strings.ReplaceAll(strings.ToLower(t.text), "_", "")
	base := 10
	switch {
	case strings.HasPrefix(text, "0x"), strings.HasPrefix(text, "0o"), strings.HasPrefix(text, "0b"):
		base = 0
	case strings.ContainsAny(text, ".e"):
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			p.fail(t, fmt.Sprintf("number %s cannot be read: write it as 1.5 or 1e9, up to 1.8e308", t.text))
		}
		return f
	}
	i, err := strconv.ParseInt(text, base, 64)
	if err != nil {
		p.fail(t, fmt.Sprintf("number %s is no integer of 64 bits", t.text))
	}
	return i
}

// items parses expressions with commas between them up to a closing bracket.
func (p *parser) items(closing string, items []*node) []*node {
	for first := true; !p.accept(closing); first = false {
		if !first {
			p.expect(",")
			if p.accept(closing) {
				break
			}
		}
		items = append(items, p.expression(0))
	}
	return items
}

// mapping parses a map after its opening brace. A key is a name, a number or a text, or an
// expression in parentheses.
func (p *parser) mapping(start token) *node {
	var pairs []*node
	for !p.accept("}") {
		if len(pairs) > 0 {
			p.expect(",")
			if p.accept("}") {
				break
			}
		}
		var key *node
		switch t := p.peek(); {
		case t.kind == nameToken, t.kind == numberToken, t.kind == textToken:
			p.next()
			key = p.constant(t, t.text)
		case t.is("("):
			key = p.expression(0)
		default:
			if t.kind == endToken || t.kind == badToken {
				p.unexpected()
			}
			p.fail(t, fmt.Sprintf("a key of a map is a name, a text, a number, or an expression in parentheses, not %q", t.text))
		}
		p.expect(":")
		pairs = append(pairs, key, p.expression(0))
	}
	return p.node(start, node{kind: mapNode, args: pairs})
}

// call parses the arguments of a function; a pipe has given the first one. A name that is not a
// function is a mistake that the checker finds.
func (p *parser) call(name token, given ...*node) *node {
	if loop, ok := loops[name.text]; ok {
		return p.loop(name, loop, given)
	}
	p.expect("(")
	return p.node(name, node{kind: callNode, name: name.text, args: p.items(")", given)})
}

// loop parses the arguments of a function whose second argument is a closure.
func (p *parser) loop(name token, loop loopFunction, args []*node) *node {
	p.expect("(")
	for given := len(args); len(args) < loop.most && !p.peek().is(")"); {
		if len(args) > given {
			p.expect(",")
			if len(args) >= loop.least && p.peek().is(")") {
				break
			}
		}
		if len(args) == 1 {
			args = append(args, p.closure())
		} else {
			args = append(args, p.expression(0))
		}
	}
	if len(args) < loop.least {
		if !p.peek().is(")") {
			p.unexpected()
		}
		p.fail(p.peek(), fmt.Sprintf("%s wants %d arguments, such as %s", name.text, loop.least, loop.example))
	}
	p.accept(",")
	p.expect(")")
	return p.node(name, node{kind: loopNode, name: name.text, args: args, slot: p.loops})
}

// closure parses the expression of a loop, which may be in braces.
func (p *parser) closure() *node {
	p.loops++
	defer func() { p.loops-- }()
	if p.peek().is("{") {
		return p.block()
	}
	n := p.expression(0)
	if t := p.peek(); t.is(";") {
		p.fail(t, "put braces around the condition: a loop with ; needs { and }")
	}
	return n
}

// postfix parses members, indexes and slices.
func (p *parser) postfix(n *node) *node {
	for {
		t := p.peek()
		optional := t.is("?.")
		switch {
		case p.accept("."), p.accept("?."):
			if optional && p.peek().is("[") {
				n = p.index(n, p.next(), true)
				continue
			}
			n = p.member(n, optional)
		case p.accept("["):
			n = p.index(n, t, false)
		default:
			return n
		}
	}
}

// member parses the name after a dot. An operator such as contains may be a name there.
func (p *parser) member(of *node, optional bool) *node {
	t := p.peek()
	if t.kind != nameToken && !(t.kind == operatorToken && isLetter(rune(t.text[0]))) {
		if t.kind == endToken || t.kind == badToken {
			p.unexpected()
		}
		p.fail(t, "expected a name after the dot")
	}
	p.next()
	inChain := of.kind == optionalNode
	if inChain {
		of = of.args[0]
	}
	n := p.node(t, node{kind: memberNode, optional: optional, args: []*node{of, p.constant(t, t.text)}})
	if p.accept("(") {
		p.items(")", nil)
		n = p.node(t, node{kind: notCallableNode, args: []*node{n}})
	}
	if inChain || optional {
		n = p.node(t, node{kind: optionalNode, args: []*node{n}})
	}
	return n
}

// index parses an index or a slice after its opening bracket.
func (p *parser) index(of *node, bracket token, optional bool) *node {
	var from, to *node
	slice := p.accept(":")
	if !slice {
		from = p.expression(0)
		slice = p.accept(":")
	}
	if !slice {
		p.expect("]")
		n := p.node(bracket, node{kind: memberNode, optional: optional, args: []*node{of, from}})
		if optional {
			n = p.node(bracket, node{kind: optionalNode, args: []*node{n}})
		}
		return n
	}
	if !p.peek().is("]") {
		to = p.expression(0)
	}
	p.expect("]")
	return p.node(bracket, node{kind: sliceNode, args: []*node{of, from, to}})
}
