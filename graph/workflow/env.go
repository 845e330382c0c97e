package workflow

import (
	"context"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/exprs"
	"github.com/weftrun/weft/state/record"
)

// variable is one entry of env or secrets: a name in the file, and the variable of the
// environment that it is read from.
type variable struct {
	ref
	from string
	typ  string // string, int, number or bool
	def  any    // the default; nil when there is none
}

var variableTypes = map[string]exprs.Type{
	"string": exprs.String, "int": exprs.Int, "number": exprs.Number, "bool": exprs.Bool,
}

// environment decodes the variables that expressions may read.
func (s *source) environment(n *yaml.Node) (all []variable) {
	o, _ := s.object(n, "env")
	if s.tooLong(n, o, "variables in env") {
		return nil
	}
	for _, m := range o {
		v := variable{ref: ref{m.key.Value, m.key}, from: m.key.Value, typ: "string"}
		if !identifier.MatchString(v.name) {
			s.fail(m.key, "WF111", "the name %q in env must be letters, digits and _, not a digit first", v.name)
		}
		if m.value.Kind == yaml.MappingNode {
			s.variable(&v, m.value)
		} else {
			v.typ = s.choice(m.value, "the type of "+v.name, "string", "int", "number", "bool")
		}
		all = append(all, v)
	}
	return all
}

func (s *source) variable(v *variable, n *yaml.Node) {
	o, _ := s.record(n, "env "+v.name, "type", "from", "default", "description")
	for _, m := range o {
		switch m.key.Value {
		case "type":
			v.typ = s.choice(m.value, "the type of "+v.name, "string", "int", "number", "bool")
		case "from":
			v.from, _ = s.string(m.value, "from")
		case "description":
			s.string(m.value, "description")
		}
	}
	def := o.get("default")
	if def == nil {
		return
	}
	given, ok := s.scalar(def)
	t, err := record.ParseType(v.typ, nil)
	if ok && err == nil {
		if v.def, err = t.Convert(given); err != nil || v.def == nil {
			s.fail(def, "WF407", "the default of %s must be %s", v.name, v.typ)
		}
	}
}

// read returns the value of v in an environment.
func (v variable) read(lookup func(string) (string, bool)) (any, error) {
	text, ok := lookup(v.from)
	if !ok {
		if v.def == nil {
			return nil, fmt.Errorf("the environment variable %s is not set, and %s has no default", v.from, v.name)
		}
		return v.def, nil
	}
	value, err := any(text), error(nil)
	switch v.typ {
	case "int":
		value, err = strconv.ParseInt(text, 10, 64)
	case "number":
		value, err = finite(strconv.ParseFloat(text, 64))
	case "bool":
		value, err = strconv.ParseBool(text)
	}
	if err != nil {
		return nil, fmt.Errorf("the environment variable %s must be %s", v.from, v.typ)
	}
	return value, nil
}

// finite returns an error for a number that no state can store, such as NaN.
func finite(f float64, err error) (float64, error) {
	if err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
		err = strconv.ErrRange
	}
	return f, err
}

// lookup returns where the file's variables come from.
func (o Options) lookup() func(string) (string, bool) {
	if o.LookupEnv != nil {
		return o.LookupEnv
	}
	return os.LookupEnv
}

// CheckEnv checks the environment that the file needs: for env, secrets, models, tools and nodes.
// It returns an *Error that names every variable that is not set or of another type, and every
// missing permission; nil if there is none. Call it before a run, which would fail when it reads
// one.
func (w *Workflow) CheckEnv() error {
	s := *w.src
	s.problems = new(problems)
	for _, v := range w.plan.env {
		if _, err := v.read(w.vault.lookup); err != nil {
			s.fail(v.at, "WF704", "%v", err)
		}
	}
	for _, v := range w.plan.secrets {
		if _, err := w.vault.value(v.name); err != nil {
			s.fail(v.at, "WF704", "%v", err)
		}
	}
	w.ents.checkEnv(s.problems)
	for _, n := range w.plan.nodes {
		if err := n.checkEnv(w.vault); err != nil {
			s.fail(n.kind.at, "WF705", "%s: %v", n.kind.name, err)
		}
	}
	for _, sub := range w.subs {
		if err, ok := sub.CheckEnv().(*Error); ok {
			s.found = append(s.found, err.Problems...)
		}
	}
	return s.err()
}

// checkEnv returns what the kind of a node reports about an environment.
func (n *node) checkEnv(v *vault) error {
	work := registered(n.work)
	if work == nil {
		return nil
	}
	r := work.kind.New()
	c, ok := r.(EnvChecker)
	if !ok {
		return nil
	}
	work.args.constants(paramsIn(r))
	env := work.env
	env.vault = v
	return c.CheckEnv(env)
}

