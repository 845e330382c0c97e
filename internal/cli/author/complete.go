package author

import (
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/exprs"
	"github.com/weftrun/weft/server/studio"
)

// maxChoices is how many words are offered at once.
const maxChoices = 100

// Complete implements studio.Editor. It knows the schema of workflows, and the names in the text.
func (f *Folder) Complete(name, text string, line, col int) (studio.Completion, error) {
	o, err := f.Options(filepath.Join(f.Path, filepath.FromSlash(f.shown(name))))
	if err != nil {
		return studio.Completion{}, err
	}
	return complete(workflow.Schema(o), text, line, col)
}

// Schema implements studio.Editor.
func (f *Folder) Schema() (json.RawMessage, error) {
	o, err := f.Options(filepath.Join(f.Path, f.shown("")))
	return workflow.Schema(o), err
}

// object is a JSON Schema, or a part of one.
type object = map[string]any

// completer finds what may be written at a place.
type completer struct {
	defs  object
	file  *scanner // of the whole text
	place *scanner // of the text before the place
	path  string
	found map[string]studio.Choice
	after string // what is written behind a word that is added
}

// complete returns what may be written at a place, and what the word there means.
func complete(text json.RawMessage, source string, line, col int) (out studio.Completion, err error) {
	var root object
	if err := json.Unmarshal(text, &root); err != nil {
		return out, err
	}
	at := offsetOf(source, line, col)
	c := &completer{file: scan(source), place: scan(source[:at]), found: map[string]studio.Choice{}}
	c.defs, _ = root["$defs"].(object)
	path, key, ok := c.place.place()
	if !ok {
		return out, nil
	}
	c.path = path
	from, schemas := c.place.end.start, c.schemas(root, path)
	written := source[from:at]
	switch expression, inside := inExpression(written); {
	case !key && (inside || strings.HasSuffix(path, "/for_each/in") || slices.ContainsFunc(schemas, isExpression)):
		if !inside {
			expression = written
		}
		from = at - len(c.members(expression))
	case c.place.end.kind == inText:
		return out, nil
	case key:
		c.keys(schemas)
		if strings.HasSuffix(path, "]") { // the item may also be a value
			c.values(schemas)
		}
	default:
		c.values(schemas)
	}
	return c.choices(source, from, at), nil
}

// offsetOf returns the byte of a line and a column, which count from 1.
func offsetOf(text string, line, col int) (at int) {
	for ; line > 1; line-- {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			return len(text)
		}
		at += n + 1
	}
	for ; col > 1 && at < len(text) && text[at] != '\n'; col-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

// inExpression returns the expression in which a text ends.
func inExpression(text string) (expression string, ok bool) {
	n := strings.LastIndex(text, "${{")
	if n < 0 || strings.Contains(text[n:], "}}") {
		return "", false
	}
	return text[n+len("${{"):], true
}

func isExpression(s object) bool { return s["$comment"] == "an expression" }

// wordAfter is the rest of a word.
var wordAfter = regexp.MustCompile(`^[A-Za-z0-9_.-]*`)

// choices returns what was found for the word from a byte on.
func (c *completer) choices(source string, from, at int) studio.Completion {
	begin := strings.LastIndexByte(source[:from], '\n') + 1
	rest := wordAfter.FindString(source[at:])
	out := studio.Completion{From: utf8.RuneCountInString(source[begin:from]) + 1, To: utf8.RuneCountInString(source[begin:at]+rest) + 1}
	word := source[from:at]
	if known, ok := c.found[word+rest]; ok {
		out.About = known.Text + ": " + known.About
	}
	colon := strings.HasPrefix(strings.TrimLeft(source[at+len(rest):], " "), ":")
	last := func(name string) int { // functions come after names
		if c.found[name].About == function {
			return 1
		}
		return 0
	}
	names := slices.SortedFunc(maps.Keys(c.found), func(a, b string) int {
		return cmp.Or(cmp.Compare(last(a), last(b)), strings.Compare(a, b))
	})
	for _, name := range names {
		one := c.found[name]
		if len(out.Choices) == maxChoices || !strings.HasPrefix(strings.ToLower(name), strings.ToLower(word)) {
			continue
		}
		if colon {
			one.Write = strings.TrimSuffix(one.Write, ": ")
		}
		out.Choices = append(out.Choices, one)
	}
	return out
}

