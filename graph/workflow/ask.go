package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/exprs"
	"github.com/weftrun/weft/state/record"
)

// askWork is the kind ask: a question to a person whose answer has a declared type.
type askWork struct {
	at     *yaml.Node
	texts  map[string]*template // title, show, key and to
	data   *template            // nil for none
	typ    record.Type          // of the answer
	schema json.RawMessage
	within time.Duration
	then   *template // the answer when none arrives in time; nil: the node fails
	secret bool      // no record or error shows the answer

	remind   time.Duration
	escalate []escalation
}

// escalation is who is asked when no answer has come for a time.
type escalation struct {
	after time.Duration
	to    *template
}

// ask checks a node of the kind ask, and returns the type of its result.
func (c *checker) ask(n *node, env exprs.Env) exprs.Type {
	w := &askWork{at: n.args, texts: map[string]*template{}}
	n.work = w
	o, ok := c.record(n.args, "ask", "title", "show", "data", "answer", "form", "expires", "key", "secret",
		"to", "remind", "escalate")
	if !ok {
		return exprs.Any
	}
	for _, m := range o {
		switch key := m.key.Value; key {
		case "title", "show", "key", "to":
			w.texts[key] = c.template(m.value, env, "ask."+key)
		case "data":
			w.data = c.template(m.value, env, "ask.data")
		case "secret":
			w.secret = c.bool(m.value, "ask.secret")
		case "remind":
			if w.remind = c.duration(m.value, "ask.remind"); w.remind > 0 && w.remind < time.Second {
				c.fail(m.value, "WF107", "ask.remind must be at least 1s, not %s", describe(m.value))
			}
		case "escalate":
			w.escalate = c.escalations(m.value, env)
		}
	}
	for _, key := range []string{"title", "show", "to"} {
		if t := w.texts[key]; t != nil && t.kind() != exprs.StringKind && t.kind() != exprs.AnyKind {
			c.fail(t.at, "WF503", "ask.%s must be text, not %s", key, t.kind())
		}
	}
	if w.texts["title"] == nil {
		c.fail(n.args, "WF125", "ask requires title, the question")
	}
	c.answerType(w, o)
	if e := o.get("expires"); e != nil {
		c.expires(w, e, env)
	}
	return exprType(w.typ)
}

// escalations reads who is asked when no answer comes: a list of {after: time, to: name}.
func (c *checker) escalations(n *yaml.Node, env exprs.Env) (all []escalation) {
	for _, item := range c.list(n, "ask.escalate") {
		o, _ := c.record(item, "ask.escalate", "after", "to")
		after, to := o.get("after"), o.get("to")
		if after == nil || to == nil {
			c.fail(item, "WF125", "ask.escalate requires after and to")
			continue
		}
		e := escalation{c.duration(after, "ask.escalate.after"), c.template(to, env, "ask.escalate.to")}
		if k := e.to.kind(); k != exprs.StringKind && k != exprs.AnyKind {
			c.fail(to, "WF503", "ask.escalate.to must be text, not %s", k)
		}
		all = append(all, e)
	}
	return all
}

// answerType reads what is answered: one value of a type, or a form.
func (c *checker) answerType(w *askWork, o object) {
	answer, form := o.get("answer"), o.get("form")
	var schema any
	switch {
	case answer != nil && form != nil:
		c.fail(form, "WF125", "ask must have answer or form, not both")
	case form != nil:
		w.typ, schema = c.form(form)
	case answer != nil:
		w.typ, _ = c.typ(answer, c.plan.types)
		schema = schemaOf(w.typ)
	default:
		w.typ, _ = record.ParseType("string", nil)
		schema = schemaOf(w.typ)
	}
	w.schema, _ = json.Marshal(schema) // it is made of plain values
}

// expires reads how long an answer is waited for: a time, or {after: time, then: answer}.
func (c *checker) expires(w *askWork, n *yaml.Node, env exprs.Env) {
	if n.Kind != yaml.MappingNode {
		w.within = c.duration(n, "expires")
		return
	}
	o, _ := c.record(n, "expires", "after", "then")
	after := o.get("after")
	if after == nil {
		c.fail(n, "WF125", "expires requires after, the time limit of the answer")
		return
	}
	w.within = c.duration(after, "expires.after")
	if then := o.get("then"); then != nil {
		w.then = c.template(then, env, "expires.then")
		known := len(c.found)
		w.then.fits(w.typ, "expires.then")
		if len(c.found) > known || !w.then.constant() {
			return
		}
		v, err := w.then.eval(nil)
		if err == nil {
			_, err = w.unanswered(v)
		}
		if err != nil {
			c.fail(then, "WF410", "expires.then: %v", err)
		}
	}
}

// unanswered returns v as the answer when none arrives in time. Like each answer it must fit the
// schema.
func (w *askWork) unanswered(v any) (any, error) {
	v, err := w.typ.Convert(v)
	if err != nil {
		return nil, err
	}
	data, err := record.Type{}.Encode(v)
	if err == nil {
		err = fits(w.schema, data)
	}
	return v, err
}

// fits returns why a schema refuses a value, or nil.
func fits(schema, value json.RawMessage) error {
	if err := (&graph.Interrupt{Schema: schema}).Accepts(value); err != nil {
		return errors.New(innermost(err))
	}
	return nil
}

func (w *askWork) do(ctx context.Context, vars map[string]any, _ *record.Record) (any, error) {
	q := graph.Question{Schema: w.schema, Timeout: w.within, Secret: w.secret, Remind: w.remind}
	for name, to := range map[string]*string{"title": &q.Prompt, "show": &q.Detail, "key": &q.Key, "to": &q.To} {
		if t := w.texts[name]; t != nil {
			var err error
			if *to, err = t.text(vars); err != nil {
				return nil, err
			}
		}
	}
	for _, e := range w.escalate {
		to, err := e.to.text(vars)
		if err != nil {
			return nil, err
		}
		q.Escalate = append(q.Escalate, graph.Escalation{After: e.after, To: to})
	}
	if w.data != nil {
		var err error
		if q.Data, err = w.data.eval(vars); err != nil {
			return nil, err
		}
	}
	return w.answer(ctx, q, vars)
}

// answer asks until an answer can be read: one may fit the schema and be no value of the
// type all the same, such as a whole number of more than 64 bits.
func (w *askWork) answer(ctx context.Context, q graph.Question, vars map[string]any) (any, error) {
	for detail := q.Detail; ; {
		data, err := graph.Ask[json.RawMessage](ctx, q)
		if errors.Is(err, graph.ErrExpired) && w.then != nil {
			v, err := w.then.eval(vars)
			if err != nil {
				return nil, err
			}
			if v, err = w.unanswered(v); err != nil {
				return nil, w.then.runError(err)
			}
			return v, nil
		}
		if err != nil {
			return nil, err
		}
		v, err := w.typ.Convert(data)
		if err == nil {
			return v, nil
		}
		q.Detail = detail + "\n\nThe last answer was refused"
		if !w.secret {
			q.Detail += ": " + err.Error()
		}
	}
}

var _ work = (*askWork)(nil)
