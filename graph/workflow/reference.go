package workflow

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Reference returns the reference of files that may use the kinds in o, in Markdown: each
// object of the language and each kind with its keys, made of what [Schema] is made of.
func Reference(o Options) string {
	var b strings.Builder
	for _, s := range o.sections() {
		title := s.name
		if title == "" {
			title = "The file"
		}
		about := s.about
		if about != "" {
			about = sentence(about) + "\n\n"
		}
		fmt.Fprintf(&b, "## %s\n\n%s", title, about)
		if len(s.keys) > 0 {
			s.table(&b)
		}
	}
	names := o.names()
	for _, name := range slices.Concat(names.keys, names.uses) {
		if k, ok := o.Kinds[name]; ok {
			k.reference(&b, name)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// structOf returns the struct that v is, points to or is the type of; an empty one if
// it is something else.
func structOf(v any) reflect.Type {
	t, ok := v.(reflect.Type)
	if !ok {
		t = reflect.TypeOf(v)
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return reflect.TypeFor[struct{}]()
	}
	return t
}

// inMarkdown keeps list<T> and the like from being read as HTML.
var inMarkdown = strings.NewReplacer("<", "\\<", "|", "\\|")

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// wrapped breaks a paragraph into lines of at most 100 columns.
func wrapped(s string) string {
	var b strings.Builder
	columns := 0
	for i, word := range strings.Fields(s) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case columns+1+n > 100:
			b.WriteByte('\n')
			columns = 0
		default:
			b.WriteByte(' ')
			columns++
		}
		b.WriteString(word)
		columns += n
	}
	return b.String()
}

// table writes a table of the keys, with required ones in bold.
func (s section) table(b *strings.Builder) {
	b.WriteString("| key | takes | |\n|---|---|---|\n")
	for _, k := range s.keys {
		name := "`" + k.name + "`"
		if slices.Contains(s.required, k.name) {
			name = "**" + name + "**"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, k.takes.words(), inMarkdown.Replace(k.about))
	}
	b.WriteString("\n")
}

// reference writes the parameters of a kind, and what its result holds.
func (k Kind) reference(b *strings.Builder, name string) {
	fmt.Fprintf(b, "## kind %s\n\n", name)
	if k.About != "" {
		b.WriteString(wrapped(sentence("it "+k.About)) + "\n\n")
	}
	params := paramsSchema(k)
	s := section{required: requiredIn(params)}
	properties, _ := params["properties"].(schema)
	for _, p := range paramsOf(structOf(paramsIn(k.New()))) {
		s.keys = append(s.keys, key{name: p.name, takes: properties[p.name].(schema)})
	}
	if len(s.keys) > 0 {
		s.table(b)
	}
	var result []string
	for _, p := range paramsOf(structOf(k.Result)) {
		result = append(result, fmt.Sprintf("`%s` (%s)", p.name, goSchema(p.typ).plainWords()))
	}
	if len(result) > 0 {
		b.WriteString(wrapped("Its result has "+strings.Join(result, ", ")+".") + "\n\n")
	}
}

// plainWords are the words of a value that is no expression.
func (s schema) plainWords() string {
	if all, ok := s["anyOf"].([]schema); ok {
		return all[0].words()
	}
	return s.words()
}
