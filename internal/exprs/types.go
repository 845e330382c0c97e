package exprs

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/expr-lang/expr/types"
)

// Type is what the checker knows about a value. It is opaque: build one from the values and functions below.
type Type = types.Type

// The scalar types. A Number may hold an int at run time; Any switches checking off for that value.
var (
	Any    Type = types.Any
	String Type = types.String
	Int    Type = types.Int
	Number Type = types.Float64
	Bool   Type = types.Bool
)

// List is the type of a list whose items are all of one type.
func List(item Type) Type { return types.Array(item) }

// Map is the type of a map from any text to values of one type; a missing key reads as nil.
func Map(value Type) Type { return types.Map{types.Extra: value} }

// Object is the type of a map with exactly these fields; any other name is an error when compiling.
func Object(fields map[string]Type) Type { return types.Map(fields) }

// Env holds the names an expression may use, each with its type. A name outside it is an error when compiling.
type Env map[string]Type

var (
	nameRule = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	keywords = []string{"and", "contains", "else", "endsWith", "false", "if", "in", "let", "matches", "nil", "not", "or", "startsWith", "true"}
)

// CheckName says why a name cannot stand in an Env: it is no identifier, a word of the language, or a function.
// Use it for names that users choose, such as the alias of an item.
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
