// Package capabilities is what an agent can do, named as ports: each capability says
// which types of context it requires and provides, and does not know the graph
// that hosts it.
//
//	var lookup = capabilities.Func(capabilities.Info{
//		Name: "lookup", Description: "finds measurements by name",
//		Provides: []string{"MEASUREMENTS"},
//	}, func(ctx context.Context, in capabilities.Contexts) (capabilities.Contexts, error) {
//		return capabilities.Contexts{"MEASUREMENTS": {"rain": json.RawMessage(`{"column":"precipitation"}`)}}, nil
//	})
//
//	r, err := capabilities.NewRegistry(lookup, plot)
//	out, err := r.Run(ctx, "lookup", contexts)
//
// A [Registry] finds all that is wrong with a set of capabilities at once: a name
// taken twice, a requirement that nobody provides, capabilities that wait for each
// other. [Registry.Run] enforces what was declared: it refuses to start without what
// is required, and refuses a result that does not provide what was promised.
//
// The package stands on the standard library alone and does not import graph: a node
// hosts a capability, never the other way round.
package capabilities
