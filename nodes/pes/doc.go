// Package pes builds an agent as a graph that plans, executes and synthesizes. A message becomes a
// list of items, or refines the list of earlier messages. The items are executed, in parallel if
// they do not wait for each other. Their results become the answer.
//
//	execute := func(ctx context.Context, r pes.ExecuteRequest) (string, error) {
//		return search(ctx, r.Item.Task)
//	}
//	b, err := pes.New(pes.Config{Execute: execute})
//	g, err := b.Compile(graph.Config{Store: store})
//	res, err := g.Invoke(ctx, pes.Input("compare the two offers"), graph.RunOptions{Thread: "t1"})
//	fmt.Println(res.State.Answer.Get())
//
// [WithModel] sets the functions to functions that use a model. [AgentExecute] returns an Execute
// that runs a react agent with tools, whose questions to people are questions of this graph. [Add]
// adds the nodes to another graph, over a state that embeds [State]. [Work] makes the list the work
// of a turn of package turn, which has commands, answers in words, conversations and sessions.
//
// # Terms
//
//   - A [Plan] is a list of [Item]. An item waits for the items it depends on. [Plan.Check] returns
//     all problems of a plan, and [Diff] the differences between two plans.
//   - A [Todo] is an item with its [Status] and its [Result]. [State.Todo] returns the current
//     list.
//   - A [Config] holds the functions that think: Plan, Execute, Synthesize. Plan and Synthesize
//     have rules as defaults, so an agent needs no model.
//   - A [Policy] is what happens to the other items when one fails.
//   - A [graph.Decision] is a person's answer to a plan, if Config.Review is set.
//
// # Guarantees
//
//  1. The plan belongs to the thread, and a later message refines it. Completed items stay
//     unchanged, with their results. All others are replaced by those of the new plan, and are
//     pending. An item of the new plan with the ID of a completed one, and the same task or no
//     task, is that item. An item with another task is new and gets another ID ("a" becomes "a-2"),
//     and the other new items depend on it by that ID.
//  2. A plan with a cycle, an unknown dependency, a repeated ID, or a tool that Config.Tools does
//     not have is not executed. The planner gets all problems, up to Config.MaxPlans times in a
//     turn. Then the run fails with a [*PlanError], the old plan stays, and the next message starts
//     again. After a failed item the turn ends with the answer instead.
//  3. Items whose dependencies are completed run in parallel. A result is stored when its item
//     ends, and the item does not run again after a crash. An item that was running runs again when
//     the run is resumed. If its turn was discarded, it is pending for the next plan.
//  4. A plan whose items wait for an item that cannot complete, because the state was edited by
//     hand, fails the run with a [*PlanError]. The error names what each item waits for.
//  5. An item that fails permanently, also by a panic, is a failed item and does not fail the run.
//     The Policy decides what follows. An item that depends on one that cannot be completed is
//     cancelled, with the reason.
//  6. The user's message and the answer are both in the conversation.
//  7. A failure of Plan or of Synthesize fails the run. Resume continues there, and runs no item
//     again.
//  8. An unclear answer never approves a plan. A rejected plan is not shown again.
package pes
