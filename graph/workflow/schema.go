package workflow

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Schema returns the JSON Schema (draft 2020-12) of a file that may use the kinds in o,
// so that editors complete keys, kinds, the names behind uses and all parameters. It
// describes the shape alone: names, types, expressions and paths are for Load, so that
// what the schema refuses Load refuses too, but not the other way around.
func Schema(o Options) json.RawMessage {
	return o.schema().text()
}

const dialect = "https://json-schema.org/draft/2020-12/schema"

// text returns the schema as JSON.
func (s schema) text() json.RawMessage {
	s["$schema"] = dialect
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(s) // it is made of maps, lists, texts and numbers
	return b.Bytes()
}

// ConfigSchema is [Schema] for the shared file [Options.Config].
func ConfigSchema(o Options) json.RawMessage {
	defs := schema{"form": formSection.schema()}
	for _, s := range o.entrySections() {
		defs[s.name] = s.schema()
	}
	root := section{"", "", append(sharedKeys(), o.sectionKeys()...), []string{"version"}}.schema()
	root["title"] = "Weft shared file"
	root["$defs"] = defs
	return root.text()
}

// sharedKeys are the keys of a workflow that a shared file has too.
func sharedKeys() (all []key) {
	for _, k := range rootSection.keys {
		if k.name == "version" || k.name == "secrets" {
			all = append(all, k)
		}
	}
	return all
}

// schema is a JSON Schema, or a part of one.
type schema map[string]any

// key is a key of an object in a file.
type key struct {
	name  string
	about string // a line for people
	takes schema
}

// section is an object in a file: its keys, and those that must be there.
type section struct {
	name     string // as in $defs; "" is the file itself
	about    string
	keys     []key
	required []string
}

func (s section) schema() schema {
	properties := schema{}
	for _, k := range s.keys {
		p := maps.Clone(k.takes)
		if k.about != "" {
			p["description"] = k.about
		}
		properties[k.name] = p
	}
	all := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if s.about != "" {
		all["description"] = s.about
	}
	if len(s.required) > 0 {
		all["required"] = s.required
	}
	return all
}

func (o Options) schema() schema {
	defs := schema{}
	var root schema
	for _, s := range o.sections() {
		if s.name == "" {
			root = s.schema()
		} else {
			defs[s.name] = s.schema()
		}
	}
	typ := defs["type"].(schema)
	typ["propertyNames"], typ["additionalProperties"] = schema{"pattern": identifier.String()}, schema{"oneOf": []schema{textValue, refTo("member")}}
	node := defs["node"].(schema)
	node["oneOf"] = o.oneKind()
	if with := o.withs(); len(with) > 0 {
		node["allOf"] = with
	}
	defs["field"].(schema)["allOf"] = fittingReducers()
	root["allOf"] = []schema{noForeignTypes()}
	root["title"] = "Weft workflow"
	root["$defs"] = defs
	return root
}

// oneKind requires that a node has exactly one of the keys that are kinds.
func (o Options) oneKind() (all []schema) {
	for _, name := range o.names().keys {
		all = append(all, schema{"required": []string{name}})
	}
	return all
}

// withs returns for each Go function the schema of its with.
func (o Options) withs() (all []schema) {
	for _, name := range o.names().uses {
		with := paramsSchema(o.Kinds[name])
		then := schema{"properties": schema{"with": with}}
		if len(requiredIn(with)) > 0 {
			then["required"] = []string{"with"}
		}
		all = append(all, schema{
			"if":   schema{"properties": schema{"uses": schema{"const": name}}, "required": []string{"uses"}},
			"then": then,
		})
	}
	return all
}

func requiredIn(s schema) []string {
	names, _ := s["required"].([]string)
	return names
}

// paramsSchema is the schema of the parameters of a kind.
func paramsSchema(k Kind) schema { return goSchema(reflect.TypeOf(paramsIn(k.New()))) }

// Described is a type of parameters that reads its JSON itself, and describes it for editors and
// the reference.
type Described interface {
	// ParamSchema returns a JSON Schema. Its $comment is what the reference prints.
	ParamSchema() map[string]any
}