// add offers a word.
func (c *completer) add(name, about string) {
	if _, ok := c.found[name]; !ok && name != "" {
		c.found[name] = studio.Choice{Text: name, Write: name + c.after, About: about}
	}
}

// names offers the keys of a mapping of the text, each with what it is.
func (c *completer) names(parent, what string) {
	for _, k := range c.file.keys {
		if k.parent == parent {
			about := what
			if k.value != "" {
				about += ", " + k.value
			} else if t := c.file.textOf(parent+"/"+k.name, "type"); t != "" {
				about += ", " + t
			}
			c.add(k.name, about)
		}
	}
}

// textOf returns the plain value of a key; "" if there is none.
func (s *scanner) textOf(parent, name string) string {
	for _, k := range s.keys {
		if k.parent == parent && k.name == name {
			return k.value
		}
	}
	return ""
}

// expand returns a schema, and those of which it is made.
func (c *completer) expand(s any, depth int) (all []object) {
	o, ok := s.(object)
	if !ok || depth > 8 {
		return nil
	}
	all = append(all, o)
	if ref, ok := o["$ref"].(string); ok {
		all = append(all, c.expand(c.defs[strings.TrimPrefix(ref, "#/$defs/")], depth+1)...)
	}
	for _, word := range []string{"oneOf", "anyOf"} {
		list, _ := o[word].([]any)
		for _, one := range list {
			all = append(all, c.expand(one, depth+1)...)
		}
	}
	return all
}

// schemas returns the schemas of what is at a path.
func (c *completer) schemas(root object, path string) []object {
	all := c.expand(root, 0)
	if path == "" {
		return all
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		var next []object
		for _, s := range all {
			properties, _ := s["properties"].(object)
			switch {
			case strings.HasPrefix(part, "["):
				next = append(next, c.expand(s["items"], 0)...)
			case properties[part] != nil:
				next = append(next, c.expand(properties[part], 0)...)
				if part == "with" {
					next = append(next, c.withOf(s, strings.Join(parts[:i], "/"))...)
				}
			default:
				next = append(next, c.expand(s["additionalProperties"], 0)...)
			}
		}
		all = next
	}
	return all
}

// withOf returns the schemas of the parameters of the function that a node uses.
func (c *completer) withOf(node object, path string) (all []object) {
	uses := c.file.textOf(path, "uses")
	conditions, _ := node["allOf"].([]any)
	for _, one := range conditions {
		rule, _ := one.(object)
		given, _ := dig(rule, "if", "properties", "uses").(object)
		if with := dig(rule, "then", "properties", "with"); given != nil && given["const"] == uses && uses != "" {
			all = append(all, c.expand(with, 0)...)
		}
	}
	return all
}

// dig returns a member of members.
func dig(o object, names ...string) (v any) {
	v = o
	for _, name := range names {
		inner, _ := v.(object)
		v = inner[name]
	}
	return v
}

// keys offers the keys of a mapping that it does not have.
func (c *completer) keys(schemas []object) {
	c.after = ": "
	defer func() { c.after = "" }()
	for _, s := range schemas {
		properties, _ := s["properties"].(object)
		for name, p := range properties {
			about, _ := p.(object)["description"].(string)
			c.add(name, about)
		}
	}
	parts := strings.Split(c.path, "/")
	last := parts[len(parts)-1]
	switch {
	case len(parts) == 3 && parts[0] == "nodes" && (last == "set" || last == "output"):
		c.names("state", "a field of the state")
	case len(parts) == 3 && parts[0] == "tests" && last == "input", len(parts) == 4 && parts[0] == "tests" && last == "output":
		c.names("state", "a field of the state")
	case len(parts) == 3 && parts[0] == "tests" && last == "config":
		c.names("config", "a setting")
	case parts[0] == "tests" && len(parts) > 2 && (parts[2] == "answers" || last == "mock"):
		c.names("nodes", "a node")
	}
	for _, k := range c.file.keys { // the key at the place may be written already
		if k.parent == c.path && k.start != c.place.end.start {
			delete(c.found, k.name)
		}
	}
}

