package workflow

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/record"
)

// reducers are the kinds of fields by the names they have in a file, and the bases
// of the types that they hold; none means any.
var reducers = map[string]struct {
	kind  state.Kind
	bases []string
	holds string
}{
	"replace": {kind: state.KindValue},
	"latest":  {kind: state.KindLatest},
	"append":  {state.KindList, []string{"list", "any"}, "a list<T>"},
	"add":     {state.KindSum, []string{"int", "number"}, "int or number"},
	"max":     {state.KindMax, []string{"int", "number", "string"}, "int, number or string"},
	"min":     {state.KindMin, []string{"int", "number", "string"}, "int, number or string"},
	"merge":   {state.KindMap, []string{"map", "any"}, "a map<T>"},
	"union":   {state.KindSet, []string{"list"}, "a list<T> of int, number or string"},

	"prepend":    {state.KindStack, []string{"list", "any"}, "a list<T>"},
	"deep_merge": {state.KindDeepMerge, []string{"map", "object", "any"}, "a map<T> or an object"},
	"once":       {kind: state.KindOnce},
	messagesName: {bases: []string{messagesName}, holds: "the type messages"},
	contextName:  {bases: []string{contextName}, holds: "the type context"},
}

func (s *source) fields(n *yaml.Node, types map[string]record.Type) (fields []field) {
	o, _ := s.object(n, "state")
	if s.tooLong(n, o, "fields in the state") {
		return nil
	}
	for _, m := range o {
		if !identifier.MatchString(m.key.Value) {
			s.fail(m.key, "WF111", "the field name %q must be letters, digits and _, not a digit first", m.key.Value)
		}
		fields = append(fields, s.field(m, types))
	}
	return fields
}

// field decodes the short form, a type, or the long one.
func (s *source) field(m member, types map[string]record.Type) field {
	f := field{at: m.key, reducer: "replace"}
	f.Name = m.key.Value
	if m.value.Kind != yaml.MappingNode {
		f.Type, _ = s.fieldType(m.value, types)
		f.setChannel()
		return f
	}
	what := "field " + f.Name
	o, _ := s.record(m.value, what, "type", "reducer", "default", "scope", "required", "description")
	for _, k := range o {
		switch k.key.Value {
		case "type":
			var ok bool
			f.Type, ok = s.fieldType(k.value, types)
			f.untyped = !ok
		case "scope":
			f.Turn = s.choice(k.value, "scope", "thread", "turn") == "turn"
		case "required":
			f.required = s.bool(k.value, "required")
		case "description":
			f.about, _ = s.string(k.value, "description")
		}
	}
	if o.get("type") == nil {
		s.fail(m.key, "WF404", "%s has no type", what)
		f.untyped = true
	}
	f.setChannel()
	if n := o.get("reducer"); n != nil {
		s.reducer(&f, n)
	}
	if n := o.get("default"); n != nil {
		s.defaultOf(&f, n)
		if f.required {
			s.fail(n, "WF408", "%s is required, so its default would never be used", what)
		}
	}
	return f
}

func (s *source) choice(n *yaml.Node, what string, of ...string) string {
	v, ok := s.string(n, what)
	if ok && !slices.Contains(of, v) {
		s.fail(n, "WF108", "%s must be %s, not %q%s", what, strings.Join(of, " or "), v, didYouMean(v, of))
	}
	return v
}

func (s *source) reducer(f *field, n *yaml.Node) {
	known := s.opts.reducerNames()
	name, ok := s.string(n, "reducer")
	r, is := reducers[name]
	own, registered := s.opts.Reducers[name]
	base := f.Type.Base()
	_, only := channelTypes[f.reducer]
	if only {
		base = f.reducer
	}
	switch {
	case !ok:
	case registered && !f.untyped && (only || !sameType(f.Type, own.typ)):
		s.fail(n, "WF406", "the reducer %s requires %s, but the field has type %s", name, own.typ, f.Type)
	case registered:
		f.reducer, f.Channel = name, own.channel
	case !is:
		s.failAt(n.Line, n.Column, "WF405", "known are "+strings.Join(known, ", "), "unknown reducer %q%s", name, didYouMean(name, known))
	case f.untyped:
	case only && name != base:
		s.fail(n, "WF406", "a field of the type %s has the reducer %[1]s, not %s", base, name)
	case r.bases != nil && !slices.Contains(r.bases, base),
		name == "union" && !slices.Contains(reducers["max"].bases, f.Type.Elem().Base()):
		s.fail(n, "WF406", "the reducer %s requires %s, but the field has type %s", name, r.holds, f.Type)
	default:
		f.reducer, f.Kind = name, r.kind
	}
}

func (s *source) defaultOf(f *field, n *yaml.Node) {
	v, ok := s.constant(n)
	if !ok {
		return
	}
	if _, err := f.Type.Convert(v); err != nil && v != nil && !f.untyped {
		s.fail(n, "WF407", "the default of %s does not fit: %v", f.Name, err)
		return
	}
	f.Default, _ = json.Marshal(v)
}

