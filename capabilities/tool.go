package capabilities

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/state/agent"
)

// Tool makes a capability of a function from arguments to a context: the parameters of the
// step are its arguments, by their JSON names, and what it returns is stored. A parameter that
// A does not have is an error. Where info provides nothing it provides T, and where it has no schema of the
// parameters it gets that of A.
func Tool[A any, T agent.Context](info Info, call func(ctx context.Context, args A) (T, error)) Capability {
	if len(info.Provides) == 0 {
		info.Provides = []string{agent.TypeOf[T]().Name()}
	}
	if info.Parameters == nil {
		info.Parameters, _ = schemaOf[A]() // without one it goes by the parameters that there are
	}
	if call == nil {
		return function{info: info}
	}
	return Func(info, func(ctx context.Context, c *Call) error {
		args, err := arguments[A](c.Step.Parameters)
		if err != nil {
			return agent.Failed(agent.Replanning, fmt.Errorf("%w: %w", ErrArguments, err))
		}
		out, err := call(ctx, args)
		if err != nil {
			return err
		}
		return c.Store(out)
	})
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
