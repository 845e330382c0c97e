package workflow

import (
	"reflect"
	"slices"
	"strings"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/record"
)

// judge compares what happened with what was expected.
//
// A run that failed, and was not to fail, is one problem: what it has not done or stored follows
// from that.
func (r *testRun) judge(discarded bool) {
	e := r.t.expect
	if r.res.Status != e.status {
		why := ""
		if discarded {
			why = ", so it was not recorded"
		}
		switch {
		case r.res.Err != nil:
			why += ": " + r.res.Err.Error()
		case r.res.Status == graph.Interrupted:
			why += ", with open questions of " + strings.Join(r.asking(), ", ")
		}
		r.out.fail(e.at, "WF901", "the run is %s, want %s%s", r.res.Status, e.status, strings.ReplaceAll(why, "\n", "; "))
		if r.res.Status == graph.Failed {
			return
		}
	}
	if e.path != nil && !reflect.DeepEqual(e.path, r.res.Path) {
		r.out.fail(e.pathAt, "WF902", "the path is %s, want %s", flow(r.res.Path), flow(e.path))
	}
	r.judgeError()
	if e.asksAt != nil {
		want := []string{}
		for _, a := range e.asks {
			want = append(want, a.name)
		}
		slices.Sort(want)
		if got := r.asking(); !slices.Equal(got, want) {
			r.out.fail(e.asksAt, "WF901", "the nodes with open questions are [%s], want [%s]", strings.Join(got, ", "), strings.Join(want, ", "))
		}
	}
	fields := r.last.State.Map()
	for _, m := range append(slices.Clip(e.output), e.state...) {
		r.judgeField(m, fields[m.key.Value])
	}
}

func (r *testRun) judgeError() {
	e := r.t.expect
	if e.errAt == nil || r.res.Err == nil {
		return
	}
	if !strings.Contains(r.res.Err.Error(), e.err) {
		r.out.fail(e.errAt, "WF901", "the error is %q, want one that contains %q", r.res.Err.Error(), e.err)
	}
	if code := (&graph.NodeError{Err: r.res.Err}).Code(); e.code != "" && code != e.code {
		r.out.fail(e.errAt, "WF901", "the error has the code %q, want %q: %v", code, e.code, r.res.Err)
	}
}

func (r *testRun) judgeField(m member, got any) {
	want := r.src.plainOf(m.value)
	if f := r.plan.field(m.key.Value); f != nil && want != nil {
		want, _ = f.Type.Convert(want)
	}
	a, _ := record.Type{}.Encode(got)
	b, _ := record.Type{}.Encode(want)
	if string(a) == string(b) {
		return
	}
	is, wanted := r.redact(string(a)), r.redact(string(b))
	if is == wanted {
		wanted += " with another value of the secret"
	}
	r.out.fail(m.value, "WF903", "%s is %s, want %s", m.key.Value, is, wanted)
}

// asker returns the node of a file that asks. A question inside of another graph, such as that of
// an agent, is of the node that runs the graph.
func (r *testRun) asker(in graph.Interrupt) string {
	path := []string{in.Node}
	if in.Namespace != "" {
		path = append(strings.Split(in.Namespace, "|"), in.Node)
	}
	for _, name := range slices.Backward(path) {
		if at := strings.IndexAny(name, ":/."); at >= 0 { // no node of a file has them in its name
			name = name[:at]
		}
		if r.hasNode(name) {
			return name
		}
	}
	return in.Node
}

// hasNode reports whether the file or a workflow that it runs has a node of this name.
func (w *Workflow) hasNode(name string) bool {
	return w.plan.node(name) != nil || slices.ContainsFunc(w.subs, func(sub *Workflow) bool { return sub.hasNode(name) })
}

// asking returns the nodes whose questions are open, each once.
func (r *testRun) asking() []string {
	names := []string{}
	for _, in := range r.last.Interrupts {
		names = append(names, r.asker(in))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// flow formats a path in the syntax of a workflow file.
func flow(path [][]string) string {
	parts := make([]string, len(path))
	for i, step := range path {
		parts[i] = strings.Join(step, ", ")
		if len(step) > 1 {
			parts[i] = "[" + parts[i] + "]"
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
