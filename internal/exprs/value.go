package exprs

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
)

// Value is a compiled scalar. It is immutable and safe for many goroutines.
type Value struct {
	parts []part
	typed bool // one expression and nothing else: the result keeps its type
}

// part is literal text, or a program.
type part struct {
	literal string
	program *program
}

// CompileValue compiles a scalar in which ${{ expression }} may stand. A scalar that is exactly one
// ${{ }} keeps the type of its result, any other is text. The error is of type Errors and holds
// every mistake, the first 256 of them.
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

// CompileExpr compiles a bare expression, such as the list of a loop. The error is of type Errors.
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

// Kind is what the checker knows about the result; text is always a string.
func (v *Value) Kind() Kind {
	if v.typed {
		return v.parts[0].program.kind
	}
	return StringKind
}

// IsLiteral reports whether there is no expression in it, so that the result is the same for all
// variables.
func (v *Value) IsLiteral() bool {
	for _, p := range v.parts {
		if p.program != nil {
			return false
		}
	}
	return true
}

// MapLiterals returns v with f applied to each text between its expressions.
func (v *Value) MapLiterals(f func(text string) string) *Value {
	mapped := &Value{parts: make([]part, len(v.parts)), typed: v.typed}
	for i, p := range v.parts {
		if mapped.parts[i] = p; p.program == nil {
			mapped.parts[i].literal = f(p.literal)
		}
	}
	return mapped
}

// Eval computes the value. Missing variables read as nil. The result is made of nil, bool, string,
// int64, float64, []any and map[string]any, is a copy, and belongs to the caller. The error is an
// *Error.
func (v *Value) Eval(vars map[string]any) (any, error) {
	r := newRun(vars)
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

// Condition is a compiled expression that is true or false. It is immutable and safe for many
// goroutines.
type Condition struct {
	value *Value
}

// CompileCondition compiles a bare expression that must be a bool; where only the run can tell,
// Eval checks it. The error is of type Errors.
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

// Eval decides. Missing variables read as nil. The error is an *Error.
func (c *Condition) Eval(vars map[string]any) (bool, error) {
	p := c.value.parts[0].program
	out, err := p.eval(newRun(vars))
	if err != nil {
		return false, err
	}
	yes, ok := out.(bool)
	if !ok {
		return false, p.fail(fmt.Errorf("a condition must be true or false, this is %s", kindName(out)))
	}
	return yes, nil
}

// run is one evaluation: the variables, and the meter that all expressions of a scalar share.
type run struct {
	meter *meter
	vars  map[string]any
}

func newRun(vars map[string]any) *run {
	r := &run{meter: newMeter(), vars: make(map[string]any, len(vars)+1)}
	maps.Copy(r.vars, vars)
	r.vars[meterName] = r.meter
	return r
}

// eval runs the program; the result may share memory with the variables.
func (p *program) eval(r *run) (any, error) {
	machine := vm.VM{MemoryBudget: MaxWork}
	out, err := machine.Run(p.code, r.vars)
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

// fail puts a run-time error in its place.
func (p *program) fail(err error) *Error {
	e := p.src.translate(err)
	var at *file.Error
	if errors.As(err, &at) && at.Prev != nil {
		e.Msg, _, _ = strings.Cut(at.Prev.Error(), "\n")
	}
	if strings.HasSuffix(e.Msg, "from <nil>") {
		e.Msg = strings.TrimSuffix(e.Msg, "<nil>") + "nil"
		e.Hint = "guard it with ?. or give a default with ??"
	}
	return e
}