// goSchema returns what a Go type takes of a file: its JSON form, or an expression in
// the place of any value. open are the types that it is a part of: where one comes
// again, it is anything.
func goSchema(t reflect.Type, open ...reflect.Type) schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	custom := reflect.PointerTo(t).Implements(jsonUnmarshaler) || reflect.PointerTo(t).Implements(textUnmarshaler)
	switch {
	case t == secretType || t == reflect.TypeFor[TypeName]() || t == reflect.TypeFor[EnvText]() || t == reflect.TypeFor[File]():
		return schema{"type": "string"}
	case t == reflect.TypeFor[Form]():
		return mapTo(identifier.String(), schema{"oneOf": []schema{textValue, refTo("form")}})
	case custom && t.Implements(reflect.TypeFor[Described]()):
		return orExpression(schema(reflect.Zero(t).Interface().(Described).ParamSchema()))
	case custom || slices.Contains(open, t):
		return schema{}
	}
	open = append(slices.Clip(open), t)
	switch k := t.Kind(); {
	case k == reflect.String:
		return schema{"type": "string"}
	case k == reflect.Bool:
		return orExpression(schema{"type": "boolean"})
	case k >= reflect.Int && k <= reflect.Uintptr:
		return orExpression(schema{"type": "integer"})
	case k == reflect.Float32 || k == reflect.Float64:
		return orExpression(schema{"type": "number"})
	case k == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return schema{"type": "string"}
	case k == reflect.Slice || k == reflect.Array:
		return orExpression(schema{"type": "array", "items": goSchema(t.Elem(), open...)})
	case k == reflect.Map:
		return orExpression(schema{"type": "object", "additionalProperties": goSchema(t.Elem(), open...)})
	case k == reflect.Struct && len(open) > 1:
		return orExpression(structSchema(t, open))
	case k == reflect.Struct:
		return structSchema(t, open)
	}
	return schema{}
}

func structSchema(t reflect.Type, open []reflect.Type) schema {
	s := section{}
	for _, p := range paramsOf(t) {
		s.keys = append(s.keys, key{name: p.name, takes: goSchema(p.typ, open...)})
		if p.required {
			s.required = append(s.required, p.name)
		}
	}
	return s.schema()
}

// orExpression is a schema whose value may be computed.
func orExpression(s schema) schema {
	return schema{"anyOf": []schema{s, {"type": "string", "pattern": `\$\{\{`}}}
}

// kindKeys are the kinds as keys of a node.
func (o Options) kindKeys() (all []key) {
	for _, name := range o.names().keys {
		if k, ok := o.Kinds[name]; ok {
			all = append(all, key{name, k.About, paramsSchema(k)})
		}
	}
	return all
}

// usesSchema is the schema of the name behind uses.
func (o Options) usesSchema() schema {
	if names := o.names().uses; len(names) > 0 {
		return schema{"type": "string", "enum": names}
	}
	return schema{"type": "string", "pattern": "^" + goPrefix}
}

// words describes in a few words what a schema takes.
func (s schema) words() string {
	switch {
	case s["$ref"] != nil:
		return "[" + strings.TrimPrefix(s["$ref"].(string), defsPath) + "](#" + strings.TrimPrefix(s["$ref"].(string), defsPath) + ")"
	case s["const"] != nil:
		return "`" + jsonWord(s["const"]) + "`"
	case s["enum"] != nil:
		var all []string
		for _, v := range s["enum"].([]string) {
			all = append(all, "`"+v+"`")
		}
		return strings.Join(all, ", ")
	case s["anyOf"] != nil || s["oneOf"] != nil:
		all, _ := s["anyOf"].([]schema)
		if all == nil {
			all, _ = s["oneOf"].([]schema)
		}
		var words []string
		for _, one := range all {
			words = append(words, one.words())
		}
		return strings.Join(words, " or ")
	case s["pattern"] == `\$\{\{`:
		return "`${{ }}`"
	case s["$comment"] != nil:
		return s["$comment"].(string)
	}
	return s.typeWords()
}

func (s schema) typeWords() string {
	switch s["type"] {
	case "string":
		return "text"
	case "boolean":
		return "true or false"
	case "integer":
		return "a whole number"
	case "number":
		return "a number"
	case "array":
		if items, ok := s["items"].(schema); ok && len(items) > 0 {
			return "a list: " + items.words()
		}
		return "a list"
	case "object":
		if values, ok := s["additionalProperties"].(schema); ok && len(values) > 0 {
			return "a mapping to " + values.words()
		}
		return "a mapping"
	}
	return "any value"
}

func jsonWord(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
