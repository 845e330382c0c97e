package workflow

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/exprs"
	"github.com/weftrun/weft/state"
)

// work is what a node does with the values that its expressions may use. It may write
// to the record; what it returns is called result.
type work interface {
	do(ctx context.Context, vars map[string]any, rec *state.Record) (result any, err error)
}

// assignment gives a field the value of a template, by way of the field's reducer.
type assignment struct {
	field    string
	value    *template
	nullable bool // a computed null may clear the field
}

// assignAll computes all values before it writes the first. A null that nobody wrote
// down is an error: a misspelt member of a result would empty a field silently.
func assignAll(as []assignment, vars map[string]any, rec *state.Record) error {
	values := make([]any, len(as))
	for i, a := range as {
		v, err := a.value.eval(vars)
		if err != nil {
			return err
		}
		if v == nil && !a.nullable && !a.value.constant() {
			return a.value.runError(fmt.Errorf("field %s got null; guard the expression (EXPR ?? DEFAULT), or write null itself to clear the field", a.field))
		}
		values[i] = v
	}
	for i, a := range as {
		if err := rec.Write(a.field, values[i]); err != nil {
			return a.value.runError(err)
		}
	}
	return nil
}

func (t *template) runError(err error) error {
	return &RunError{t.src.at(t.at), strings.TrimPrefix(err.Error(), "state: ")}
}

// setWork is the kind set.
type setWork []assignment

func (w setWork) do(_ context.Context, vars map[string]any, rec *state.Record) (any, error) {
	return nil, assignAll(w, vars, rec)
}

func (c *checker) set(n *node, env exprs.Env) setWork {
	var as []assignment
	o, _ := c.object(n.args, "set")
	for _, m := range o {
		as = c.assign(as, m, env)
	}
	return as
}

// kindWork is a node of a registered kind.
type kindWork struct {
	kind Kind
	env  Env
	args *template
	pos  string
}

func (w *kindWork) do(ctx context.Context, vars map[string]any, _ *state.Record) (any, error) {
	args, err := w.args.eval(vars)
	if err != nil {
		return nil, err
	}
	r := w.kind.New()
	if err := into(paramsIn(r), args); err != nil {
		return nil, &RunError{w.pos, paramError(err)}
	}
	v, err := r.Run(ctx, w.env)
	if errors.Is(err, graph.ErrInterrupted) {
		return nil, err
	}
	if err == nil {
		v, err = state.Type{}.Convert(v)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.pos, err)
	}
	return v, nil
}

func (c *checker) kindWork(n *node, kind Kind, env exprs.Env) work {
	args := deref(n.args)
	w := &kindWork{kind: kind, env: c.load.env, pos: c.at(n.kind.at)}
	if args.Kind != yaml.MappingNode && !strings.HasPrefix(n.kind.name, goPrefix) {
		c.fail(args, "WF101", "%s must be a mapping, not %s", n.kind.name, describe(args))
		return w
	}
	before := len(c.found)
	w.args = c.template(args, env)
	r := kind.New()
	w.args.takes(reflect.TypeOf(paramsIn(r)), n.kind.name)
	if len(c.found) > before {
		return w
	}
	if checker, ok := r.(Checker); ok {
		given := w.args.constants(paramsIn(r))
		if err := checker.Check(func(name string) bool { return given[name] }); err != nil {
			c.fail(args, "WF504", "%s: %v", n.kind.name, err)
		}
	}
	return w
}

// constants sets those parameters that are constant; given names all that are there.
func (t *template) constants(params any) (given map[string]bool) {
	values := map[string]any{}
	given = map[string]bool{}
	for i, k := range t.keys {
		given[k.Value] = true
		if t.items[i].constant() {
			values[k.Value], _ = t.items[i].eval(nil)
		}
	}
	_ = into(params, values) // takes has seen that they fit
	return given
}

// retryable reports whether another attempt may go better.
func retryable(err error) bool {
	var r interface{ Retryable() bool }
	if errors.As(err, &r) {
		return r.Retryable()
	}
	var p *graph.PanicError
	return !errors.As(err, &p)
}

// perform does the work of n once: for the whole node, or for one item.
func (n *node) perform(ctx context.Context, vars map[string]any, rec *state.Record) (any, error) {
	result, err := n.work.do(ctx, vars, rec)
	if err != nil {
		return nil, err
	}
	if len(n.outputs) > 0 {
		vars["result"] = result
		err = assignAll(n.outputs, vars, rec)
	}
	return result, err
}

// skips reports whether the node's own condition is there and false.
func (n *node) skips(rec *state.Record) (bool, error) {
	if n.cond == nil {
		return false, nil
	}
	ok, err := n.cond.holds(map[string]any{"state": rec.Map()})
	return !ok, err
}
