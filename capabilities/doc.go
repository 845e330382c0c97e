// Package capabilities declares what an agent can do. Each capability declares the types of context
// that it requires and provides, and is independent of the graph that runs it.
//
//	var find = capabilities.Tool(capabilities.Info{
//		Name: "find", Description: "finds measurements by name",
//	}, func(ctx context.Context, args struct {
//		Name string `json:"name"`
//	}) (Measurements, error) {
//		return Measurements{Column: "precipitation"}, nil
//	})
//
//	var plot = capabilities.Func(capabilities.Info{
//		Name: "plot", Description: "draws measurements",
//		Requires: []string{"MEASUREMENTS"}, Provides: []string{"PICTURE"},
//	}, func(ctx context.Context, c *capabilities.Call) error {
//		m, err := agent.Input[Measurements](c.Contexts(), c.Step)
//		if err != nil {
//			return err
//		}
//		return c.Store(Picture{Of: m.Column})
//	})
//
//	r, err := capabilities.NewRegistry(find, plot)
//	err = r.Step(ctx, manager, &s.State, nil) // in the node that hosts them
//
// # Terms
//
//   - A [Capability] has an [Info] and runs a [Call]; [Func] and [Tool] return one that calls a
//     function. A [Classifier] also classifies its failures. [TypesOf] returns the types of context
//     that Tools make.
//   - A [Registry] reports all mistakes of a set of capabilities at once: a repeated name, a
//     requirement without a provider, capabilities that wait for each other. [Registry.Extend]
//     returns another registry, with changes: [Add], [Override], [Exclude].
//   - [Registry.Run] enforces what was declared. It refuses to start without the required inputs or
//     the approval that the settings require, and refuses a result that differs from the
//     declaration. [Registry.Step] runs the current step and stores its result.
//   - [Approve] and [Call.Approve] ask a person about a value, which they may edit within its JSON
//     Schema. An [ApprovalNeeded] is the question, a [graph.Decision] the answer to it.
//
// # Guarantees
//
//  1. A capability that fails, waits or breaks its declaration changes nothing in the state.
//  2. A broken capability fails its registry. An optional one is left out with a warning.
//  3. A decision counts for one request, once. A rejected request is not asked again.
//
// The package runs no graph: a node hosts a capability. The package recovers no panics and starts
// no goroutines. Only [SaveContexts] and [LoadContexts] access files.
package capabilities