// typ reads the text form of a type.
func (s *source) typ(n *yaml.Node, named map[string]record.Type) (t record.Type, ok bool) {
	text, ok := s.string(n, "a type")
	if ok && len(text) > maxType {
		s.fail(n, "WF401", "the type is too long (%d bytes of at most %d)", len(text), maxType)
		ok = false
	}
	if !ok {
		return t, false
	}
	t, err := record.ParseType(text, named)
	if err == nil && !s.countMembers(n, t) {
		return record.Type{}, false
	}
	if err == nil {
		return t, true
	}
	why := err.Error()
	if inner := errors.Unwrap(err); inner != nil {
		why = inner.Error()
	}
	why, known, _ := strings.Cut(why, "; the types ")
	if known != "" {
		known = "types " + known
	}
	s.failAt(n.Line, n.Column, "WF401", known, "%s%s", why, typeMeant(text, named))
	return t, false
}

// countMembers counts the members of a type, including those of the types that it names. It reports
// false when there are too many: each of 30 types may name the one before twice.
func (s *source) countMembers(n *yaml.Node, t record.Type) bool {
	left := maxTree - s.members
	var count func(t record.Type)
	count = func(t record.Type) {
		left--
		if b := t.Base(); left > 0 && (b == "list" || b == "map") {
			count(t.Elem())
		}
		for _, m := range t.Members() {
			if left > 0 {
				count(m.Type)
			}
		}
	}
	count(t)
	s.members = maxTree - left
	if left <= 0 {
		s.fail(n, "WF602", "the types have more than %d members, with the types they name written out", maxTree)
	}
	return left > 0
}

var (
	typeWords = []string{"any", "blob", "bool", "int", "number", "string", "list", "map", "object", messagesName, contextName}
	words     = regexp.MustCompile(`(?:go:)?[A-Za-z_][A-Za-z0-9_]*`)
)

// typeMeant suggests a name for the first unknown one in a type.
func typeMeant(text string, named map[string]record.Type) guess {
	known := append(slices.Sorted(maps.Keys(named)), typeWords...)
	for _, w := range words.FindAllString(text, -1) {
		if !slices.Contains(known, w) {
			return didYouMean(w, known)
		}
	}
	return ""
}

// namedTypes decodes the named object types. They may name each other in any order, but
// not themselves: a type is a tree of known depth.
func (s *source) namedTypes(n *yaml.Node) map[string]record.Type {
	d := typeDecoder{source: s, done: map[string]record.Type{}, open: map[string]bool{}}
	maps.Copy(d.done, s.opts.Types)
	if n == nil {
		return d.done
	}
	o, _ := s.object(n, "types")
	if s.tooLong(n, o, "types") {
		return d.done
	}
	d.written = map[string]member{}
	for _, m := range o {
		d.written[m.key.Value] = m
	}
	for _, m := range o {
		d.named(m)
	}
	return d.done
}

type typeDecoder struct {
	*source
	written map[string]member
	done    map[string]record.Type
	open    map[string]bool
}

func (d *typeDecoder) named(m member) {
	name := m.key.Value
	if _, ok := d.done[name]; ok || d.open[name] {
		return
	}
	d.open[name] = true
	if !identifier.MatchString(name) || slices.Contains(typeWords, name) {
		d.fail(m.key, "WF403", "%q cannot name a type; use letters, digits and _, and no word of the language", name)
	}
	var members []record.Member
	o, _ := d.object(m.value, "type "+name)
	for _, m := range o {
		members = append(members, d.member(m))
	}
	t, err := record.ObjectType(members...)
	d.schemaError(o, err)
	d.done[name] = t
}

func (d *typeDecoder) member(m member) record.Member {
	out := record.Member{Name: m.key.Value}
	if m.value.Kind != yaml.MappingNode {
		out.Type = d.after(m.value)
		return out
	}
	o, _ := d.record(m.value, "member "+out.Name, "type", "default", "optional", "description")
	for _, k := range o {
		switch k.key.Value {
		case "type":
			out.Type = d.after(k.value)
		case "optional":
			out.Optional = d.bool(k.value, "optional")
		case "description":
			d.string(k.value, "description")
		case "default":
			if v, ok := d.constant(k.value); ok {
				out.Default, _ = json.Marshal(v)
			}
		}
	}
	if o.get("type") == nil {
		d.fail(m.key, "WF404", "member %s has no type", out.Name)
	}
	return out
}

// after decodes a type once the types that it names are decoded.
func (d *typeDecoder) after(n *yaml.Node) record.Type {
	for _, w := range words.FindAllString(n.Value[:min(len(n.Value), maxType)], -1) {
		m, ok := d.written[w]
		if _, done := d.done[w]; !ok || done {
			continue
		}
		if d.open[w] {
			d.fail(n, "WF402", "type %s contains itself", w)
			return record.Type{}
		}
		d.named(m)
	}
	t, _ := d.typ(n, d.done)
	return t
}

// schemaError reports the mistakes in an object type at the places of its members.
func (d *typeDecoder) schemaError(o object, err error) {
	var se *state.SchemaError
	if !errors.As(err, &se) {
		return
	}
	for _, mistake := range se.Mistakes {
		for _, m := range o {
			if m.key.Value == mistake.Path {
				d.fail(m.key, "WF407", "%s", mistake.What)
			}
		}
	}
}
