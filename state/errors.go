package state

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnknownField is returned when an input names a field that the state does
// not have.
var ErrUnknownField = errors.New("state: unknown field")

// TypeError is returned when a value does not fit its declared [Type].
type TypeError struct {
	Path string // the place inside the value, such as items[3].url; "" is all of it
	What string
	text bool // it is text that is not UTF-8
}

func (e *TypeError) Error() string {
	if e.Path == "" {
		return e.What
	}
	return e.Path + ": " + e.What
}

// under moves the error one step down: below step, which is a name or an [index].
func (e *TypeError) under(step string) *TypeError {
	if e.Path != "" && e.Path[0] != '[' {
		step += "."
	}
	e.Path = step + e.Path
	return e
}

// SchemaError is returned when a state type cannot be used. It holds every
// mistake in the type.
type SchemaError struct {
	Type     string
	Mistakes []Mistake
}

// Mistake is one thing that is wrong with a state type.
type Mistake struct {
	Path string // the Go path of the field, such as State.Task.Current; its name in a Record
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
