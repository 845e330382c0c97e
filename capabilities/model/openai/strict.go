package openai

import (
	"encoding/json"
	"slices"
)

// strict reports whether OpenAI can enforce a schema: all properties of its objects are required,
// no others are allowed, and all keywords are supported.
func strict(schema json.RawMessage) bool {
	var s any
	return json.Unmarshal(schema, &s) == nil && strictly(s)
}

var known = []string{
	"type", "description", "title", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "minItems", "maxItems",
}

func strictly(v any) bool {
	s, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for key := range s {
		if !slices.Contains(known, key) {
			return false
		}
	}
	if s["type"] == nil && s["anyOf"] == nil && s["enum"] == nil && s["const"] == nil {
		return false
	}
	if items, ok := s["items"]; ok && !strictly(items) {
		return false
	}
	if any, ok := s["anyOf"].([]any); ok && !all(any) {
		return false
	}
	return !isObject(s["type"]) || strictObject(s)
}

func strictObject(s map[string]any) bool {
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for name, p := range properties {
		if !slices.Contains(required, any(name)) || !strictly(p) {
			return false
		}
	}
	return len(properties) > 0 && s["additionalProperties"] == false
}

func all(schemas []any) bool {
	return !slices.ContainsFunc(schemas, func(s any) bool { return !strictly(s) })
}

// isObject reports whether a type is that of objects, or one of several that is.
func isObject(t any) bool {
	several, _ := t.([]any)
	return t == "object" || slices.Contains(several, any("object"))
}
