package exprs

import (
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"

	"github.com/weftrun/weft/internal/suggest"
)

// name finds the name meant by an "unknown name" or "unknown field" error, and fills in what is
// known there.
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

// literals are the words of other languages, in small letters, for those of this one.
var literals = map[string]string{"true": "true", "false": "false", "nil": "nil", "none": "nil", "null": "nil", "undefined": "nil"}

// knownFields lists the fields of the value whose unknown field stands at loc.
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

// absent holds names that users of the engine look for, and why they are not here.
var absent = map[string]string{
	"now":      "the time is not readable here, so that a replay gives the same result; pass it in as input",
	"date":     "there is no time type; ISO dates compare and slice as text, as in day[0:7]",
	"duration": "there is no time type",
	"timezone": "there is no time type",
	"env":      "the environment is not readable here",
	"$env":     "write the name itself",
}

var closureMap = regexp.MustCompile(`(\(|,)\s*\{\s*("[^"]*"|'[^']*'|\w+)\s*$`)

// hint explains the traps of the language. before is the text up to the error.
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
