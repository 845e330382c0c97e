package exprs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftrun/weft/internal/suggest"
)

// checker sets the types of the nodes of a tree and finds the slots of its local variables. The
// first mistake ends it: fail panics with it, which compile recovers.
type checker struct {
	env    Env
	locals []local // that the current node sees
	slots  int     // of local variables so far
	loops  []loopTypes
	depth  int // the most loops within each other
}

type local struct {
	name string
	slot int
	typ  Type
}

// loopTypes has the types that a closure sees.
type loopTypes struct {
	name string
	item Type
}

func (c *checker) fail(n *node, format string, args ...any) {
	panic(&mistake{pos: n.pos, end: n.end, class: Types, msg: fmt.Sprintf(format, args...)})
}

// check sets and returns the type of n.
func (c *checker) check(n *node) Type {
	n.typ = c.typeOf(n)
	return n.typ
}

func (c *checker) typeOf(n *node) Type {
	switch n.kind {
	case constantNode:
		return typeOfConstant(n.value)
	case variableNode:
		return c.variable(n)
	case itemNode:
		return c.item(n)
	case unaryNode:
		return c.unary(n)
	case binaryNode:
		return c.binary(n)
	case comparisonNode:
		return c.comparison(n)
	case memberNode:
		return c.member(n)
	case sliceNode:
		return c.slice(n)
	case optionalNode:
		return c.check(n.args[0])
	case callNode:
		return c.call(n)
	case loopNode:
		return c.loop(n)
	case letNode:
		return c.let(n)
	case sequenceNode:
		var last Type
		for _, arg := range n.args {
			last = c.check(arg)
		}
		return last
	case conditionNode:
		if t := c.check(n.args[0]); !t.mayBe(BoolKind) {
			c.fail(n.args[0], "a condition must be true or false, this is of type %s", t.kind())
		}
		return common(c.check(n.args[1]), c.check(n.args[2]))
	case listNode:
		return c.list(n)
	case mapNode:
		for _, arg := range n.args {
			c.check(arg)
		}
		return dict
	case notCallableNode:
		c.check(n.args[0].args[0])
		c.notCallable(n.args[0])
	case bytesNode:
		c.fail(n, "bytes are not supported; write a string")
	}
	panic(fmt.Sprintf("node of kind %d", n.kind))
}

func typeOfConstant(value any) Type {
	switch value.(type) {
	case nil:
		return null
	case bool:
		return Bool
	case int64:
		return Int
	case float64:
		return Number
	}
	return String
}

// variable finds a name among the variables of let and those of the environment.
func (c *checker) variable(n *node) Type {
	for _, l := range slices.Backward(c.locals) {
		if l.name == n.name {
			n.kind, n.slot = localNode, l.slot
			return l.typ
		}
	}
	if t, ok := c.env[n.name]; ok {
		return t
	}
	if isFunction(n.name) {
		panic(&mistake{pos: n.pos, end: n.end, class: Types, msg: n.name + " is a function, not a value", hint: "call it: " + n.name + "(…)"})
	}
	c.unknownName(n)
	return Any
}

// unknownName reports a name that is neither a variable nor a function.
func (c *checker) unknownName(n *node) {
	m := &mistake{pos: n.pos, end: n.end, class: Name, msg: "unknown name " + n.name, known: slices.Sorted(maps.Keys(c.env))}
	if m.hint = absent[n.name]; m.hint == "" {
		if m.suggest = literals[strings.ToLower(n.name)]; m.suggest == "" {
			m.suggest = suggest.Nearest(n.name, append(slices.Clone(m.known), Functions()...))
		}
	}
	panic(m)
}

func (c *checker) notCallable(n *node) {
	panic(&mistake{pos: n.pos, end: n.end, class: Types, msg: "this is a value, not a function",
		hint: "write f(value) or value | f() with one of the functions"})
}

// item returns the type of # #index or #acc.
func (c *checker) item(n *node) Type {
	loop := c.loops[n.slot]
	switch {
	case n.name == "":
		return loop.item
	case n.name == "index":
		return Int
	case n.name == "acc" && loop.name == "reduce":
		return Any
	}
	c.fail(n, "unknown name #%s: there are # and #index, and #acc in reduce", n.name)
	return Any
}

func (c *checker) member(n *node) Type {
	base, key := c.check(n.args[0]), c.check(n.args[1])
	name, named := n.args[1].isText()
	switch base.kind() {
	case AnyKind:
		return Any
	case MapKind:
		if !base.of.anyKey && !key.mayBe(StringKind) {
			c.fail(n.args[1], "the keys of a map are strings: this is of type %s", key.kind())
		}
		return c.field(n, base, name, named)
	case ListKind:
		if !key.mayBe(IntKind) {
			c.fail(n.args[1], "the index of a list is an integer: this is of type %s", key.kind())
		}
		return base.items()
	}
	if !named {
		name = "[" + string(key.kind()) + "]"
	}
	c.fail(n, "type %s has no field %s", base.kind(), name)
	return Any
}