// environment returns the values that expressions see as env.
func (w *Workflow) environment(ctx context.Context) (map[string]any, error) {
	if len(w.plan.env) == 0 {
		return nil, nil
	}
	values := make(map[string]any, len(w.plan.env))
	for _, v := range w.plan.env {
		value, err := v.read(w.vault.in(ctx).lookup)
		if err != nil {
			return nil, &RunError{w.src.at(v.at), err.Error()}
		}
		values[v.name] = value
	}
	return values, nil
}

// timeField is the hidden field of the state that holds when the turn began.
const timeField = "run_time"

// usesTime finds files that may read the time of the turn. Others read it as a member of run that
// is not named so, such as run["time"]: see node.readsTime.
var usesTime = regexp.MustCompile(`\brun\s*\.\s*(time|unix)\b`)

// readsTime reports whether an expression of n, or the workflow that it runs, reads the time of the
// turn.
func (n *node) readsTime() bool {
	members, reads := n.reads["run"]
	return reads && (members == nil || slices.Contains(members, "time") || slices.Contains(members, "unix"))
}

// runType is what expressions see as run.
var runType = exprs.Object(map[string]exprs.Type{
	"time":    exprs.String, // when the turn began, such as 2026-11-21T09:30:00Z
	"unix":    exprs.Int,    // the same in seconds since 1970
	"task":    exprs.String, // the id of the task, the same in each attempt
	"attempt": exprs.Int,    // from 1
})

// variables has maps for later calls of vars.
var variables = sync.Pool{New: func() any { return map[string]any{} }}

// release gives back what vars returned. Nothing may use it after that.
func release(vars map[string]any) {
	clear(vars)
	variables.Put(vars)
}

// vars returns the variables of every expression of the file, and those that the expressions of n
// read. A log and the id of the task, which is a hash, are only computed if an expression reads
// them. The caller may release the map.
func (w *Workflow) vars(ctx context.Context, n *node, rec *record.Record) (map[string]any, error) {
	env, err := w.environment(ctx)
	if err != nil {
		return nil, err
	}
	vars := variables.Get().(map[string]any)
	if _, reads := n.reads["env"]; reads {
		vars["env"] = env // an empty one is a nil map
	}
	if members, reads := n.reads["state"]; reads {
		vars["state"] = w.fields(rec, members)
	}
	if members, reads := n.reads["run"]; reads {
		vars["run"] = w.runVars(ctx, rec, members)
	}
	if _, reads := n.reads["config"]; reads {
		vars["config"] = w.config(rec)
	}
	return vars, nil
}

// fields returns what expressions see as state: fields with these names, or all.
func (w *Workflow) fields(rec *record.Record, names []string) any {
	if names != nil {
		return (*stateMembers)(rec)
	}
	fields := rec.Map()
	if w.timed {
		delete(fields, timeField)
	}
	if len(w.plan.config) > 0 {
		delete(fields, configField)
	}
	return fields
}

// stateMembers is a state of which an expression reads the fields that it names.
type stateMembers record.Record

// Member implements [exprs.Members].
func (f *stateMembers) Member(name string) any {
	v, _ := (*record.Record)(f).Get(name)
	return v
}

// runVars returns what expressions see as run: members with these names, or all.
func (w *Workflow) runVars(ctx context.Context, rec *record.Record, names []string) map[string]any {
	run := map[string]any{"time": "", "unix": int64(0), "attempt": int64(graph.Attempt(ctx))}
	if names == nil || slices.Contains(names, "task") {
		run["task"] = graph.TaskID(ctx)
	}
	if w.timed {
		if at, ok := rec.Get(timeField); ok {
			unix, _ := at.(int64)
			run["unix"], run["time"] = unix, time.Unix(unix, 0).UTC().Format(time.RFC3339)
		}
	}
	return run
}

// stamp writes when the turn begins into its input, so that it is stored with the turn:
// a resume, another process and a branch of the thread see the same time.
func (w *Workflow) stamp(rec *record.Record, unix int64) {
	if w.timed {
		_ = rec.Write(timeField, unix) // an int fits
	}
}

// baseEnv returns the types of what vars returns.
func (c *checker) baseEnv() exprs.Env {
	return exprs.Env{"state": c.state, "env": c.env, "run": runType, "config": c.config}
}

// envType is the type of what expressions see as env.
func (p *plan) envType() exprs.Type {
	env := map[string]exprs.Type{}
	for _, v := range p.env {
		env[v.name] = variableTypes[v.typ] // Any for a type that is a mistake
	}
	return exprs.Object(env)
}
