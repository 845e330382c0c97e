package exprs

import (
	"errors"
	"fmt"
)

// evaluator computes the value of a node. A value is nil, a bool, a string, an int64, a float64, a
// []any, a map[string]any, or the map[any]any of groupBy and fromPairs.
type evaluator func(r *run) (any, error)

// condition computes the value of a node that is true or false.
type condition func(r *run) (bool, error)

// run is the state of one evaluation.
type run struct {
	meter  meter
	vars   map[string]any
	locals []any       // of let, by slot
	loops  []loopState // around the current node, by depth
	stack  []any       // the arguments of functions
}

// loopState has what a closure reads.
type loopState struct {
	item, acc any
	index     int
}

// placed is an error at the place of a node.
type placed struct {
	pos, end int // bytes of the expression
	err      error
	hint     string
}

func (p *placed) Error() string { return p.err.Error() }

// at returns err at the place of n.
func (n *node) at(err error) error {
	if err == nil {
		return nil
	}
	return &placed{pos: n.pos, end: n.end, err: err}
}

func (n *node) errorf(format string, args ...any) error { return n.at(fmt.Errorf(format, args...)) }

// evaluator returns the function that computes n.
func (n *node) evaluator() evaluator {
	switch n.kind {
	case constantNode:
		value := n.value
		return func(*run) (any, error) { return value, nil }
	case variableNode:
		return n.variable()
	case localNode:
		slot := n.slot
		return func(r *run) (any, error) { return r.locals[slot], nil }
	case itemNode:
		return n.item()
	case unaryNode:
		if n.name != "not" {
			return n.sign()
		}
	case binaryNode:
		if e := n.binary(); e != nil {
			return e
		}
	case memberNode:
		return n.member()
	case sliceNode:
		return n.slice()
	case optionalNode:
		of := n.args[0].evaluator()
		return func(r *run) (any, error) {
			v, err := of(r)
			if v == skipped {
				return nil, err
			}
			return v, err
		}
	case callNode:
		return n.call()
	case loopNode:
		return n.loop()
	case letNode:
		return n.let()
	case sequenceNode:
		return n.sequence()
	case conditionNode:
		return n.choice()
	case listNode:
		return n.list()
	case mapNode:
		return n.mapping()
	}
	test := n.condition()
	return func(r *run) (any, error) {
		yes, err := test(r)
		return yes, err
	}
}

func evaluators(nodes []*node) []evaluator {
	all := make([]evaluator, len(nodes))
	for i, n := range nodes {
		all[i] = n.evaluator()
	}
	return all
}

func (n *node) variable() evaluator {
	name := n.name
	return func(r *run) (any, error) {
		v, err := r.meter.normal(r.vars[name])
		return v, n.at(err)
	}
}

func (n *node) item() evaluator {
	slot := n.slot
	switch n.name {
	case "index":
		return func(r *run) (any, error) { return int64(r.loops[slot].index), nil }
	case "acc":
		return func(r *run) (any, error) { return r.loops[slot].acc, nil }
	}
	return func(r *run) (any, error) { return r.loops[slot].item, nil }
}

func (n *node) sign() evaluator {
	operand := n.args[0].evaluator()
	minus := n.name == "-"
	return func(r *run) (any, error) {
		v, err := operand(r)
		if err != nil {
			return nil, err
		}
		switch x := v.(type) {
		case int64:
			if minus {
				negative, err := subtract(int64(0), x)
				return negative, n.at(err)
			}
			return v, nil
		case float64:
			if minus {
				return -x, nil
			}
			return v, nil
		}
		return nil, n.errorf("invalid operation: %s %s", n.name, kindName(v))
	}
}

func (n *node) let() evaluator {
	value, body, slot := n.args[0].evaluator(), n.args[1].evaluator(), n.slot
	return func(r *run) (any, error) {
		v, err := value(r)
		if err != nil {
			return nil, err
		}
		r.locals[slot] = v
		return body(r)
	}
}

