// Package capabilities is what an agent can do, named as ports: each capability says
// which types of context it requires and provides, and does not know the graph
// that hosts it.
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
//	err = r.Step(ctx, manager, &s.State) // in the node that hosts them
//
// # The nouns
//
//   - A [Capability] has an [Info] and runs a [Call]; [Func] and [Tool] make one of a function. A
//     [Classifier] also says what its failures call for. [TypesOf] finds the types of what Tools make.
//   - A [Registry] finds all that is wrong with a set of capabilities at once: a name
//     taken twice, a requirement that nobody provides, capabilities that wait for each
//     other. [Registry.Extend] makes another of it: [Add], [Override], [Exclude].
//   - [Registry.Run] enforces what was declared: it refuses to start without the inputs that are
//     required or without the approval that the settings ask for, and refuses a result that is not what was
//     promised. [Registry.Step] does it for the current step and notes what became of it.
//   - [Approve] and [Call.Approve] ask a person about a value, which they may edit within its JSON Schema.
//     An [ApprovalNeeded] is a question for a person, a [Decision] the answer to that one.
//
// # Laws
//
//  1. A capability that fails, waits or breaks its promise leaves nothing in the state.
//  2. A broken capability fails its registry, unless it is optional: then there is a warning.
//  3. A decision counts for one request, once. After a no nobody is asked again.
//
// The package stands on state and does not import graph: a node hosts a capability, never the
// other way round. It catches no panics and starts no goroutines; only [SaveContexts] and
// [LoadContexts] touch files.
package capabilities
