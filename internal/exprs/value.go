package exprs

import (
	"fmt"
	"strings"
	"sync"
)

// Value is a compiled scalar. It is immutable and safe for concurrent use.
type Value struct {
	parts []part
	typed bool // a single expression without text: the result keeps its type
}

// part is literal text or a program.
type part struct {
	literal string
	program *program
}

// CompileValue compiles a scalar that may contain ${{ expression }}. The value of a scalar that is
// exactly one ${{ }} has the type of the expression; any other value is text. The error is of type
// Errors and holds all mistakes, up to 256.
func CompileValue(text string, env Env) (*Value, error) { return (*Compiler)(nil).Value(text, env) }

// Value is CompileValue within the bounds of c.
func (c *Compiler) Value(text string, env Env) (*Value, error) {
	v, errs := &Value{}, Errors{}
	bad := split(text, func(p piece) bool {
		if !p.isExpr {
			v.parts = append(v.parts, part{literal: p.literal})
			return true
		}
		program, err := c.compile(p.src, env)
		if err != nil {
			errs = append(errs, err)
			return err.Class != Total && len(errs) < maxMistakes
		}
		v.parts = append(v.parts, part{program: program})
		return true
	})
	if bad != nil {
		errs = append(errs, bad)
	}
	if err := errs.sorted().orNil(); err != nil {
		return nil, err
	}
	v.typed = len(v.parts) == 1 && v.parts[0].program != nil
	return v, nil
}

// CompileExpr compiles an expression without ${{ }}, such as the list of a loop. The error is of
// type Errors.
func CompileExpr(text string, env Env) (*Value, error) { return (*Compiler)(nil).Expr(text, env) }

// Expr is CompileExpr within the bounds of c.
func (c *Compiler) Expr(text string, env Env) (*Value, error) {
	if at := strings.Index(text, opening); at == len(text)-len(strings.TrimLeft(text, " \t\r\n")) {
		e := source{whole: text}.errorAt(at, len(opening), "unexpected ${{").as(Marks)
		e.Hint = "this place takes an expression as it is, without ${{ }}"
		return nil, Errors{e}
	}
	program, err := c.compile(source{whole: text, to: len(text)}, env)
	if err != nil {
		return nil, Errors{err}
	}
	return &Value{parts: []part{{program: program}}, typed: true}, nil
}

// Kind returns the static type of the result. It is StringKind for text.
func (v *Value) Kind() Kind {
	if v.typed {
		return v.parts[0].program.kind
	}
	return StringKind
}

// IsLiteral reports whether the value contains no expression. Its result then does not depend on
// variables.
func (v *Value) IsLiteral() bool {
	for _, p := range v.parts {
		if p.program != nil {
			return false
		}
	}
	return true
}

// MapLiterals returns a copy of v with f applied to each text between its expressions.
func (v *Value) MapLiterals(f func(text string) string) *Value {
	mapped := &Value{parts: make([]part, len(v.parts)), typed: v.typed}
	for i, p := range v.parts {
		mapped.parts[i] = p
		if p.program == nil {
			mapped.parts[i].literal = f(p.literal)
		}
	}
	return mapped
}

// Members is a variable whose members are read by name: those in [Value.Reads]. An expression calls
// Member when it reads the member. The result is nil if there is none.
type Members interface {
	Member(name string) any
}

// Eval evaluates the value. Missing variables read as nil. The result consists of nil, bool,
// string, int64, float64, []any and map[string]any. It is a copy that the caller owns. The error is
// an *Error.
func (v *Value) Eval(vars map[string]any) (any, error) {
	r := newRun(vars)
	defer r.release()
	if v.typed {
		return v.parts[0].program.plain(r)
	}
	return v.text(r)
}

func (v *Value) text(r *run) (any, error) {
	var b strings.Builder
	for _, p := range v.parts {
		if p.program == nil {
			b.WriteString(p.literal)
			continue
		}
		s, err := p.program.text(r)
		if err != nil {
			return nil, err
		}
		if b.Len()+len(s) > MaxText {
			return nil, p.program.fail(errText)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// Condition is a compiled expression that yields true or false. It is immutable and safe for
// concurrent use.
type Condition struct {
	value *Value
}

// CompileCondition compiles an expression without ${{ }} that must be a bool. If the type is known
// only at run time, Eval checks it. The error is of type Errors.
func CompileCondition(text string, env Env) (*Condition, error) {
	return (*Compiler)(nil).Condition(text, env)
}

// Condition is CompileCondition within the bounds of c.
func (c *Compiler) Condition(text string, env Env) (*Condition, error) {
	v, err := c.Expr(text, env)
	if err != nil {
		return nil, err
	}
	p := v.parts[0].program
	if p.kind != BoolKind && p.kind != AnyKind {
		return nil, Errors{p.src.errorAt(p.src.start(), 1, fmt.Sprintf("a condition must be true or false, this is of type %s", p.kind)).as(Truth)}
	}
	return &Condition{value: v}, nil
}

// Eval evaluates the condition. Missing variables read as nil. The error is an *Error.
func (c *Condition) Eval(vars map[string]any) (bool, error) {
	p := c.value.parts[0].program
	r := newRun(vars)
	defer r.release()
	r.prepare(p)
	yes, err := p.test(r)
	if err != nil {
		return false, p.fail(err)
	}
	return yes, nil
}

// runs has runs for later evaluations: a run costs more than most expressions.
var runs = sync.Pool{New: func() any { return new(run) }}

// newRun returns a run. The caller releases it when it has copied the result.
func newRun(vars map[string]any) *run {
	r := runs.Get().(*run)
	r.meter.left, r.vars = MaxWork, vars
	return r
}

// prepare makes room for the variables and loops of a program.
func (r *run) prepare(p *program) {
	if len(r.locals) < p.locals {
		r.locals = make([]any, p.locals)
	}
	if len(r.loops) < p.loops {
		r.loops = make([]loopState, p.loops)
	}
}

// release clears the run and returns it to the pool for another evaluation.
func (r *run) release() {
	if len(r.locals) > maxReused || len(r.loops) > maxReused || cap(r.stack) > maxReused {
		return
	}
	r.vars = nil
	clear(r.locals)
	clear(r.loops)
	clear(r.stack[:cap(r.stack)])
	r.stack = r.stack[:0]
	runs.Put(r)
}

// maxReused bounds the variables, the loops and the arguments of a run that is reused.
const maxReused = 64

// eval runs the program. The result may share memory with the variables.
func (p *program) eval(r *run) (any, error) {
	r.prepare(p)
	out, err := p.value(r)
	if err != nil {
		return nil, p.fail(err)
	}
	return out, nil
}

func (p *program) plain(r *run) (any, error) {
	out, err := p.eval(r)
	if err != nil {
		return nil, err
	}
	if out, err = r.meter.plain(out, 0); err != nil {
		return nil, p.fail(err)
	}
	return out, nil
}

func (p *program) text(r *run) (string, error) {
	out, err := p.eval(r)
	if err != nil {
		return "", err
	}
	s, err := r.meter.toText(out)
	if err != nil {
		return "", p.fail(err)
	}
	return s, nil
}

// fail converts a run-time error to an *Error with its place.
func (p *program) fail(err error) *Error { return p.src.failure(err) }
