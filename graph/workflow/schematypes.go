package workflow

import (
	"maps"
	"slices"
	"strings"
)

// foreignTypes are the words of other languages for the types of this one, sorted.
func foreignTypes() (words []string) {
	ours := []string{"any", "bool", "int", "number", "string", "list", "map"}
	for _, word := range slices.Sorted(maps.Keys(synonyms)) {
		if slices.Contains(ours, synonyms[word]) {
			words = append(words, word)
		}
	}
	return words
}

// noForeignTypes refuses a field, a setting or a member whose type is a word of another language,
// as in type: integer. A file may declare a type of such a name; then it is let be.
func noForeignTypes() schema {
	words := foreignTypes()
	no := schema{"not": schema{"type": "string", "pattern": `(^|<)\s*(` + strings.Join(words, "|") + `)\s*($|[<>,}])`}}
	typed := schema{"allOf": []schema{no, {"properties": schema{"type": no}}}}
	all := schema{"additionalProperties": typed}
	return schema{
		"if": schema{"properties": schema{"types": schema{"propertyNames": schema{"not": schema{"enum": words}}}}},
		"then": schema{"properties": schema{
			"state": all, "config": all, "types": schema{"additionalProperties": all},
		}},
	}
}

// fittingReducers lists for each reducer the types that it takes, as far as their text determines
// it. A name under types is an object; a reducer of the program may take anything.
func fittingReducers() (all []schema) {
	for _, name := range slices.Sorted(maps.Keys(reducers)) {
		bases := reducers[name].bases
		if len(bases) == 0 || slices.Contains(bases, "object") {
			continue
		}
		words := []string{"go:.*"}
		for _, base := range bases {
			if base == "list" || base == "map" {
				base += `\s*<.*`
			}
			words = append(words, base+`\s*`)
		}
		all = append(all, whenField("reducer", name, "type", schema{"pattern": `^\s*(` + strings.Join(words, "|") + `)$`}))
	}
	for _, name := range slices.Sorted(maps.Keys(channelTypes)) {
		all = append(all, whenField("type", name, "reducer", schema{"const": name}))
	}
	return all
}

// whenField is the schema of a key where another key has a value.
func whenField(given, value, key string, takes schema) schema {
	return schema{
		"if":   schema{"properties": schema{given: schema{"const": value}}, "required": []string{given}},
		"then": schema{"properties": schema{key: takes}},
	}
}
