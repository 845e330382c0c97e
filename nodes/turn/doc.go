// Package turn turns a user's message into an answer. Its nodes extract a task, choose
// capabilities, plan, run the steps of the plan, ask for approval, and answer.
//
//	info := capabilities.Info{Name: "find", Description: "finds rain", Provides: []string{"RAIN"}}
//	find := capabilities.Func(info, …)
//	reg, err := capabilities.NewRegistry(find)
//	types, err := agent.NewTypes(agent.TypeOf[Rain]())
//	manager := agent.StateManager{Types: types}
//
//	config := turn.Config{Manager: manager, Capabilities: reg}
//	g, err := turn.Graph("weather", config, graph.Config{Store: store})
//	weather := turn.NewAgent(g, manager)
//	reply, err := weather.Say(ctx, "thread-1", "which rain do we have?")
//	fmt.Println(reply.Text)
//
// # Terms
//
//   - A [Config] holds the functions that think: Extract, Match, Plan, Answer, Clarify, Explain.
//     Each has a rule as its default, so a turn needs no model; [WithModel] uses one.
//   - A [Turn] holds the nodes. Each is a method on a view of an [agent.State]: [Turn.Router],
//     [Turn.Extraction], [Turn.Classifier], [Turn.Orchestrator], [Turn.Step], [Turn.Approval],
//     [Turn.Respond], [Turn.Clarify], [Turn.Error]. [Add] adds them to a graph, over any state that
//     has an [agent.State] in it. [Graph] compiles them, and [Node] helps to connect them by hand.
//   - A [Work] takes the place of extraction, capabilities and plans: those of packages react and
//     pes call tools in a loop and execute a list of items.
//   - [Services] are what an application stores about its threads: the configuration of a thread,
//     its conversation, its session, and the state of the application. A turn uses them when it
//     begins and when it ends.
//   - A [Source] returns text that may matter for a task. All sources are called at once.
//   - A [graph.Decision] is a person's answer to a request for approval: approve, edit, or reject
//     with a reason.
//   - An [Agent] reads a message as slash [Commands], as the answer to open questions, or as a new
//     turn. [Agent.Read] returns a [Request] and changes nothing; [Agent.Apply] runs it.
//     [Agent.Continue] continues a turn that was cut off. [Agent.Untyped] returns the same without
//     the type of the state, for a terminal or a server.
//
// # How a turn proceeds
//
// Each node leads to the router, except the three that end a turn. In the router [agent.Route]
// decides from the state alone. Steps of a plan that wait for no other step run in parallel. Their
// results are applied in the order of the plan.
//
// # Guarantees
//
//  1. A turn ends with one message of the assistant: an answer, questions, or a report of what
//     failed. A panic of a capability or of a function of the configuration is a critical failure.
//     The report names it, and the failure of the node names its line.
//  2. A node that fails changes nothing but the record of its failure, which is counted for the
//     node or the step.
//  3. Every limit of the settings applies: attempts, retries of steps, plans, reclassifications,
//     and the time of the turn. Time spent waiting for people does not count.
//  4. A decision applies to one request of one step, as it was asked or edited, until the step has
//     ended.
//  5. An unclear answer is never an approval.
//  6. A run that was cut off at any point continues to the same end.
//
// # Limits
//
// The package stores nothing itself: state is in the graph's store, and approvals are interrupts of
// the graph. It knows no provider of models.
package turn
