// Package react builds an agent as a graph (ReAct). A model asks for tools, the tools run, and the
// model is called again, until it answers.
//
//	b, err := react.New(react.Config{Model: m, Tools: set, System: "You help with orders."})
//	g, err := b.Compile(graph.Config{Store: store})
//	res, err := g.Invoke(ctx, react.Input("where is my parcel?"), graph.RunOptions{Thread: "t1"})
//	fmt.Println(res.State.Answer.Get())
//
// [Add] adds the same two nodes to another graph, over a state that embeds [State].
//
//	type Order struct {
//		react.State
//		Customer state.Value[string] `json:"customer"`
//	}
//
// [AddOf] adds an agent whose system message and tools are functions of that state, such as the
// documents that another node has found for this turn. [Work] makes the loop the work of a turn of
// package turn, which has commands, answers in words, conversations and sessions.
//
// # The nodes
//
//   - The node "model" sends the conversation, as far as it fits into Config.Window. It streams the
//     answer in the mode Messages, with the ID that the message has in the log.
//   - Each call of a tool is a task of the node "tools". The tasks run in parallel. Each result is
//     stored when its task ends, and a stored call does not run again.
//   - A tool may need a person's permission. It is then an open question with a
//     [graph.Decision] as its answer: approve, edit the arguments, or reject with a reason. After
//     an edit, the conversation has the call that ran, with the model's arguments in its field
//     Edited.
//   - A tool may be answered by a person. The answer is the result.
//   - Several questions may be open at once. Each is answered separately, in any process. An
//     invalid answer is asked for again.
//   - A final answer is text, or JSON that matches Config.Output. The result of a tool that is
//     Direct is the final answer.
//
// # Guarantees
//
//  1. A failure leaves the thread as it was before the model was called; Resume calls it again.
//     Failures are those of package model, a [*TurnsError], a [*model.BudgetError], or a
//     *message.TooLargeError.
//  2. Calls without a result, because their turn was discarded, are sent to the model with the
//     result that they were not run. Providers reject calls without results.
//  3. Budget and turns are counted in the state, so they apply across processes. Each turn of the
//     user starts at 0. The cost of a failed call of the model is lost when the process ends.
//  4. A tool gets the ID of its execution (tool.ID), which is the same in every attempt. A crash
//     between the effect of a tool and the storage of its result makes the tool run again, and
//     another system can recognize the ID.
//
// A tool must not ask people itself (graph.Ask); its mode does.
package react
