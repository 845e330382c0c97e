package exprs

import "fmt"

// program is one compiled expression. It is immutable and may run in many goroutines at once.
type program struct {
	src   source
	value evaluator
	test  condition // if the kind is BoolKind or AnyKind
	kind  Kind
	reads Reads

	locals, loops int // that a run needs
}

// compile parses and checks an expression, and prepares its evaluation.
func (c *Compiler) compile(src source, env Env) (p *program, failed *Error) {
	defer func() {
		src.near = nil // programs run in several goroutines
		switch r := recover().(type) {
		case nil:
		case *mistake:
			p, failed = nil, src.mistake(r)
		default:
			p, failed = nil, src.errorAt(src.start(), 1, fmt.Sprintf("expression cannot be compiled: %v", r))
		}
	}()
	text := src.text()
	switch {
	case src.start() == src.to:
		return nil, src.errorAt(src.from, 1, "expression is empty")
	case len(text) > MaxSource:
		return nil, src.errorAt(src.start(), 1, fmt.Sprintf("expression is too long (%d bytes of at most %d)", len(text), MaxSource)).as(Size)
	}
	if !c.spend(expressionParts) {
		return nil, c.spent(src)
	}
	tree, nodes := parse(text)
	if !c.spend(nodes) {
		return nil, c.spent(src)
	}
	check := &checker{env: env}
	kind := check.check(tree).kind()
	p = &program{value: tree.evaluator(), kind: kind, reads: readsOf(tree), locals: check.slots, loops: check.depth}
	if kind == BoolKind || kind == AnyKind {
		p.test = tree.condition()
	}
	p.src = src
	p.src.near = nil
	return p, nil
}
