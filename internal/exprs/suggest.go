package exprs

import (
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"

	"github.com/weftrun/weft/internal/suggest"
)

// name sets Class, Known, Suggest and Hint of an "unknown name" or "unknown field" error.
func (e *Error) name(tree ast.Node, loc file.Location, env Env) {
	word, field := strings.CutPrefix(e.Msg, "unknown field ")
	known := knownFields(tree, loc)
	e.Class = Field
	if !field {
		e.Class = Types
		var ok bool
		if word, ok = strings.CutPrefix(e.Msg, "unknown name "); !ok {
			return
		}
		e.Class, known = Name, nil
		for name := range env {
			known = append(known, name)
		}
	}
	slices.Sort(known)
	e.Known = known
	if why, ok := absent[word]; ok && !field {
		e.Hint = why
		return
	}
	if !field {
		if e.Suggest = literals[strings.ToLower(word)]; e.Suggest != "" {
			return
		}
		known = append(slices.Clone(known), Functions()...)
	}
	e.Suggest = suggest.Nearest(word, known)
}

// literals maps literals of other languages, in lower case, to those of this one.
var literals = map[string]string{"true": "true", "false": "false", "nil": "nil", "none": "nil", "null": "nil", "undefined": "nil"}

// knownFields returns the fields of the value whose unknown field is at loc.
func knownFields(tree ast.Node, loc file.Location) []string {
	f := &fieldFinder{loc: loc}
	ast.Walk(&tree, f)
	return f.fields
}

type fieldFinder struct {
	loc    file.Location
	fields []string
}

func (f *fieldFinder) Visit(node *ast.Node) {
	m, ok := (*node).(*ast.MemberNode)
	if !ok || m.Property == nil || m.Property.Location() != f.loc || f.fields != nil {
		return
	}
	if t := m.Node.Nature().TypeData; t != nil {
		for name := range t.Fields {
			f.fields = append(f.fields, name)
		}
	}
}

// absent maps names that the engine has and this package has not to a hint.
var absent = map[string]string{
	"now":      "the time is not readable here, so that a replay gives the same result; pass it in as input",
	"date":     "there is no time type; ISO dates compare and slice as text, as in day[0:7]",
	"duration": "there is no time type",
	"timezone": "there is no time type",
	"env":      "the environment is not readable here",
	"$env":     "write the name itself",
}

var closureMap = regexp.MustCompile(`(\(|,)\s*\{\s*("[^"]*"|'[^']*'|\w+)\s*$`)

// hint returns a hint for a frequent syntax error. before is the text up to the error.
func hint(msg, before string) string {
	token, ok := strings.CutPrefix(msg, "unexpected token (")
	switch {
	case !ok:
		return ""
	case strings.HasPrefix(token, `":"`) && closureMap.MatchString(before):
		return "a map inside map(), filter() and the like needs double braces: map({{url: .link}})"
	case strings.HasPrefix(token, `"="`):
		return "compare with =="
	case strings.HasPrefix(token, `"&"`):
		return "write && or and"
	}
	return ""
}
