package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/exprs"
	"github.com/weftrun/weft/state/record"
)

// work is what a node does with the values that its expressions may use. It may write
// to the record; what it returns is called result.
type work interface {
	do(ctx context.Context, vars map[string]any, rec *record.Record) (result any, err error)
}

// assignment gives a field the value of a template, by way of the field's reducer.
type assignment struct {
	field    string
	value    *template
	nullable bool // a computed null may clear the field
}

// assignAll computes all values before it writes the first. A null that the file
// does not write itself is an error: a misspelt member of a result would clear a field silently.
func assignAll(as []assignment, vars map[string]any, rec *record.Record) error {
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

func (w setWork) do(_ context.Context, vars map[string]any, rec *record.Record) (any, error) {
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
	idem *template // nil where the node has no idempotency key
	name string    // of the kind
	pos  string
}

func (w *kindWork) do(ctx context.Context, vars map[string]any, _ *record.Record) (any, error) {
	r, err := w.runner(vars)
	if err != nil {
		return nil, err
	}
	v, err := w.runWith(ctx, vars, r)
	if err != nil && !errors.Is(err, graph.ErrInterrupted) {
		return nil, fmt.Errorf("%s: %w", w.pos, err)
	}
	return v, err
}

// runner returns a Runner with its parameters.
func (w *kindWork) runner(vars map[string]any) (Runner, error) {
	args, err := w.args.eval(vars)
	if err != nil {
		return nil, err
	}
	r := w.kind.New()
	if err := into(paramsIn(r), args); err != nil {
		return nil, w.args.misfit(args, reflect.TypeOf(paramsIn(r)), w.name, err)
	}
	return r, nil
}

// runWith runs r under the node's idempotency key, if it has one: then the result is stored
// as soon as r returns, so that a later crash does not run r again.
func (w *kindWork) runWith(ctx context.Context, vars map[string]any, r Runner) (any, error) {
	if w.idem == nil {
		return w.plain(ctx, r)
	}
	key, err := w.idem.text(vars)
	if err != nil {
		return nil, err
	}
	stored, err := graph.Once(ctx, "idempotency_key "+key, func(ctx context.Context) (json.RawMessage, error) {
		v, err := w.plain(context.WithValue(ctx, idempotencyKey{}, key), r)
		if err != nil {
			return nil, err
		}
		return record.Type{}.Encode(v)
	})
	if err != nil {
		return nil, err
	}
	return record.Type{}.Convert(stored)
}

// plain runs r and returns its result as plain values, without secrets.
func (w *kindWork) plain(ctx context.Context, r Runner) (any, error) {
	env := w.env
	env.vault = env.vault.in(ctx)
	run := func() (any, error) {
		v, err := r.Run(ctx, env)
		if err != nil {
			return nil, err
		}
		return record.Type{}.Convert(v)
	}
	if len(env.vault.secrets)+len(env.vault.hidden) == 0 {
		return run()
	}
	env.cover = env.vault.cover()
	v, err := guarded(env.Redact, run)
	return clean(v, env.Redact), err
}

type idempotencyKey struct{}

// IdempotencyKey returns what the file gives as the idempotency_key of the node that runs,
// or "" where it gives none. It is for Runners that hand it to the outside world.
func IdempotencyKey(ctx context.Context) string {
	key, _ := ctx.Value(idempotencyKey{}).(string)
	return key
}

// text evaluates t to a text; what is no text is written as JSON.
func (t *template) text(vars map[string]any) (string, error) {
	v, err := t.eval(vars)
	if s, ok := v.(string); ok || err != nil {
		return s, err
	}
	if v == nil {
		return "", t.runError(errors.New("the key is null"))
	}
	data, err := record.Type{}.Encode(v)
	return string(data), err
}

func (c *checker) kindWork(n *node, kind Kind, env exprs.Env) work {
	args := deref(n.args)
	w := &kindWork{kind: kind, env: c.load.env, name: n.kind.name, pos: c.at(n.kind.at)}
	w.env.vault, w.env.types = c.vault, c.plan.types
	if n.idem != nil {
		w.idem = c.template(n.idem, env, "idempotency_key")
	}
	if args.Kind != yaml.MappingNode && !strings.HasPrefix(n.kind.name, goPrefix) {
		c.fail(args, "WF101", "%s must be a mapping, not %s%s", n.kind.name, describe(args), meantMapping(n.kind.name, args))
		return w
	}
	before := len(c.found)
	w.args = c.source.template(args, env)
	r := kind.New()
	w.args.takes(reflect.TypeOf(paramsIn(r)), n.kind.name)
	if len(c.found) > before {
		return w
	}
	if checker, ok := r.(Checker); ok && !(kind.Bind != nil && c.load.halfRead) {
		given := w.args.constants(paramsIn(r))
		if err := checker.Check(func(name string) bool { return given[name] }); err != nil {
			c.fail(args, "WF504", "%s: %s", n.kind.name, strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	return c.hosted(n, w, r)
}

// hosted returns w as the graph that it is, if it is one.
func (c *checker) hosted(n *node, w *kindWork, r Runner) work {
	host, ok := r.(Host)
	if !ok {
		return w
	}
	if n.idem != nil {
		c.fail(n.idem, "WF517", "idempotency_key is only for kinds that act on other systems, not for %s", n.kind.name)
	}
	return &hostWork{w, host}
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

// perform does the work of n once: for the whole node, or for one item.
func (b *builder) perform(ctx context.Context, n *node, vars map[string]any, rec *record.Record) (any, error) {
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
func (n *node) skips(vars map[string]any) (bool, error) {
	if n.cond == nil {
		return false, nil
	}
	ok, err := n.cond.holds(vars)
	return !ok, err
}
