package workflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/internal/exprs"
)

// Section is a section of a file that a program defines, such as models. It has entries by name.
// The entries of a file and those of the shared file [Options.Config] are one set.
type Section struct {
	// About describes in a line what the section has, for editors and the reference.
	About string
	// New returns a fresh Entry, with the defaults of its parameters.
	New func() Entry
	// Params describes parameters in a line each, by their name.
	Params map[string]string
	// Choices are the values that a text parameter may have, by its name.
	Choices map[string][]string
	// Elsewhere are values that only other programs have, by parameter and value, each with what to
	// do about it.
	Elsewhere map[string]map[string]string
	// Taken are the names that the program uses already.
	Taken []string
}

// Entry is one entry of a Section: a pointer to a struct whose json fields are the parameters. A
// field without omitempty or omitzero is required. The parameters are constant; those of the types
// [Secret] and [EnvText] may come from the environment, and one of the type [File] is another
// workflow. A Checker is checked when the file is loaded.
type Entry interface {
	// Open returns what nodes use as the entry with this name. It must not read the environment,
	// because files are loaded without it.
	Open(name string, env Env) (any, error)
	// CheckEnv returns an error that names what the environment lacks.
	CheckEnv(env Env) error
}

// Entries are the entries of all sections that one file can use. A nil *Entries has none.
type Entries struct {
	all map[string]map[string]*entry // by section and name
	env Env

	mu   sync.Mutex // guards used
	used map[*entry]bool
}

// entry is an Entry of a file.
type entry struct {
	Entry
	section string
	ref
	src *source
}

// Names returns the names of the entries of a section, sorted.
func (e *Entries) Names(section string) []string {
	if e == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(e.all[section]))
}

// Open returns what an entry opens. ok is false if there is no such entry. The file uses the entry
// from then on: see [Workflow.CheckEnv].
func (e *Entries) Open(section, name string) (v any, ok bool, err error) {
	one, ok := e.all[section][name]
	if !ok {
		return nil, false, nil
	}
	e.mu.Lock()
	e.used[one] = true
	e.mu.Unlock()
	v, err = one.Entry.Open(name, e.env)
	return v, true, err
}

// add adds the entries of a file, and reports those whose name is taken.
func (e *Entries) add(o *Options, entries []*entry) {
	for _, one := range entries {
		s := o.Sections[one.section]
		before := e.all[one.section][one.name]
		switch {
		case slices.Contains(s.Taken, one.name):
			one.src.fail(one.at, "WF135", "%s.%s: the program already has this name", one.section, one.name)
			continue
		case before != nil:
			one.src.fail(one.at, "WF135", "%s.%s: the name is already declared at %s", one.section, one.name, before.src.at(before.at))
			continue
		case e.all[one.section] == nil:
			e.all[one.section] = map[string]*entry{}
		}
		e.all[one.section][one.name] = one
	}
}

// bind returns o with the kinds that use the entries.
func (o Options) bind(e *Entries) *Options {
	kinds := maps.Clone(o.Kinds)
	for name, k := range kinds {
		if k.Bind != nil {
			bound := k.Bind(e)
			bound.Bind = k.Bind
			kinds[name] = bound
		}
	}
	o.Kinds = kinds
	return &o
}

// checkEnv reports what the environment lacks for the entries that the file uses.
func (e *Entries) checkEnv(report *problems) {
	for _, section := range slices.Sorted(maps.Keys(e.all)) {
		for _, name := range e.Names(section) {
			one := e.all[section][name]
			if !e.used[one] {
				continue
			}
			if err := one.CheckEnv(e.env); err != nil {
				src := *one.src
				src.problems = report
				src.fail(one.at, "WF705", "%s.%s: %v", section, name, err)
			}
		}
	}
}

// sectionNames returns the names of the sections of the program, sorted.
func (o Options) sectionNames() []string { return slices.Sorted(maps.Keys(o.Sections)) }

// entries decodes the sections of the program.
func (c *checker) entries(root object) (all []*entry) {
	for _, section := range c.opts.sectionNames() {
		n := root.get(section)
		if n == nil {
			continue
		}
		o, _ := c.object(n, section)
		if c.tooLong(n, o, section) {
			c.load.halfRead = true
			continue
		}
		for _, m := range o {
			e, ok := c.entry(section, m)
			if !ok {
				c.load.halfRead = true
				continue
			}
			all = append(all, e)
		}
	}
	return all
}

