package exprs

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/expr-lang/expr/checker/nature"
	"github.com/expr-lang/expr/types"
)

// Type is what the checker knows about a value. It is opaque: build one from the values and
// functions below.
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

// Prepared returns t for many expressions of one goroutine: what the checker needs of it is made
// once, which is much for a type of hundreds of fields. The result must not be used by two
// goroutines at once.
func Prepared(t Type) Type { return &prepared{Type: t} }

type prepared struct {
	Type
	nature *nature.Nature // nil until it is asked for
}

// Nature implements Type.
func (p *prepared) Nature() nature.Nature {
	if p.nature == nil {
		n := p.Type.Nature()
		p.nature = &n
	}
	return *p.nature
}

// Env holds the names an expression may use, each with its type. A name outside it is an error when
// compiling.
type Env map[string]Type

var (
	nameRule = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	keywords = []string{"and", "contains", "else", "endsWith", "false", "if", "in", "let", "matches", "nil", "not", "or", "startsWith", "true"}
)

// CheckName says why a name cannot stand in an Env: it is no identifier, a word of the language, or
// a function. Use it for names that users choose, such as the alias of an item.
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
