package workflow

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/state/record"
)

// Input returns the state that a turn begins with. Only fields that the file lists
// under input may be given, and those that are required must be; without an input
// section any field may. The error is an *Error that holds every mistake, at the
// place where the file declares what was expected.
func (w *Workflow) Input(values map[string]json.RawMessage) (record.Record, error) {
	return w.InputWith(values, nil)
}

func (w *Workflow) fill(values, config map[string]any, unix int64) (record.Record, error) {
	rec := w.shape.New()
	s := *w.src
	s.problems = new(problems)
	w.stamp(&rec, unix)
	w.configure(&rec, w.configured(&s, config))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		f := w.inputField(name)
		if f == nil {
			at := w.plan.inputAt()
			s.failAt(at.Line, at.Column, "WF801", w.inputHint(), "there is no input %q%s", name, didYouMean(name, w.inputNames()))
			continue
		}
		if err := rec.Write(name, values[name]); err != nil {
			s.fail(f.at, "WF802", "input %s", strings.TrimPrefix(err.Error(), "state: "))
		}
	}
	for _, f := range w.plan.fields {
		switch v, ok := values[f.Name]; {
		case f.required && !ok:
			s.fail(f.at, "WF803", "input %s is missing; want %s", f.Name, f.Type)
		case ok && f.misses(isNull(v)):
			s.fail(f.at, "WF803", "input %s is null; want %s", f.Name, f.Type)
		}
	}
	return rec, s.err()
}

// misses reports whether the input lacks a field that is given. A null is no value of a required
// field, unless its type has null.
func (f *field) misses(null bool) bool { return f.required && null && f.Type.Base() != "any" }

func isNull(v any) bool {
	data, ok := v.(json.RawMessage)
	return v == nil || ok && string(bytes.TrimSpace(data)) == "null"
}

// inputAt returns the place where the file declares its input.
func (p *plan) inputAt() *yaml.Node {
	if len(p.input) > 0 {
		return p.input[0].at
	}
	return p.at
}

func (w *Workflow) inputField(name string) *field {
	if !w.plan.takes(name) {
		return nil
	}
	return w.plan.field(name)
}

func (w *Workflow) inputNames() (names []string) {
	for _, f := range w.plan.fields {
		if w.plan.takes(f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// Field describes one input or output for programs that show or ask for it.
type Field struct {
	Name     string
	Type     string // as in the file, such as list<string>
	Required bool
	Default  json.RawMessage // nil when there is none
}

// Inputs returns what Input takes, in the order of the file's input section.
func (w *Workflow) Inputs() []Field {
	return fieldsOf(w.plan, w.plan.input)
}

// Outputs returns what Output gives, in the order of the file's output section.
func (w *Workflow) Outputs() []Field {
	return fieldsOf(w.plan, w.plan.output)
}

// fieldsOf returns the named fields; nil names all.
func fieldsOf(p *plan, refs []ref) []Field {
	var all []Field
	for _, f := range p.named(refs) {
		all = append(all, Field{f.Name, f.Type.String(), f.required, slices.Clone(f.Default)})
	}
	return all
}

func (p *plan) named(refs []ref) []field {
	if refs == nil {
		return p.fields
	}
	var all []field
	for _, r := range refs {
		if f := p.field(r.name); f != nil {
			all = append(all, *f)
		}
	}
	return all
}

func (w *Workflow) outputs() []field { return w.plan.named(w.plan.output) }
