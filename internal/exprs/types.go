package exprs

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/expr-lang/expr/checker/nature"
	"github.com/expr-lang/expr/types"
)

// Type is the static type of a value. It is opaque: use the variables and functions below.
type Type = types.Type

// The scalar types. A Number may hold an int at run time. The checker accepts any operation on Any.
var (
	Any    Type = types.Any
	String Type = types.String
	Int    Type = types.Int
	Number Type = types.Float64
	Bool   Type = types.Bool
)

// List returns the type of a list of items.
func List(item Type) Type { return types.Array(item) }

// Map returns the type of a map from text to values of one type. A missing key reads as nil.
func Map(value Type) Type { return types.Map{types.Extra: value} }

// Object returns the type of a map with exactly these fields. Any other name is a compile error.
func Object(fields map[string]Type) Type { return types.Map(fields) }

// Prepared returns t with a cache for the checker. Use it for a type with hundreds of fields that
// many expressions use. The result is not safe for concurrent use.
func Prepared(t Type) Type { return &prepared{Type: t} }

type prepared struct {
	Type
	nature *nature.Nature // nil until the first use
}

// Nature implements Type.
func (p *prepared) Nature() nature.Nature {
	if p.nature == nil {
		n := p.Type.Nature()
		p.nature = &n
	}
	return *p.nature
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
	case slices.Contains(Functions(), name):
		return fmt.Errorf("exprs: %q is the name of a function", name)
	}
	return nil
}
