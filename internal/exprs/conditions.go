package exprs

import (
	"errors"
	"strings"
)

// condition returns the function that computes n where n must be true or false.
func (n *node) condition() condition {
	switch {
	case n.kind == unaryNode && n.name == "not":
		operand := n.args[0].condition()
		return func(r *run) (bool, error) {
			yes, err := operand(r)
			return !yes, err
		}
	case n.kind == comparisonNode:
		return n.comparison()
	case n.kind == binaryNode:
		if test := n.test(); test != nil {
			return test
		}
	}
	value := n.evaluator()
	return func(r *run) (bool, error) {
		v, err := value(r)
		if err != nil {
			return false, err
		}
		yes, ok := v.(bool)
		if !ok {
			return false, n.errorf("a condition must be true or false, this is %s", kindName(v))
		}
		return yes, nil
	}
}

// test returns the condition of an operator whose value is true or false, else nil.
func (n *node) test() condition {
	switch n.name {
	case "and", "or":
		left, right, stop := n.args[0].condition(), n.args[1].condition(), n.name == "or"
		return func(r *run) (bool, error) {
			if yes, err := left(r); err != nil || yes == stop {
				return yes, err
			}
			return right(r)
		}
	case "==", "!=":
		return n.operands(func(m *meter, a, b any) (bool, error) {
			same, err := m.equal(a, b, 0)
			return same == (n.name == "=="), err
		})
	case "in":
		return n.operands(in)
	case "matches":
		constant, _ := n.value.(*pattern)
		return n.operands(func(m *meter, a, b any) (bool, error) { return matches(m, a, b, constant) })
	case "contains":
		return n.operands(textTest(strings.Contains))
	case "startsWith":
		return n.operands(textTest(strings.HasPrefix))
	case "endsWith":
		return n.operands(textTest(strings.HasSuffix))
	}
	return nil
}

// operands returns the condition that applies test to both operands of n.
func (n *node) operands(test func(m *meter, a, b any) (bool, error)) condition {
	left, right := n.args[0].evaluator(), n.args[1].evaluator()
	return func(r *run) (bool, error) {
		a, err := left(r)
		if err != nil {
			return false, err
		}
		b, err := right(r)
		if err != nil {
			return false, err
		}
		yes, err := test(&r.meter, a, b)
		if errors.Is(err, errOperands) {
			return false, n.errorf("invalid operation: %s %s %s", kindName(a), n.name, kindName(b))
		}
		return yes, n.at(err)
	}
}

// comparison evaluates a < b < c: each operand once, and none after the first that is false.
func (n *node) comparison() condition {
	operands := evaluators(n.args)
	return func(r *run) (bool, error) {
		a, err := operands[0](r)
		if err != nil {
			return false, err
		}
		for i, op := range n.ops {
			b, err := operands[i+1](r)
			if err != nil {
				return false, err
			}
			yes, err := r.meter.less(op.text, a, b)
			if err != nil {
				return false, &placed{pos: op.pos, end: op.end, err: err}
			}
			if !yes {
				return false, nil
			}
			a = b
		}
		return true, nil
	}
}
