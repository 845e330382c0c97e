package state

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnknownField is returned when an input names a field that the state does
// not have.
var ErrUnknownField = errors.New("state: unknown field")

// SchemaError is returned when a state type is invalid. It holds all mistakes in the type.
type SchemaError struct {
	Type     string
	Mistakes []Mistake
}

// Mistake is one mistake in a state type.
type Mistake struct {
	Path string // the Go path of the field, such as State.Task.Current; its wire name where there is no struct
	What string
}

func (e *SchemaError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "state: %s cannot be a state:", e.Type)
	for _, m := range e.Mistakes {
		fmt.Fprintf(&b, "\n\t%s: %s", m.Path, m.What)
	}
	return b.String()
}
