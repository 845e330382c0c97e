package anthropic

import (
	"encoding/json"
	"slices"
)

// enforceable returns a schema that the API can enforce, as a map: its objects allow no other
// properties, and it has no keyword that the API refuses.
func enforceable(schema json.RawMessage) (map[string]any, bool) {
	var s map[string]any
	if json.Unmarshal(schema, &s) != nil || !enforced(s) {
		return nil, false
	}
	return s, true
}

// keywords are those that the API accepts.
var keywords = []string{
	"type", "description", "title", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "allOf", "format", "default",
}

func enforced(v any) bool {
	s, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for key := range s {
		if !slices.Contains(keywords, key) {
			return false
		}
	}
	if properties, ok := s["properties"].(map[string]any); ok {
		for _, p := range properties {
			if !enforced(p) {
				return false
			}
		}
	}
	if items, ok := s["items"]; ok && !enforced(items) {
		return false
	}
	for _, key := range []string{"anyOf", "allOf"} {
		all, _ := s[key].([]any)
		if slices.ContainsFunc(all, func(s any) bool { return !enforced(s) }) {
			return false
		}
	}
	several, _ := s["type"].([]any)
	object := s["type"] == "object" || slices.Contains(several, any("object"))
	return !object || s["additionalProperties"] == false
}
