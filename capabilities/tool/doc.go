// Package tool runs the tools that a model calls: functions whose arguments are checked, that run
// in parallel with time limits, and whose failures are results for the model.
//
//	weather := tool.Func(tool.Info{Name: "weather", Description: "the weather of a city"},
//		func(ctx context.Context, args struct {
//			City string `json:"city" jsonschema:"its name in English"`
//		}) (Report, error) {
//			return forecast(ctx, args.City, tool.ID(ctx))
//		})
//	set, err := tool.NewSet(weather, refund)
//
//	said, err := model.Generate(ctx, m, model.Request{Messages: asked, Tools: set.Specs(ctx)})
//	results := set.Run(ctx, said.Message.Calls, tool.Limits{})
//
// # Terms
//
//   - A [Tool] has an [Info] and is called with an [Input]; [Func] makes one of a Go function, with
//     the schema of its arguments.
//   - A [Set] holds tools by name. [Set.Specs] describes them to a model, [Set.Do] runs one call,
//     and [Set.Run] many.
//   - A [Mode] is what a person must do: nothing, permit each call, or give the answer. [Set.Needs]
//     returns the question as a [Needed], and [Set.Apply] applies a [graph.Decision] to a call. The
//     caller asks the person.
//
// # Guarantees
//
//  1. A call always has a result: an unknown tool, bad arguments, an error, a panic, a timeout and
//     a result that is too large are results with IsError, and none of them ends the run.
//  2. Results come in the order of the calls. The result of a call that was not run states that.
//  3. A tool that cannot be shown to be enabled is not: see [Set.Enable].
//  4. A call that needs a person does not run without their decision.
//  5. A tool gets the ID of the call, which is the same in every attempt: see [ID].
package tool
