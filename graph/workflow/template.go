package workflow

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/internal/exprs"
	"github.com/weftrun/weft/state/record"
)

// template is a tree of YAML whose texts may contain ${{ expressions }}.
type template struct {
	src   *source
	at    *yaml.Node
	value *exprs.Value // of a text
	plain any          // of any other scalar
	keys  []*yaml.Node // of a mapping
	items []*template  // of a mapping or a list
	bad   bool         // it was reported, and must not be evaluated

	secrets []string // that a text names
}

// template compiles n for an environment. Mistakes are reported and leave a template
// that must not be evaluated.
func (s *source) template(n *yaml.Node, env exprs.Env) *template {
	n = deref(n)
	t := &template{src: s, at: n}
	switch {
	case n.Kind == yaml.MappingNode:
		t.keys = []*yaml.Node{}
		for i := 0; i < len(n.Content); i += 2 {
			s.checkPlain(n.Content[i])
			t.keys = append(t.keys, n.Content[i])
			t.items = append(t.items, s.template(n.Content[i+1], env))
		}
	case n.Kind == yaml.SequenceNode:
		for _, c := range n.Content {
			t.items = append(t.items, s.template(c, env))
		}
	case n.ShortTag() != "!!str":
		var ok bool
		t.plain, ok = s.scalar(n)
		t.bad = !ok
	case s.tooLarge(n):
		t.bad = true
	default:
		var err error
		if t.value, err = s.exprs.Value(n.Value, env); err != nil {
			s.exprErrors(n, err)
			t.bad = true
		} else {
			s.reads.Add(t.value.Reads())
		}
		t.holdSecrets()
	}
	return t
}

// checkPlain reports a key that looks like an expression or a secret: it would be text.
func (s *source) checkPlain(key *yaml.Node) {
	if strings.Contains(key.Value, "${{") || strings.Contains(key.Value, "${secret:") {
		s.failAt(key.Line, key.Column, "WF206", "make the whole map in an expression: ${{ {(state.name): 1} }}",
			"a key is plain text; it cannot have an expression or a secret")
	}
}

// expression compiles a scalar that is an expression from end to end.
func (s *source) expression(n *yaml.Node, env exprs.Env) *template {
	t := &template{src: s, at: n}
	var err error
	if t.value, err = s.exprs.Expr(n.Value, env); err != nil {
		s.exprErrors(n, err)
		t.bad = true
	} else {
		s.reads.Add(t.value.Reads())
	}
	return t
}

// eval computes the value, which belongs to the caller.
func (t *template) eval(vars map[string]any) (any, error) {
	switch {
	case t.value != nil:
		v, err := t.value.Eval(vars)
		if err != nil {
			return nil, t.src.runError(t.at, err)
		}
		return v, nil
	case t.at.Kind == yaml.MappingNode:
		return t.evalMap(vars)
	case t.at.Kind == yaml.SequenceNode:
		return t.evalList(vars)
	}
	return t.plain, nil
}

func (t *template) evalMap(vars map[string]any) (map[string]any, error) {
	m := make(map[string]any, len(t.items))
	for i, item := range t.items {
		v, err := item.eval(vars)
		if err != nil {
			return nil, err
		}
		m[t.keys[i].Value] = v
	}
	return m, nil
}

func (t *template) evalList(vars map[string]any) ([]any, error) {
	list := make([]any, len(t.items))
	for i, item := range t.items {
		v, err := item.eval(vars)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

// constant reports whether t contains no expression.
func (t *template) constant() bool {
	if t.bad {
		return false
	}
	for _, item := range t.items {
		if !item.constant() {
			return false
		}
	}
	return t.value == nil || t.value.IsLiteral()
}

// isNull reports whether t is a null that the file has written.
func (t *template) isNull() bool { return t.constant() && t.kind() == exprs.NilKind }

// kind is what is known about the value before it is computed.
func (t *template) kind() exprs.Kind {
	switch {
	case t.bad:
		return exprs.AnyKind
	case t.value != nil:
		return t.value.Kind()
	case t.at.Kind == yaml.MappingNode:
		return exprs.MapKind
	case t.at.Kind == yaml.SequenceNode:
		return exprs.ListKind
	}
	switch t.plain.(type) {
	case bool:
		return exprs.BoolKind
	case int64:
		return exprs.IntKind
	case float64:
		return exprs.NumberKind
	case string:
		return exprs.StringKind
	}
	return exprs.NilKind
}

// fits reports what of t cannot become a value of type want.
func (t *template) fits(want record.Type, what string) {
	switch base := want.Base(); {
	case base == "any":
	case base == "object" && t.keys != nil:
		t.fitsObject(want, what)
	case t.constant():
		v, err := t.eval(nil)
		if err == nil {
			_, err = want.Convert(v)
		}
		if err != nil {
			t.src.fail(t.at, "WF410", "%s: %v", what, err)
		}
	case base == "map" && t.keys != nil:
		for _, item := range t.items {
			item.fits(want.Elem(), what)
		}
	case base == "list" && t.at.Kind == yaml.SequenceNode:
		for _, item := range t.items {
			item.fits(want.Elem(), what)
		}
	case !may(t.kind(), base):
		t.src.failAt(t.at.Line, t.at.Column, "WF410", wholeHint(t.kind(), base), "%s: want %s, got %s", what, want, t.kind())
	}
}

// fitsPatch is fits for a value that is merged on every level: members may be missing, and
// null.
func (t *template) fitsPatch(want record.Type, what string) {
	if t.keys == nil || want.Base() != "map" && want.Base() != "object" {
		if t.kind() != exprs.NilKind {
			t.fits(want, what)
		}
		return
	}
	var names []string
	members := map[string]record.Type{}
	for _, m := range want.Members() {
		names, members[m.Name] = append(names, m.Name), m.Type
	}
	for i, k := range t.keys {
		inner, ok := members[k.Value]
		switch {
		case want.Base() == "map":
			t.items[i].fitsPatch(want.Elem(), what+"."+k.Value)
		case ok:
			t.items[i].fitsPatch(inner, what+"."+k.Value)
		default:
			t.src.fail(k, "WF411", "%s: unknown member %q%s", what, k.Value, didYouMean(k.Value, names))
		}
	}
}

func (t *template) fitsObject(want record.Type, what string) {
	given := map[string]bool{}
	var names []string
	for _, m := range want.Members() {
		names = append(names, m.Name)
		for i, k := range t.keys {
			if k.Value == m.Name {
				given[m.Name] = true
				t.items[i].fits(m.Type, what+"."+m.Name)
			}
		}
		if !given[m.Name] && !m.Optional && m.Default == nil {
			t.src.fail(t.at, "WF411", "%s: member %s is missing; want %s", what, m.Name, m.Type)
		}
	}
	for _, k := range t.keys {
		if !given[k.Value] {
			t.src.fail(k, "WF411", "%s: unknown member %q%s", what, k.Value, didYouMean(k.Value, names))
		}
	}
}

// may reports whether an expression of this kind can give a value of the type.
func may(k exprs.Kind, base string) bool {
	switch k {
	case exprs.AnyKind, exprs.NilKind:
		return true
	case exprs.IntKind:
		return base == "int" || base == "number"
	case exprs.MapKind:
		return base == "map" || base == "object"
	}
	return string(k) == base
}

func wholeHint(k exprs.Kind, base string) string {
	switch {
	case base == "int" && k == exprs.NumberKind:
		return "int(…) converts it to a whole number"
	case base == "string" && k != exprs.ListKind && k != exprs.MapKind:
		return "string(…) converts it to text"
	}
	return ""
}