func (n *node) sequence() evaluator {
	all := evaluators(n.args)
	return func(r *run) (last any, err error) {
		for _, value := range all {
			if last, err = value(r); err != nil {
				return nil, err
			}
		}
		return last, nil
	}
}

func (n *node) choice() evaluator {
	test, yes, no := n.args[0].condition(), n.args[1].evaluator(), n.args[2].evaluator()
	return func(r *run) (any, error) {
		ok, err := test(r)
		switch {
		case err != nil:
			return nil, err
		case ok:
			return yes(r)
		}
		return no(r)
	}
}

func (n *node) list() evaluator {
	all := evaluators(n.args)
	return func(r *run) (any, error) {
		if err := r.meter.spend(len(all)); err != nil {
			return nil, n.at(err)
		}
		items := make([]any, len(all))
		for i, value := range all {
			v, err := value(r)
			if err != nil {
				return nil, err
			}
			items[i] = v
		}
		return items, nil
	}
}

// mapping evaluates a map. The first of two equal keys counts.
func (n *node) mapping() evaluator {
	all := evaluators(n.args)
	return func(r *run) (any, error) {
		if err := r.meter.spend(len(all)); err != nil {
			return nil, n.at(err)
		}
		m := make(map[string]any, len(all)/2)
		for i := 0; i < len(all); i += 2 {
			k, err := all[i](r)
			if err != nil {
				return nil, err
			}
			key, ok := k.(string)
			if !ok {
				return nil, n.args[i].errorf("the keys of a map are strings, this is %s", kindName(k))
			}
			if err := r.meter.charge(key); err != nil {
				return nil, n.at(err)
			}
			v, err := all[i+1](r)
			if err != nil {
				return nil, err
			}
			if _, twice := m[key]; !twice {
				m[key] = v
			}
		}
		return m, nil
	}
}

// call evaluates the arguments of a function and calls it.
func (n *node) call() evaluator {
	f, args := functions[n.name], evaluators(n.args)
	return func(r *run) (any, error) {
		base := len(r.stack)
		defer func() {
			clear(r.stack[base:])
			r.stack = r.stack[:base]
		}()
		for _, arg := range args {
			v, err := arg(r)
			if err != nil {
				return nil, err
			}
			r.stack = append(r.stack, v)
		}
		values := r.stack[base:]
		for i, v := range values {
			if p := f.param(i); !p.takesValue(v) {
				return nil, n.errorf("%s wants %s, not %s", argument(n.name, i), p, kindName(v))
			}
			if err := f.cost.pay(&r.meter, v); err != nil {
				return nil, n.at(err)
			}
		}
		v, err := f.call(&r.meter, values)
		return v, n.at(err)
	}
}

// binary returns the evaluator of an operator whose value is not true or false, else nil.
func (n *node) binary() evaluator {
	var operate func(m *meter, a, b any) (any, error)
	switch n.name {
	case "+":
		operate = add
	case "-":
		operate = func(_ *meter, a, b any) (any, error) { return subtract(a, b) }
	case "*":
		operate = multiply
	case "/":
		operate = divide
	case "%":
		operate = modulo
	case "**":
		operate = power
	case "..":
		operate = span
	case "??":
		return n.orElse()
	default:
		return nil
	}
	left, right := n.args[0].evaluator(), n.args[1].evaluator()
	return func(r *run) (any, error) {
		a, err := left(r)
		if err != nil {
			return nil, err
		}
		b, err := right(r)
		if err != nil {
			return nil, err
		}
		v, err := operate(&r.meter, a, b)
		if errors.Is(err, errOperands) {
			return nil, n.errorf("invalid operation: %s %s %s", kindName(a), n.name, kindName(b))
		}
		return v, n.at(err)
	}
}

func (n *node) orElse() evaluator {
	left, right := n.args[0].evaluator(), n.args[1].evaluator()
	return func(r *run) (any, error) {
		if v, err := left(r); v != nil || err != nil {
			return v, err
		}
		return right(r)
	}
}
