package exprs

import "strings"

// mismatch reports an operator whose operands have the wrong types.
func (c *checker) mismatch(n *node, op string, types ...Type) {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t.kind())
	}
	plural := ""
	if len(types) > 1 {
		plural = "s"
	}
	c.fail(n, "invalid operation: %s (mismatched type%s %s)", op, plural, strings.Join(names, " and "))
}

func (c *checker) unary(n *node) Type {
	t := c.check(n.args[0])
	switch {
	case n.name == "not" && t.mayBe(BoolKind):
		return Bool
	case n.name != "not" && t.mayBe(IntKind, NumberKind):
		return t
	}
	c.mismatch(n, n.name, t)
	return Any
}

func (c *checker) binary(n *node) Type {
	l, r := c.check(n.args[0]), c.check(n.args[1])
	switch n.name {
	case "==", "!=":
		if canEqual(l, r) {
			return Bool
		}
	case "or", "and":
		if l.mayBe(BoolKind) && r.mayBe(BoolKind) {
			return Bool
		}
	case "+", "-", "*":
		if l.mayBe(IntKind, NumberKind) && r.mayBe(IntKind, NumberKind) {
			return arithmetic(l, r)
		}
		if n.name == "+" && l.mayBe(StringKind) && r.mayBe(StringKind) {
			if l.is(StringKind) && r.is(StringKind) {
				return String
			}
			return Any
		}
	case "/", "**":
		if l.mayBe(IntKind, NumberKind) && r.mayBe(IntKind, NumberKind) {
			return Number
		}
	case "%", "..":
		if l.mayBe(IntKind) && r.mayBe(IntKind) {
			if n.name == ".." {
				return List(Int)
			}
			return Int
		}
	case "in":
		return c.in(n, l, r)
	case "matches", "contains", "startsWith", "endsWith":
		if l.mayBe(StringKind) && r.mayBe(StringKind) {
			c.pattern(n)
			return Bool
		}
	case "??":
		return common(l, r)
	}
	c.mismatch(n, n.name, l, r)
	return Any
}

// pattern compiles a constant pattern, once for all evaluations.
func (c *checker) pattern(n *node) {
	text, ok := n.args[1].isText()
	if n.name != "matches" || !ok {
		return
	}
	p, err := newPattern(text)
	if err != nil {
		c.fail(n, "%v", err)
	}
	n.value = p
}

// arithmetic returns the type of a sum, a difference or a product.
func arithmetic(l, r Type) Type {
	switch {
	case l.is(AnyKind) || r.is(AnyKind):
		return Any
	case l.is(NumberKind) || r.is(NumberKind):
		return Number
	}
	return Int
}

// canEqual reports whether == may be true for values of the types.
func canEqual(l, r Type) bool {
	return l.is(AnyKind, NilKind) || r.is(AnyKind, NilKind) || l.isNumber() && r.isNumber() || l.kind() == r.kind()
}

func (c *checker) in(n *node, l, r Type) Type {
	switch r.kind() {
	case MapKind:
		if !r.of.anyKey && !l.mayBe(StringKind) {
			c.fail(n, "the keys of a map are strings: this is of type %s", l.kind())
		}
		return Bool
	case ListKind:
		if !canEqual(l, r.items()) {
			c.fail(n, "the items of the list are of type %s: this is of type %s", r.items().kind(), l.kind())
		}
		return Bool
	case AnyKind:
		return Bool
	}
	c.mismatch(n, "in", l, r)
	return Any
}

func (c *checker) comparison(n *node) Type {
	for i, arg := range n.args {
		r := c.check(arg)
		if i == 0 {
			continue
		}
		l, op := n.args[i-1].typ, n.ops[i-1]
		numbers := l.mayBe(IntKind, NumberKind) && r.mayBe(IntKind, NumberKind)
		if texts := l.mayBe(StringKind) && r.mayBe(StringKind); !numbers && !texts {
			c.mismatch(&node{pos: op.pos, end: op.end}, op.text, l, r)
		}
	}
	return Bool
}
