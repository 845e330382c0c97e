// Package pes is an agent as a graph that plans, executes and synthesises: a message becomes a list of items, or
// refines the list of the messages before it; the items are done, side by side where none waits for another;
// and what came of them becomes the answer.
//
//	b, err := pes.New(pes.Config{Execute: func(ctx context.Context, r pes.ExecuteRequest) (string, error) {
//		return search(ctx, r.Item.Task)
//	}})
//	g, err := b.Compile(graph.Config{Store: store})
//	res, err := g.Invoke(ctx, pes.Ask("compare the two offers"), graph.RunOptions{Thread: "t1"})
//	fmt.Println(res.State.Answer.Get())
//
// [WithModel] fills in the functions with a model, and [Agent] makes one Execute of a whole react agent, with tools,
// whose questions to people are questions of this graph. A graph of your own takes the nodes with [Add], over a
// state that embeds [State].
//
// # The nouns
//
//   - A [Plan] is a list of [Item], which wait for what they depend on. [Plan.Check] says all that is wrong with one,
//     [Diff] how two differ.
//   - A [Todo] is an item with its [Status] and its [Result]: [State.Todo] is the list as it stands.
//   - A [Config] holds the functions that think: Plan, Execute, Synthesize. Plan and Synthesize have a rule that stands
//     in for each, so an agent needs no model.
//   - A [Policy] says what one failed item does to the others.
//   - A [Decision] is a person's answer to a plan, where Config.Review shows it.
//
// # What it promises
//
//  1. The plan belongs to the thread. A later message refines it: completed items stay as they are, with their results;
//     all others are as the new plan has them, and not begun. An item of the new plan with the id and the words of a
//     completed one, or with no words, is that one; with other words it is new and gets an id of its own ("a" becomes
//     "a-2"), by which the other items of the new plan depend on it. So none is dropped in silence.
//  2. No plan is carried out that has a cycle, an unknown dependency or an id twice, or requires a tool that Config.Tools
//     has not. The planner is told all that is
//     wrong, Config.MaxPlans times in a turn; then the run fails with a [*PlanError], the old plan stays, and the next
//     message begins anew. After a failed item the turn ends with the answer instead.
//  3. Items whose dependencies are completed run side by side. Each is stored when it has ended, and is not done again
//     after a crash. One that was under way runs again: at once when the run is resumed, and when its turn was given up
//     it is open for the next plan. Nothing is in progress for ever.
//     A plan that cannot go on, because somebody has changed the state by hand, fails the run with a [*PlanError] that says
//     what each item waits for.
//  4. An item that fails for good, a panic too, is a failed item and no failed run; what happens then the Policy says.
//     No item waits for one that cannot be completed: it is cancelled, and says why.
//  5. The user's message and the answer are both in the conversation.
//  6. A failure of Plan or of Synthesize fails the run. Resume goes on there, and does no item again.
//  7. No unclear answer approves a plan; a rejected one is not shown again.
package pes
