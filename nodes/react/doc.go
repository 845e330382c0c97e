// Package react is an agent as a graph: a model that asks for tools, the tools, and the model again, until it
// answers (ReAct).
//
//	b, err := react.New(react.Config{Model: m, Tools: set, System: "You help with orders.", MaxTurns: 8})
//	g, err := b.Compile(graph.Config{Store: store})
//	res, err := g.Invoke(ctx, react.Ask("where is my parcel?"), graph.RunOptions{Thread: "t1"})
//	fmt.Println(res.State.Answer.Get())
//
// A graph of your own takes the same two nodes with [Add], over a state that embeds [State].
//
//	type Desk struct {
//		react.State
//		Customer state.Value[string] `json:"customer"`
//	}
//
// # What it does
//
//   - The node "model" sends the conversation, as far as it fits into Config.Window, and streams the answer as
//     the Messages of the run, under the id that the message has in the log.
//   - Each call of a tool is a task of the node "tools": they run side by side, each is stored when it has ended,
//     and none is run again after a crash or beside one that waits for a person.
//   - A tool that a person permits is an open question, with a [tool.Decision] as its answer: approve, edit the
//     arguments, reject with feedback. After an edit the call in the conversation is the one that ran, with the
//     model's own arguments in its Edited. A tool that a person answers is one too, with the answer as the result.
//     Many may be open at once; each is answered on its own, in any process. An answer that does not fit is asked for again.
//   - A final answer is text, or JSON that fits Config.Output. A tool that is Direct has the last word itself.
//
// # What it promises
//
//  1. A failure leaves the thread as it was before the model was asked; Resume asks again. Failures are
//     those of package model, a [*TurnsError], a [*model.BudgetError], a *message.TooLargeError.
//  2. Calls that nobody answered, because their turn was given up, are told to the model as not run: the
//     conversation is one that a provider takes.
//  3. Budget and turns are counted in the state, so they hold across processes; each turn of the user
//     begins anew. What a failed call of the model cost is not known to the next process.
//  4. A tool is told the id of its execution (tool.ID), the same in every attempt: between its effect and the moment in which
//     its result is stored a crash makes it run again, and this id is how the other side knows.
//
// A tool does not ask people itself (graph.Ask): its mode does.
package react
