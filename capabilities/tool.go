package capabilities

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/weftrun/weft/state/agent"
)

// Tool returns a capability that calls a function from arguments to a context. The parameters of
// the step are the arguments, by their JSON names, and the result is stored. A parameter that A
// does not have is an error. If info provides nothing, the capability provides T. If info has no
// schema of the parameters, it gets that of A. [TypesOf] finds T.
func Tool[A any, T agent.Context](info Info, call func(ctx context.Context, args A) (T, error)) Capability {
	if len(info.Provides) == 0 {
		info.Provides = []string{agent.TypeOf[T]().Name()}
	}
	if info.Parameters == nil {
		info.Parameters, _ = schemaOf[A]() // without a schema the types of the parameters apply
	}
	f := maker{function{info: info}, agent.TypeOf[T](), reflect.TypeFor[T]()}
	if call == nil {
		return f
	}
	f.run = func(ctx context.Context, c *Call) error {
		args, err := arguments[A](c.Step.Parameters)
		if err != nil {
			return agent.Failed(agent.Replanning, fmt.Errorf("%w: %w", ErrArguments, err))
		}
		out, err := call(ctx, args)
		if err != nil {
			return err
		}
		return c.Store(out)
	}
	return f
}

// maker is a capability that knows the type that it makes.
type maker struct {
	function
	makes agent.Type
	of    reflect.Type
}

// TypesOf returns the types of context that capabilities made by [Tool] provide, each once. The
// types of others must be registered explicitly: see [agent.NewTypes], whose errors it returns.
func TypesOf(all ...Capability) (*agent.Types, error) {
	var types []agent.Type
	seen := map[reflect.Type]bool{}
	for _, c := range all {
		if m, ok := c.(maker); ok && !seen[m.of] {
			seen[m.of] = true
			types = append(types, m.makes)
		}
	}
	return agent.NewTypes(types...)
}

func arguments[A any](parameters map[string]any) (args A, err error) {
	if parameters == nil {
		parameters = map[string]any{}
	}
	data, err := json.Marshal(parameters)
	if err != nil {
		return args, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return args, dec.Decode(&args)
}