// field returns the type of a member of a map.
func (c *checker) field(n *node, base Type, name string, named bool) Type {
	fields := base.of.fields
	if fields == nil {
		return base.items()
	}
	if !named {
		return Any
	}
	if t, ok := fields[name]; ok {
		return t
	}
	known := slices.Sorted(maps.Keys(fields))
	panic(&mistake{pos: n.args[1].pos, end: n.args[1].end, class: Field, msg: "unknown field " + name,
		known: known, suggest: suggest.Nearest(name, known)})
}

func (c *checker) slice(n *node) Type {
	t := c.check(n.args[0])
	if !t.mayBe(StringKind, ListKind) {
		c.fail(n, "cannot slice a value of type %s", t.kind())
	}
	for _, bound := range n.args[1:] {
		if bound == nil {
			continue
		}
		if b := c.check(bound); !b.mayBe(IntKind) {
			c.fail(bound, "the bound of a slice is an integer: this is of type %s", b.kind())
		}
	}
	return t
}

func (c *checker) let(n *node) Type {
	_, inEnv := c.env[n.name]
	declared := slices.ContainsFunc(c.locals, func(l local) bool { return l.name == n.name })
	if inEnv || declared || isFunction(n.name) {
		c.fail(n, "%s exists already: choose another name", n.name)
	}
	value := c.check(n.args[0])
	n.slot = c.slots
	c.slots++
	c.locals = append(c.locals, local{name: n.name, slot: n.slot, typ: value})
	defer func() { c.locals = c.locals[:len(c.locals)-1] }()
	return c.check(n.args[1])
}

func (c *checker) list(n *node) Type {
	item := null
	for _, arg := range n.args {
		if t := c.check(arg); item == null || item == t {
			item = t
		} else {
			item = common(item, t)
		}
	}
	if item == null {
		item = Any
	}
	return List(item)
}

func (c *checker) call(n *node) Type {
	f, ok := functions[n.name]
	if !ok {
		callee := &node{kind: variableNode, name: n.name, pos: n.pos, end: n.end}
		c.variable(callee)
		c.notCallable(callee)
	}
	types := make([]Type, len(n.args))
	for i, arg := range n.args {
		types[i] = c.check(arg)
	}
	switch {
	case len(types) < f.least:
		c.fail(n, "not enough arguments to call %s", n.name)
	case len(types) > len(f.params) && !f.more:
		c.fail(n, "too many arguments to call %s", n.name)
	}
	for i, t := range types {
		if p := f.param(i); !p.takes(t) {
			c.fail(n.args[i], "%s wants %s, not a value of type %s", argument(n.name, i), p, t.kind())
		}
	}
	return f.result(types)
}

// argument names an argument of a function.
func argument(function string, i int) string {
	if i == 0 {
		return function
	}
	return fmt.Sprintf("argument %d of %s", i+1, function)
}

func (c *checker) loop(n *node) Type {
	loop := loops[n.name]
	over := c.check(n.args[0])
	if !over.mayBe(ListKind) {
		c.fail(n.args[0], "%s wants a list, not a value of type %s", n.name, over.kind())
	}
	if len(n.args) == 3 {
		last := c.check(n.args[2])
		if n.name == "sortBy" && !last.mayBe(StringKind) {
			c.fail(n.args[2], `the order of sortBy is "asc" or "desc": this is of type %s`, last.kind())
		}
	}
	body := over.items()
	if len(n.args) > 1 {
		c.loops = append(c.loops, loopTypes{name: n.name, item: over.items()})
		c.depth = max(c.depth, len(c.loops))
		body = c.check(n.args[1])
		c.loops = c.loops[:len(c.loops)-1]
		if loop.decides && !body.mayBe(BoolKind) {
			c.fail(n.args[1], "the condition in the parentheses must be true or false, this is of type %s", body.kind())
		}
	}
	c.depth = max(c.depth, len(c.loops)+1)
	return loop.result(over, body)
}

// literals maps literals of other languages, in lower case, to those of this one.
var literals = map[string]string{"true": "true", "false": "false", "nil": "nil", "none": "nil", "null": "nil", "undefined": "nil"}

// absent maps names that the language of expr-lang/expr has and this package has not to a hint.
var absent = map[string]string{
	"now":      "the time is not readable here, so that a replay gives the same result; pass it in as input",
	"date":     "there is no time type; ISO dates compare and slice as text, as in day[0:7]",
	"duration": "there is no time type",
	"timezone": "there is no time type",
	"env":      "the environment is not readable here",
	"$env":     "write the name itself",
}
