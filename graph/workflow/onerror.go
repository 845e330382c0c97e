package workflow

import (
	"context"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/exprs"
	"github.com/weftrun/weft/state/record"
)

// onError has the ways on when the last attempt of a node has failed. The first way whose
// condition holds is taken. If none does, the node fails.
type onError struct {
	at   *yaml.Node
	ways []onFailure
}

// onFailure is one item of on_error: it may write fields and name the next node. Without a target,
// the node leads to the same nodes as after a success.
type onFailure struct {
	at   *yaml.Node
	cond *condition
	to   []ref
	set  object
}

// onError decodes a target, a list of targets, one way or a list of ways.
func (s *source) onError(n *yaml.Node) *onError {
	n = deref(n)
	e := &onError{at: n}
	switch {
	case n.Kind == yaml.MappingNode:
		e.ways = []onFailure{s.onFailure(n)}
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0 && deref(n.Content[0]).Kind == yaml.MappingNode:
		for i, item := range n.Content {
			w := s.onFailure(item)
			e.ways = append(e.ways, w)
			if w.cond == nil && i < len(n.Content)-1 {
				s.fail(item, "WF120", "this item has no condition; later items are never reached")
			}
		}
	default:
		e.ways = []onFailure{{at: n, to: s.oneOrMore(n, "on_error")}}
	}
	return e
}

func (s *source) onFailure(n *yaml.Node) onFailure {
	w := onFailure{at: deref(n)}
	o, _ := s.record(n, "on_error", "if", "to", "set", "else")
	if cond := o.get("if"); cond != nil {
		w.cond = s.condition(cond)
	}
	to := o.get("to")
	if other := o.get("else"); other != nil {
		if len(o) > 1 {
			s.fail(n, "WF119", "an else item must be {else: node}")
		}
		to = other
	}
	if to != nil {
		w.to = s.oneOrMore(to, "on_error")
	}
	if set := o.get("set"); set != nil {
		w.set, _ = s.object(set, "on_error.set")
	}
	return w
}

// targets returns all that e may lead to, each once.
func (e *onError) targets() (all []ref) {
	if e == nil {
		return nil
	}
	n := next{}
	for _, w := range e.ways {
		n.ways = append(n.ways, way{to: w.to})
	}
	return n.targets()
}

// errorType is what an expression knows of a failure.
var errorType = exprs.Object(map[string]exprs.Type{
	"message": exprs.String, // without the place
	"kind":    exprs.String, // error, panic, timeout, permanent or cancelled
	"code":    exprs.String, // such as http:503 or expired; "" for most
	"node":    exprs.String,
	"attempt": exprs.Int, // the last one, from 1
})

func errorValue(node string, failure *graph.NodeError) map[string]any {
	return map[string]any{
		"message": failure.Err.Error(), "kind": failure.Kind(), "code": failure.Code(),
		"node": node, "attempt": int64(failure.Attempt),
	}
}

// checkError compiles the ways of n's on_error; env has the names that the node's own
// expressions see. The handler may be that of several nodes, so what is made of it
// belongs to n.
func (c *checker) checkError(n *node, env exprs.Env) {
	e := n.onError
	if e == nil {
		return
	}
	inner := exprs.Env{}
	for name, t := range env {
		if name != "result" {
			inner[name] = t
		}
	}
	inner["error"] = errorType
	for _, w := range e.ways {
		r := onFailurePlan{to: w.to}
		if w.cond != nil {
			cond := *w.cond
			c.compile(&cond, inner)
			r.cond = &cond
		}
		for _, m := range w.set {
			r.set = c.assign(r.set, m, inner)
		}
		c.checkTargets(w.to, "on_error")
		if n.each != nil && len(w.to) > 0 {
			c.failAt(w.at.Line, w.at.Column, "WF312", "without a target, the failed item is omitted",
				"the on_error of a for_each applies to each item and cannot lead to a node")
		}
		n.onFailures = append(n.onFailures, r)
	}
}

// onFailurePlan is an item of on_error, compiled for one node.
type onFailurePlan struct {
	cond *condition
	to   []ref
	set  []assignment
}

// onFailure sets the error handler of the graph node called name, which does the work of n.
// decides reports whether that node chooses its successors itself.
func (b *builder) onFailure(n *node, name string, decides bool) {
	if n.onError == nil {
		return
	}
	targets := names(n.onError.targets())
	if decides {
		targets = append(targets, names(n.next.targets())...)
	}
	b.At(b.src.at(n.onError.at)).OnError(name, graph.Handler(
		func(ctx context.Context, rec *record.Record, failure *graph.NodeError) (graph.Command, error) {
			return b.mend(ctx, n, rec, failure, decides)
		}, targets...))
}

// mend takes the first way whose condition holds.
func (b *builder) mend(ctx context.Context, n *node, rec *record.Record, failure *graph.NodeError, decides bool) (cmd graph.Command, err error) {
	vars, err := b.vars(ctx, n, rec)
	if err != nil {
		return cmd, err
	}
	vars["error"] = errorValue(n.name, failure)
	if it, ok := failure.Payload.(item); ok && n.each != nil {
		if vars[n.each.alias.name], err = it.value(); err != nil {
			return cmd, err
		}
	}
	for i, w := range n.onFailures {
		if w.cond != nil {
			if ok, err := w.cond.holds(vars); err != nil {
				return cmd, err
			} else if !ok {
				continue
			}
		}
		b.seen.failed(n, i)
		if err := assignAll(w.set, vars, rec); err != nil {
			return cmd, err
		}
		switch {
		case len(w.to) > 0:
			return graph.Goto(names(w.to)...), nil
		case decides:
			return b.choose(ctx, n, rec, nil)
		}
		return cmd, nil
	}
	return cmd, &RunError{b.src.at(n.onError.at), "no condition of on_error is true"}
}
