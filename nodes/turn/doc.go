// Package turn is what happens between a message and its answer: the nodes of an agent that extracts a task,
// chooses capabilities, plans, runs the plan's steps, asks for approval, and answers.
//
//	find := capabilities.Func(capabilities.Info{Name: "find", Description: "finds rain", Provides: []string{"RAIN"}}, …)
//	reg, err := capabilities.NewRegistry(find)
//	types, err := agent.NewTypes(agent.TypeOf[Rain]())
//	manager := agent.Manager{Types: types}
//
//	g, err := turn.Graph("desk", turn.Config{Manager: manager, Capabilities: reg}, graph.Config{Store: store})
//	desk := turn.Desk(g, manager)
//	reply, err := desk.Say(ctx, "thread-1", "which rain do we have?")
//	fmt.Println(reply.Text)
//
// # The nouns
//
//   - A [Config] holds the functions that think: Extract, Match, Plan, Answer, Clarify, Explain. Each has a rule
//     that stands in for it, so a turn needs no model; [WithModel] fills them in with one.
//   - A [Turn] holds the nodes, each a method on a view of an [agent.State]: [Turn.Router], [Turn.Extraction],
//     [Turn.Classifier], [Turn.Orchestrator], [Turn.Step], [Turn.Approval], [Turn.Respond], [Turn.Clarify],
//     [Turn.Error]. [Add] wires them, over a state of the user's own too; [Graph] compiles them; [On] helps to wire by
//     hand.
//   - A [Source] gives what may matter for a task; all are asked at once.
//   - A [Decision] is a person's answer to a request: approve, edit, or reject with feedback.
//   - A [Gateway] stands before the graph: it reads a message as slash [Commands], as the answer to open questions,
//     or as a new turn, says what it will do as an [Act], and does it; [Gateway.GoOn] goes on with a turn that was
//     cut off. [Gateway.Untyped] is the same without the type of the state, for a terminal or a server.
//
// # How a turn goes
//
// Each node but the three that end a turn leads to the router, and [agent.Route] decides there, from the state
// alone. Steps of a plan that wait for nothing are sent off together; their results are folded in the order of the
// plan, whichever ends first.
//
// # Laws
//
//  1. A turn ends with one message of the assistant: an answer, questions, or what went wrong. A panic of a capability or of
//     a function of the configuration is something that went wrong, and critical: the report names it, the failure
//     of the node its line.
//  2. A node that fails leaves nothing but its failure, which is counted by its node, or by its step.
//  3. Every limit of the settings holds: attempts, steps' retries, plans, reclassifications, the time of the turn.
//     Time in which people think does not count.
//  4. A decision counts for one request of one step, as it was asked or edited, until the step has ended.
//  5. No unclear answer is ever an approval.
//  6. A run that was cut off anywhere goes on to the same end.
//
// # What it does not do
//
// It keeps nothing itself: state is in the graph's store, and approvals are interrupts of the graph. It knows no provider of
// models.
package turn
