package capabilities

import (
	"context"
	"encoding/json"
)

// Capability is one thing an agent can do. It must be safe for concurrent use.
type Capability interface {
	// Info describes the capability; it returns the same each time.
	Info() Info
	// Run does it. in holds the contexts there are, and is not to be changed; the
	// result holds what is to be stored.
	Run(ctx context.Context, in Contexts) (Contexts, error)
}

// Info is what a planner and a registry need to know of a capability.
type Info struct {
	// Name is unique in a registry.
	Name string
	// Description says, to a person or a model, what it is good for.
	Description string
	// Requires are the types of context without which it cannot run.
	Requires []string
	// Provides are the types of context of which it returns at least one entry each.
	Provides []string
}

// Contexts are pieces of knowledge by type and key, as JSON objects.
type Contexts map[string]map[string]json.RawMessage

// Has reports whether there is an entry of this type.
func (c Contexts) Has(contextType string) bool { return len(c[contextType]) > 0 }

// Func makes a Capability of a function.
func Func(info Info, run func(ctx context.Context, in Contexts) (Contexts, error)) Capability {
	return function{info, run}
}

type function struct {
	info Info
	run  func(context.Context, Contexts) (Contexts, error)
}

func (f function) Info() Info { return f.info }

func (f function) Run(ctx context.Context, in Contexts) (Contexts, error) { return f.run(ctx, in) }
