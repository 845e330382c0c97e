package workflow

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/state/record"
)

// formKeys are what a field of a form may say, beside its type.
var formKeys = []string{"type", "title", "description", "optional", "default", "enum", "min", "max", "min_length", "max_length", "pattern"}

// form decodes the fields of a form: the type of the answer, and its JSON Schema.
func (c *checker) form(n *yaml.Node) (record.Type, Values) {
	o, _ := c.object(n, "form")
	if len(o) == 0 {
		c.fail(n, "WF125", "the form has no fields")
	}
	var members []record.Member
	var properties Values
	for _, m := range o {
		member, schema := c.formField(m)
		members = append(members, member)
		properties = append(properties, Value{member.Name, schema})
	}
	t, err := record.ObjectType(members...)
	(&typeDecoder{source: c.source}).schemaError(o, err)
	return t, objectSchema(members, properties)
}

func (c *checker) formField(m member) (record.Member, Values) {
	f := record.Member{Name: m.key.Value}
	if m.value.Kind != yaml.MappingNode {
		f.Type, _ = c.typ(m.value, c.plan.types)
		return f, schemaOf(f.Type)
	}
	what := "form field " + f.Name
	o, _ := c.record(m.value, what, formKeys...)
	var ok bool
	if t := o.get("type"); t != nil {
		f.Type, ok = c.typ(t, c.plan.types)
	} else {
		c.fail(m.key, "WF404", "%s has no type", what)
	}
	schema, known := schemaOf(f.Type), len(c.found)
	for _, k := range o {
		switch key := k.key.Value; key {
		case "title", "description":
			text, _ := c.string(k.value, key)
			schema = append(schema, Value{key, text})
		case "optional":
			f.Optional = c.bool(k.value, key)
		case "default":
			v := c.formValue(k.value, f.Type, ok, what+": default")
			if v != nil {
				f.Default, _ = json.Marshal(v)
			}
			schema = append(schema, Value{key, v})
		case "enum", "min", "max", "min_length", "max_length", "pattern":
			if ok {
				schema = c.constrain(schema, k, f.Type, what)
			}
		}
	}
	if len(c.found) == known {
		c.checkBounds(schema, o, what)
	}
	if def := o.get("default"); f.Default != nil && len(c.found) == known {
		data, _ := json.Marshal(schema) // it is made of plain values
		if err := fits(data, f.Default); err != nil {
			c.fail(def, "WF410", "%s: default: %v", what, err)
		}
	}
	return f, schema
}

// checkBounds reports a minimum above the maximum, which no answer can have.
func (c *checker) checkBounds(schema Values, o object, what string) {
	for _, keys := range [][4]string{
		{"min", "max", "minimum", "maximum"},
		{"min_length", "max_length", "minLength", "maxLength"},
		{"min_length", "max_length", "minItems", "maxItems"},
	} {
		least, greatest := o.get(keys[0]), o.get(keys[1])
		low, _ := schema.Get(keys[2])
		high, ok := schema.Get(keys[3])
		if least != nil && greatest != nil && ok && above(low, high) {
			c.fail(least, "WF415", "%s: %s is greater than %s, so no answer fits", what, keys[0], keys[1])
		}
	}
}

// above reports whether a bound is greater than another one of the same type.
func above(a, b any) bool {
	switch a := a.(type) {
	case int:
		return a > b.(int)
	case int64:
		return a > b.(int64)
	case float64:
		return a > b.(float64)
	}
	return false
}

// formValue returns a constant that must be of a type.
func (c *checker) formValue(n *yaml.Node, t record.Type, typed bool, what string) any {
	v, ok := c.constant(n)
	if !ok || !typed {
		return nil
	}
	v, err := t.Convert(v)
	if err != nil {
		c.fail(n, "WF410", "%s: %v", what, err)
	}
	return v
}

// constraints say what types the keys of a form's field go with, and what they are called
// in a JSON Schema.
var constraints = map[string]struct {
	bases  []string
	schema string
}{
	"enum":       {[]string{"string", "int", "number", "list"}, "enum"},
	"min":        {[]string{"int", "number"}, "minimum"},
	"max":        {[]string{"int", "number"}, "maximum"},
	"min_length": {[]string{"string", "list"}, "minLength"},
	"max_length": {[]string{"string", "list"}, "maxLength"},
	"pattern":    {[]string{"string"}, "pattern"},
}

// constrain adds a bound to the schema of a form's field.
func (c *checker) constrain(schema Values, m member, t record.Type, what string) Values {
	key, base := m.key.Value, t.Base()
	rule := constraints[key]
	if !slices.Contains(rule.bases, base) {
		c.fail(m.key, "WF415", "%s: %s does not apply to the type %s", what, key, t)
		return schema
	}
	switch key {
	case "enum":
		return c.choices(schema, m.value, t, what)
	case "pattern":
		text, ok := c.string(m.value, what+": pattern")
		if _, err := regexp.Compile(text); ok && err != nil {
			c.fail(m.value, "WF415", "%s: %v", what, err)
		}
		return append(schema, Value{rule.schema, text})
	case "min_length", "max_length":
		name := rule.schema
		if base == "list" {
			name = map[string]string{"min_length": "minItems", "max_length": "maxItems"}[key]
		}
		return append(schema, Value{name, c.count(m.value, what+": "+key)})
	}
	v := c.formValue(m.value, t, true, what+": "+key)
	bounds := slices.DeleteFunc(schema, func(v Value) bool { return v.Name == rule.schema })
	return append(bounds, Value{rule.schema, v})
}

// choices adds the values that may be chosen; of a list, those of its items.
func (c *checker) choices(schema Values, n *yaml.Node, t record.Type, what string) Values {
	of := t
	if t.Base() == "list" {
		of = t.Elem()
	}
	var all []any
	for _, item := range c.list(n, what+": enum") {
		all = append(all, c.formValue(item, of, true, what+": enum"))
	}
	if len(all) == 0 {
		c.fail(n, "WF121", "%s: enum is empty", what)
	}
	if t.Base() != "list" {
		return append(schema, Value{"enum", all})
	}
	items := append(schemaOf(of), Value{"enum", all})
	bounds := slices.DeleteFunc(schema, func(v Value) bool { return v.Name == "items" })
	return append(bounds, Value{"items", items}, Value{"uniqueItems", true})
}

// schemaOf returns the JSON Schema of a type.
func schemaOf(t record.Type) Values {
	switch t.Base() {
	case "bool":
		return Values{{"type", "boolean"}}
	case "int":
		return Values{{"type", "integer"}, {"minimum", int64(math.MinInt64)}, {"maximum", int64(math.MaxInt64)}}
	case "number", "string":
		return Values{{"type", t.Base()}}
	case "list":
		return Values{{"type", "array"}, {"items", schemaOf(t.Elem())}}
	case "map":
		return Values{{"type", "object"}, {"additionalProperties", schemaOf(t.Elem())}}
	case "object":
		var properties Values
		for _, m := range t.Members() {
			properties = append(properties, Value{m.Name, schemaOf(m.Type)})
		}
		return objectSchema(t.Members(), properties)
	}
	return Values{}
}

func objectSchema(members []record.Member, properties Values) Values {
	required := []string{}
	for _, m := range members {
		if !m.Optional && m.Default == nil {
			required = append(required, m.Name)
		}
	}
	return Values{
		{"type", "object"}, {"properties", properties},
		{"required", required}, {"additionalProperties", false},
	}
}
