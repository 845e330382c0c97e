package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// plain matches texts that YAML reads as texts without quotes.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9 _./,()?!'-]*$`)

// words are texts that some YAML reads as another type.
var words = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

// quote returns a text as a scalar of YAML in one line.
func quote(s string) string {
	if plain.MatchString(s) && !strings.HasSuffix(s, " ") && !slices.Contains(words, strings.ToLower(s)) {
		return s
	}
	if strings.ContainsAny(s, `"\\`) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// block reports whether a text is written as lines of its own.
func block(s string) bool {
	first := strings.TrimLeft(s, " \t")
	return strings.Contains(strings.TrimSuffix(s, "\n"), "\n") && !strings.HasSuffix(s, "\n\n") && first == s && !strings.HasPrefix(s, "\n") &&
		strings.IndexFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }) < 0
}

// writer writes values as YAML.
type writer struct {
	bytes.Buffer
	quoted bool // no text has lines of its own
}

// member writes NAME: VALUE in a line, or in indented lines.
func (w *writer) member(indent int, name string, v *value) {
	w.WriteString(strings.Repeat(" ", indent))
	w.pair(indent, name, v)
}

// longestKey limits a name in the line of its value, in bytes: YAML has 1024 characters.
const longestKey = 500

// pair writes NAME: VALUE after its indent.
func (w *writer) pair(indent int, name string, v *value) {
	key := quote(name)
	if len(key) > longestKey {
		key = "? " + key + "\n" + strings.Repeat(" ", indent)
	}
	w.WriteString(key + ":")
	w.value(indent, v)
}

// value writes v after a name or a dash.
func (w *writer) value(indent int, v *value) {
	pad := strings.Repeat(" ", indent+2)
	switch {
	case v.kind == literal:
		w.WriteString(" " + v.text + "\n")
	case v.kind == text && !w.quoted && block(v.text):
		w.WriteString(" |")
		if !strings.HasSuffix(v.text, "\n") {
			w.WriteByte('-')
		}
		w.WriteByte('\n')
		for line := range strings.SplitSeq(strings.TrimSuffix(v.text, "\n"), "\n") {
			if line != "" {
				w.WriteString(pad + line)
			}
			w.WriteByte('\n')
		}
	case v.kind == text:
		w.WriteString(" " + quote(v.text) + "\n")
	case len(v.items) == 0 && v.kind == list:
		w.WriteString(" []\n")
	case len(v.items) == 0:
		w.WriteString(" {}\n")
	case v.flat():
		w.WriteString(" " + v.flow() + "\n")
	case v.kind == object:
		w.WriteByte('\n')
		for i, key := range v.keys {
			w.member(indent+2, key, v.items[i])
		}
	default:
		w.WriteByte('\n')
		for _, item := range v.items {
			w.item(indent+2, item)
		}
	}
}

// item writes an item of a list.
func (w *writer) item(indent int, v *value) {
	if v.kind != object || len(v.items) == 0 || v.flat() {
		w.WriteString(strings.Repeat(" ", indent) + "-")
		w.value(indent, v)
		return
	}
	for i, key := range v.keys {
		dash := "  "
		if i == 0 {
			dash = "- "
		}
		w.WriteString(strings.Repeat(" ", indent) + dash)
		w.pair(indent+2, key, v.items[i])
	}
}

// flat reports whether v is written in one line: it is short, and has no lists and objects in it.
func (v *value) flat() bool {
	size := 0
	for i, item := range v.items {
		if item.kind > text || strings.Contains(item.text, "\n") {
			return false
		}
		if size += len(item.text) + 4; v.kind == object {
			size += len(v.keys[i]) + 2
		}
	}
	return size <= 70
}

// flow returns a flat value as YAML. Texts are quoted where a comma would end them.
func (v *value) flow() string {
	var parts []string
	for i, item := range v.items {
		s := item.text
		if item.kind == text {
			if s = quote(item.text); strings.ContainsAny(s, ",?") && s[0] != '"' && s[0] != '\'' {
				s = `"` + s + `"`
			}
		}
		if v.kind == object {
			s = quoteKey(v.keys[i]) + ": " + s
		}
		parts = append(parts, s)
	}
	if v.kind == object {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func quoteKey(key string) string {
	if s := quote(key); s[0] == '"' || s[0] == '\'' || !strings.ContainsAny(s, ",?") {
		return s
	}
	return `"` + key + `"`
}

// number matches the numbers of JSON.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// maxDepth limits how deep values are nested.
const maxDepth = 200

// fromYAML returns the value of a node, which has no aliases.
func fromYAML(n *yaml.Node, depth int) (*value, error) {
	v := &value{line: n.Line}
	fail := func(format string, args ...any) (*value, error) {
		return nil, &FileError{Line: n.Line, Reason: fmt.Sprintf(format, args...)}
	}
	if depth > maxDepth {
		return fail("values are nested more than %d deep", maxDepth)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		switch v.text = n.Value; n.Tag {
		case "!!str":
			if n.Style != 0 || !number.MatchString(n.Value) { // a number such as 1e400 is none of Go
				v.kind = text
			}
		case "!!null":
			v.text = "null"
		case "!!int", "!!float", "!!bool":
			if !json.Valid([]byte(n.Value)) {
				return fail("%s is not a number of JSON, true or false", n.Value)
			}
		default:
			return fail("the type %s is not known", n.Tag)
		}
		return v, nil
	case yaml.SequenceNode, yaml.MappingNode:
	default:
		return fail("an alias is not allowed")
	}
	step := 1
	if v.kind = list; n.Kind == yaml.MappingNode {
		v.kind, step = object, 2
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += step {
		if step == 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode {
				return fail("a name must be a text")
			}
			if seen[key.Value] {
				return nil, &FileError{Line: key.Line, Reason: fmt.Sprintf("%q is there twice", key.Value)}
			}
			seen[key.Value] = true
			v.keys = append(v.keys, key.Value)
		}
		item, err := fromYAML(n.Content[i+step-1], depth+1)
		if err != nil {
			return nil, err
		}
		v.items = append(v.items, item)
	}
	return v, nil
}
