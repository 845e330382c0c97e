package graph

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/record"
)

// schemaURI is the dialect of the schemas.
const schemaURI = "http://json-schema.org/draft-07/schema#"

// kindKeyword is the keyword of a property that has the kind of the channel.
const kindKeyword = "x-weft-kind"

func (g untyped) Schemas() Schemas {
	if g.p == nil {
		return Schemas{}
	}
	own := g.p.cfg.Schemas
	if own.Input == nil || own.Output == nil || own.State == nil {
		data, err := json.Marshal(stateSchema(g.p.schema))
		if err != nil { // a schema is of plain values, but for defaults, which were checked
			data = []byte(`{"$schema":"` + schemaURI + `","type":"object"}`)
		}
		for _, s := range []*json.RawMessage{&own.Input, &own.Output, &own.State} {
			if *s == nil {
				*s = data
			}
		}
	}
	return own
}

// SchemaField is a field of a state in a schema that [SchemaOf] returns.
type SchemaField struct {
	Name, Description string
	Required          bool
}

// SchemaOf returns the JSON Schema of some fields of a state, in their order: for Config.Schemas of
// a graph whose input has only some of its fields. Names that s does not have are left out.
func SchemaOf(s *state.Schema, fields ...SchemaField) (json.RawMessage, error) {
	all := stateSchema(s)
	out := &jsonschema.Schema{Schema: schemaURI, Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for _, f := range fields {
		p := all.Properties[f.Name]
		if p == nil {
			continue
		}
		p.Description = f.Description
		out.Properties[f.Name] = p
		out.PropertyOrder = append(out.PropertyOrder, f.Name)
		if f.Required {
			out.Required = append(out.Required, f.Name)
		}
	}
	return json.Marshal(out)
}

// stateSchema returns the schema of the states with a state.Schema.
func stateSchema(s *state.Schema) *jsonschema.Schema {
	out := &jsonschema.Schema{Schema: schemaURI, Type: "object", Properties: map[string]*jsonschema.Schema{}}
	blank := s.Blank()
	for i, f := range s.Fields() {
		p := fieldSchema(s, i, blank.Channels[i])
		p.Default = f.Default
		if f.Kind != "" {
			p.Extra = map[string]any{kindKeyword: string(f.Kind)}
		}
		out.Properties[f.Name] = p
		out.PropertyOrder = append(out.PropertyOrder, f.Name)
	}
	return out
}

// fieldSchema returns the schema of field i, with the channel c.
func fieldSchema(s *state.Schema, i int, c state.Channel) *jsonschema.Schema {
	if t, ok := record.FieldType(s, i); ok {
		return recordSchema(t)
	}
	typed, ok := c.(state.Typed)
	if !ok {
		return new(jsonschema.Schema)
	}
	return typeSchema(typed.ValueType())
}

// typeSchema returns the schema of the JSON form of a Go type.
func typeSchema(t reflect.Type) *jsonschema.Schema {
	if t.Name() == "" && t.Kind() == reflect.Map { // also one whose keys are numbers
		return &jsonschema.Schema{Type: "object", AdditionalProperties: typeSchema(t.Elem())}
	}
	if t.Name() == "" && t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 { // never null
		return &jsonschema.Schema{Type: "array", Items: typeSchema(t.Elem())}
	}
	known := knownForms{}
	known.add(t)
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{IgnoreInvalidTypes: true, TypeSchemas: known})
	if err != nil || s == nil { // a type that has itself inside, or a function
		return new(jsonschema.Schema)
	}
	return s
}

// knownForms are the schemas of types whose JSON form is not that of their Go type.
type knownForms map[reflect.Type]*jsonschema.Schema

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// add adds those of a type and of the types inside it.
func (k knownForms) add(t reflect.Type) { k.addNew(t, map[reflect.Type]bool{}) }

func (k knownForms) addNew(t reflect.Type, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	p := reflect.PointerTo(t)
	standard := t.PkgPath() != "" && !strings.Contains(t.PkgPath(), ".") && t != reflect.TypeFor[json.RawMessage]()
	switch {
	case t.Kind() == reflect.Pointer:
		k.addNew(t.Elem(), seen)
	case standard: // jsonschema knows them
	case t.Implements(jsonMarshaler) || p.Implements(jsonMarshaler):
		k[t] = new(jsonschema.Schema)
	case t.Implements(textMarshaler) || p.Implements(textMarshaler), t == reflect.TypeFor[[]byte]():
		k[t] = &jsonschema.Schema{Type: "string"}
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			k.addNew(t.Field(i).Type, seen)
		}
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map:
		k.addNew(t.Elem(), seen)
	}
}

// recordTypes are the types of JSON Schema by the bases of a record's types.
var recordTypes = map[string]string{"bool": "boolean", "int": "integer", "number": "number", "string": "string", "list": "array", "map": "object", "object": "object"}

// recordSchema returns the schema of a type of a record.
func recordSchema(t record.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: recordTypes[t.Base()]}
	switch t.Base() {
	case "list":
		s.Items = recordSchema(t.Elem())
	case "map":
		s.AdditionalProperties = recordSchema(t.Elem())
	case "object":
		s.Properties = map[string]*jsonschema.Schema{}
		for _, m := range t.Members() {
			p := recordSchema(m.Type)
			p.Default = m.Default
			s.Properties[m.Name] = p
			s.PropertyOrder = append(s.PropertyOrder, m.Name)
			if !m.Optional && m.Default == nil {
				s.Required = append(s.Required, m.Name)
			}
		}
	}
	return s
}

func (g untyped) Children() map[string]Untyped {
	all := map[string]Untyped{}
	if g.p == nil {
		return all
	}
	for i := range g.p.nodes {
		if n := &g.p.nodes[i]; n.child != nil {
			p := n.child.asChild(&g.p.cfg)
			all[n.name] = untyped{&p}
		}
	}
	return all
}