func (c *checker) entry(section string, m member) (*entry, bool) {
	what, s := section+"."+m.key.Value, c.opts.Sections[section]
	before := len(c.found)
	if !nodeName.MatchString(m.key.Value) {
		c.fail(m.key, "WF111", "the name %q in %s must be letters, digits, _ and -, a letter first", m.key.Value, section)
	}
	if m.value.Kind != yaml.MappingNode {
		c.fail(m.value, "WF101", "%s must be a mapping, not %s", what, describe(m.value))
		return nil, false
	}
	one := s.New()
	t := c.source.template(m.value, exprs.Env{})
	t.takes(reflect.TypeOf(one), what)
	c.entryValues(t, s, what, len(c.found) == before)
	if len(c.found) > before {
		return nil, false
	}
	given := t.constants(one)
	c.nested(reflect.ValueOf(one).Elem(), t, what)
	if own, ok := one.(Checker); ok && len(c.found) == before {
		if err := own.Check(func(name string) bool { return given[name] }); err != nil {
			c.fail(m.value, "WF504", "%s: %s", what, strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	c.holdVariables(reflect.ValueOf(one))
	return &entry{one, section, ref{m.key.Value, m.key}, c.source}, len(c.found) == before
}

// entryValues checks what only entries restrict: choices, constants, and secrets that the file
// contains itself.
func (c *checker) entryValues(t *template, s Section, what string, wellFormed bool) {
	for i, k := range t.keys {
		item, words := t.items[i], s.Choices[k.Value]
		if wellFormed && !item.constant() {
			c.fail(item.at, "WF503", "%s.%s must be constant", what, k.Value)
			continue
		}
		if text := item.at.Value; s.Elsewhere[k.Value][text] != "" {
			c.failAt(item.at.Line, item.at.Column, "WF108", s.Elsewhere[k.Value][text], "this program has no %s %q for %s", k.Value, text, what)
		} else if len(words) > 0 && !slices.Contains(words, text) {
			c.fail(item.at, "WF108", "%s.%s must be %s, not %q%s", what, k.Value, strings.Join(words, " or "), text, didYouMean(text, words))
		}
	}
	c.writtenSecrets(t, reflect.TypeOf(s.New()), what)
}

// writtenSecrets refuses a Secret of which the file has the text.
func (c *checker) writtenSecrets(t *template, typ reflect.Type, what string) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case typ == secretType && len(t.secrets) == 0 && t.at.Value != "" && !envUse.MatchString(t.at.Value):
		c.failAt(t.at.Line, t.at.Column, "WF701", "a file must not contain the secret itself", "%s must be ${env:NAME} or ${secret:NAME}", what)
	case typ.Kind() == reflect.Struct && typ != secretType:
		for _, p := range paramsOf(typ) {
			if i := slices.IndexFunc(t.keys, func(k *yaml.Node) bool { return k.Value == p.name }); i >= 0 {
				c.writtenSecrets(t.items[i], p.typ, what+"."+p.name)
			}
		}
	}
}

// nested decodes the parameters of the types File and Form, which into leaves empty.
func (c *checker) nested(v reflect.Value, t *template, what string) {
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		i := slices.IndexFunc(t.keys, func(k *yaml.Node) bool { return k.Value == name })
		if i < 0 || !f.IsExported() {
			continue
		}
		to, at, what := v.FieldByIndex(f.Index), t.items[i].at, what+"."+name
		switch {
		case f.Type == reflect.TypeFor[File]():
			to.Set(reflect.ValueOf(c.fileOf(at, what)))
		case f.Type == reflect.TypeFor[Form]():
			typ, schema := c.form(at)
			to.Set(reflect.ValueOf(Form{typ, schema}))
		case f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct && !to.IsNil():
			c.nested(to.Elem(), t.items[i], what)
		case f.Type.Kind() == reflect.Struct:
			c.nested(to, t.items[i], what)
		}
	}
}

// fileOf loads the workflow that a parameter names.
func (c *checker) fileOf(at *yaml.Node, what string) File {
	if c.rel == "" {
		c.fail(at, "WF512", "%s is only for the file of a workflow, not for a shared one", what)
		return File{}
	}
	w := c.load.sub(c.source, c.rel, at, at.Value)
	if w != nil {
		c.called = append(c.called, w)
	}
	return File{at.Value, w}
}

// holdVariables puts placeholders where the Secrets in v name variables of the environment.
func (c *checker) holdVariables(v reflect.Value) {
	eachSecret(v, func(s Secret) Secret {
		return Secret{envUse.ReplaceAllStringFunc(s.text, func(use string) string {
			return c.vault.holdVariable(envUse.FindStringSubmatch(use)[1])
		})}
	})
}

// eachSecret replaces the Secrets in the exported fields of a struct.
func eachSecret(v reflect.Value, by func(Secret) Secret) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachSecret(v.Elem(), by)
		}
	case reflect.Map:
		if v.Type().Elem() != secretType {
			return
		}
		for _, key := range v.MapKeys() {
			v.SetMapIndex(key, reflect.ValueOf(by(v.MapIndex(key).Interface().(Secret))))
		}
	case reflect.Struct:
		if s, ok := v.Addr().Interface().(*Secret); ok {
			*s = by(*s)
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachSecret(v.Field(i), by)
			}
		}
	}
}

// EnvText is a parameter of an [Entry]: a text, or ${env:NAME}, the value of an environment
// variable.
type EnvText struct{ text, from string }

// IsZero reports whether the parameter is missing.
func (t EnvText) IsZero() bool { return t == EnvText{} }

// Literal returns the text if the file itself contains it.
func (t EnvText) Literal() (text string, ok bool) { return t.text, t.from == "" && t.text != "" }

// String returns the text as it is in the file.
func (t EnvText) String() string {
	if t.from != "" {
		return "${env:" + t.from + "}"
	}
	return t.text
}

// UnmarshalJSON reads a text.
func (t *EnvText) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	if m := secretFrom.FindStringSubmatch(text); m != nil {
		*t = EnvText{from: m[1]}
		return nil
	}
	if strings.Contains(text, "${") {
		return fmt.Errorf("must be a text without ${…}, or ${env:NAME} alone (got %q)", text)
	}
	*t = EnvText{text: text}
	return nil
}

// Text returns the text of t. The error names the variable that is not set.
func (e Env) Text(t EnvText) (string, error) {
	if t.from == "" {
		return t.text, nil
	}
	value, ok := e.Lookup(t.from)
	if !ok {
		return "", fmt.Errorf("the environment variable %s is not set", t.from)
	}
	return value, nil
}

// Lookup returns the value of an environment variable. ok is false if it is not set, or empty.
func (e Env) Lookup(name string) (value string, ok bool) {
	if e.vault == nil {
		return "", false
	}
	value, _ = e.vault.key(name)
	return value, value != ""
}

// Covered returns an Env whose Redact replaces the secrets of the file, for work that is not done
// in [Runner.Run].
func (e Env) Covered() Env {
	if e.vault != nil {
		e.cover = e.vault.cover()
	}
	return e
}
