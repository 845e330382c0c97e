package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/internal/fieldname"
	"github.com/weftrun/weft/state"
)

// Type is the declared type of a value in a [Record]. The zero Type is any.
// Types are values: they may be copied, and nothing changes one.
type Type struct {
	base    string // "" is any
	name    string // of a named type
	elem    *Type
	members []Member
}

// Member is one member of an object type.
type Member struct {
	Name string
	Type Type
	// Optional is true when the member may be absent.
	Optional bool
	// Default is the value of an absent member as JSON, or nil if it has none.
	Default json.RawMessage
}

// required reports whether a value must have the member.
func (m *Member) required() bool { return !m.Optional && m.Default == nil }

var baseTypes = []string{"any", "bool", "int", "number", "string"}

// BlobType is the type of the names of blobs, [state.BlobRef]: an object with the members $blob,
// size and, where it is known, type.
var BlobType = Type{base: "object", name: "blob", members: []Member{
	{Name: "$blob", Type: Type{base: "string"}},
	{Name: "size", Type: Type{base: "int"}},
	{Name: "type", Type: Type{base: "string"}, Optional: true},
}}

// ObjectType returns the type of objects with these members and no others. Every
// mistake is reported, as one *state.SchemaError.
func ObjectType(members ...Member) (Type, error) {
	var mistakes []state.Mistake
	fail := func(m Member, what string) { mistakes = append(mistakes, state.Mistake{Path: m.Name, What: what}) }
	seen := map[string]bool{}
	for _, m := range members {
		if why := fieldname.Fault(m.Name); why != "" {
			fail(m, why)
		}
		if seen[m.Name] {
			fail(m, "the member is declared twice")
		}
		seen[m.Name] = true
		if m.Default == nil {
			continue
		}
		if _, err := m.Type.decode(m.Default); err != nil {
			fail(m, fmt.Sprintf("default %s: %v", m.Default, err))
		}
	}
	if len(mistakes) > 0 {
		return Type{}, &state.SchemaError{Type: "the object", Mistakes: mistakes}
	}
	return Type{base: "object", members: slices.Clone(members)}, nil
}

// ListType returns the type of lists of elem.
func ListType(elem Type) Type { return Type{base: "list", elem: &elem} }

// MapType returns the type of maps from text to elem.
func MapType(elem Type) Type { return Type{base: "map", elem: &elem} }

// Base returns the name of the type without its parts: any, bool, int, number,
// string, list, map or object.
func (t Type) Base() string {
	if t.base == "" {
		return "any"
	}
	return t.base
}

// Elem returns the type of the elements of a list or a map, and any for others.
func (t Type) Elem() Type {
	if t.elem == nil {
		return Type{}
	}
	return *t.elem
}

// Members returns the members of an object type. The caller must not change them.
func (t Type) Members() []Member { return t.members }

// String returns the text form that [ParseType] reads: the name of a named type,
// otherwise the type written out. Defaults have no text form; a member that has
// one is written like an optional one.
func (t Type) String() string {
	switch {
	case t.name != "":
		return t.name
	case t.base == "object":
		return "object{" + t.memberList() + "}"
	case t.elem != nil:
		return t.base + "<" + t.elem.String() + ">"
	}
	return t.Base()
}

func (t Type) memberList() string {
	parts := make([]string, len(t.members))
	for i, m := range t.members {
		mark := "?"
		if m.required() {
			mark = ""
		}
		parts[i] = fmt.Sprintf("%s%s: %s", m.Name, mark, m.Type)
	}
	return strings.Join(parts, ", ")
}
