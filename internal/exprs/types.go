package exprs

import (
	"fmt"
	"regexp"
	"slices"
)

// Type is the static type of a value. The zero Type is Any.
type Type struct{ of *shape }

// shape describes the values of a Type other than Any.
type shape struct {
	kind   Kind
	item   Type            // of a list, or of the values of a map whose names are open
	fields map[string]Type // of a map with exactly these fields; nil if the names are open
	anyKey bool            // of a map whose keys need not be strings
}

// The scalar types. A Number may hold an int at run time. The checker accepts any operation on Any.
var (
	Any    = Type{}
	String = Type{&shape{kind: StringKind}}
	Int    = Type{&shape{kind: IntKind}}
	Number = Type{&shape{kind: NumberKind}}
	Bool   = Type{&shape{kind: BoolKind}}

	null = Type{&shape{kind: NilKind}}
	list = List(Any)
	dict = Map(Any)
)

// keyedMap returns the type of a map whose keys may be of any kind.
func keyedMap(value Type) Type { return Type{&shape{kind: MapKind, item: value, anyKey: true}} }

// List returns the type of a list of items.
func List(item Type) Type { return Type{&shape{kind: ListKind, item: item}} }

// Map returns the type of a map from text to values of one type. A missing key reads as nil.
func Map(value Type) Type { return Type{&shape{kind: MapKind, item: value}} }

// Object returns the type of a map with exactly these fields. Any other name is a compile error.
func Object(fields map[string]Type) Type {
	if fields == nil {
		fields = map[string]Type{}
	}
	return Type{&shape{kind: MapKind, fields: fields}}
}

// Kind is the static type of a result.
type Kind string

// The kinds. AnyKind means that the kind is known only at run time.
const (
	AnyKind    Kind = "any"
	NilKind    Kind = "nil"
	BoolKind   Kind = "bool"
	IntKind    Kind = "int"
	NumberKind Kind = "number"
	StringKind Kind = "string"
	ListKind   Kind = "list"
	MapKind    Kind = "map"
)

// kind returns the kind of values of type t.
func (t Type) kind() Kind {
	if t.of == nil {
		return AnyKind
	}
	return t.of.kind
}

// items returns the type of the items of a list, or of the values of a map.
func (t Type) items() Type {
	if t.of == nil {
		return Any
	}
	return t.of.item
}

// isGroups reports whether t is the type of what groupBy returns. A missing group is an empty list.
func (t Type) isGroups() bool { return t.of != nil && t.of.anyKey && t.of.item.is(ListKind) }

func (t Type) is(kinds ...Kind) bool { return slices.Contains(kinds, t.kind()) }

// mayBe reports whether values of type t may be of one of the kinds.
func (t Type) mayBe(kinds ...Kind) bool { return t.kind() == AnyKind || t.is(kinds...) }

// isNumber reports whether t is Int or Number.
func (t Type) isNumber() bool { return t.is(IntKind, NumberKind) }

// common returns the type of a value that is of type a or b: the type that both have, else Any.
func common(a, b Type) Type {
	switch {
	case a == b:
		return a
	case a.kind() == NilKind:
		return b
	case b.kind() == NilKind:
		return a
	case a.kind() != b.kind():
		return Any
	case a.kind() == ListKind:
		return List(common(a.items(), b.items()))
	case a.kind() == MapKind:
		return Type{&shape{kind: MapKind, anyKey: a.of.anyKey || b.of.anyKey}}
	}
	return a
}

// Env holds the names that an expression may use, each with its type. Any other name is a compile
// error.
type Env map[string]Type

var (
	nameRule = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	keywords = []string{"and", "contains", "else", "endsWith", "false", "if", "in", "let", "matches", "nil", "not", "or", "startsWith", "true"}
)

// CheckName returns an error if a name cannot be used in an Env: it is not an identifier, or it is
// a keyword or a function. Use it for names that users choose, such as the alias of an item.
func CheckName(name string) error {
	switch {
	case !nameRule.MatchString(name):
		return fmt.Errorf("exprs: %q is not a name: use letters, digits and _", name)
	case slices.Contains(keywords, name):
		return fmt.Errorf("exprs: %q is a word of the expression language", name)
	case isFunction(name):
		return fmt.Errorf("exprs: %q is the name of a function", name)
	}
	return nil
}