// values offers the values of a key.
func (c *completer) values(schemas []object) {
	for _, s := range schemas {
		about, _ := s["description"].(string)
		words, _ := s["enum"].([]any)
		for _, w := range words {
			if text, ok := w.(string); ok {
				c.add(text, about)
			}
		}
		if s["type"] == "boolean" {
			c.add("true", about)
			c.add("false", about)
		}
		if n, ok := s["const"].(float64); ok && n == 1 {
			c.add("1", about)
		}
	}
	parts := slices.DeleteFunc(strings.Split(c.path, "/"), func(p string) bool { return strings.HasPrefix(p, "[") })
	if len(parts) > 0 {
		c.valuesOf(parts, parts[len(parts)-1])
	}
}

// types are the words of types, with what they are.
var types = map[string]string{"any": "any value", "bool": "true or false", "int": "a whole number", "number": "a number", "string": "text",
	"list<string>": "a list", "map<string>": "a mapping with any names", "messages": "a log of messages"}

func (c *completer) valuesOf(parts []string, key string) {
	switch key {
	case "next", "to", "else":
		c.names("nodes", "a node")
		c.add("END", "the end of the run")
	case "from":
		c.names("nodes", "a node")
		c.add("START", "the start of the run")
	case "join", "start", "before", "after", "on_error", "path":
		c.names("nodes", "a node")
	case "requires", "provides":
		c.names("state", "a field of the state")
	case "limit":
		c.names("limits/shared", "a limit")
	case "model", "models":
		c.names("models", "a model")
	case "tools":
		c.names("tools", "a tool")
	}
	if len(parts) == 1 && (key == "input" || key == "output") {
		c.names("state", "a field of the state")
	}
	named := len(parts) == 2 && slices.Contains([]string{"state", "config", "env"}, parts[0]) || len(parts) == 3 && parts[0] == "types"
	if named || key == "type" && parts[0] != "tools" || key == "answer" && parts[0] == "nodes" {
		for name, about := range types {
			c.add(name, about)
		}
		c.names("types", "a type of this file")
	}
}

// chain is the words at the end of an expression, with points between them.
var chain = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_.]*$`)

// members offers what may follow in an expression, and returns the part of the word that is there.
func (c *completer) members(expression string) (word string) {
	words := strings.Split(chain.FindString(expression), ".")
	word = words[len(words)-1]
	if len(words) == 1 {
		c.roots()
		return word
	}
	switch words[0] {
	case "state", "config", "env":
		if len(words) == 2 {
			c.names(words[0], map[string]string{"state": "a field of the state", "config": "a setting", "env": "a variable of the environment"}[words[0]])
			return word
		}
		t := c.file.textOf(words[0], words[1])
		if t == "" {
			t = c.file.textOf(words[0]+"/"+words[1], "type")
		}
		c.names("types/"+t, "a member of "+t)
	case "run":
		for name, about := range map[string]string{"time": "when the turn began, as text", "unix": "when the turn began, in seconds", "attempt": "the number of the attempt", "task": "the id of the task"} {
			c.add(name, about)
		}
	}
	return word
}

const function = "a function"

// roots offers the names and functions with which an expression begins.
func (c *completer) roots() {
	for _, name := range exprs.Functions() {
		c.add(name, function)
	}
	c.add("state", "the fields of the state")
	c.add("run", "the time and the attempt")
	for _, name := range []string{"config", "env"} {
		if slices.ContainsFunc(c.file.keys, func(k keyAt) bool { return k.parent == name }) {
			c.add(name, map[string]string{"config": "the settings of the run", "env": "the variables of the environment"}[name])
		}
	}
	parts := strings.Split(c.path, "/")
	if parts[0] != "nodes" || len(parts) < 3 {
		return
	}
	if parts[2] == "output" || parts[2] == "next" {
		c.add("result", "what the node has returned")
	}
	node := "nodes/" + parts[1]
	if slices.ContainsFunc(c.file.keys, func(k keyAt) bool { return k.parent == node && k.name == "for_each" }) {
		item := c.file.textOf(node+"/for_each", "as")
		if item == "" {
			item = "item"
		}
		c.add(item, "the item of the list")
	}
}
