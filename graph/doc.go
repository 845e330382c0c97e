// Package graph declares, compiles and runs graphs of nodes over a typed state.
//
// A node is a plain function of a struct of channels (package state). A graph runs in
// supersteps: all nodes that are due run at once, each on a private view of the state
// as it was when the step began; then their writes are folded into the state in one
// canonical order, the state is committed to a checkpoint, and the next step begins.
// A node may pause the run to ask a person ([Ask]); the run goes on where it
// stopped, in this process or another, after an answer or after a crash.
//
//	type State struct {
//		Question state.Value[string] `json:"question"`
//		Facts    state.List[string]  `json:"facts"`
//		Rounds   state.Sum[int]      `json:"rounds"`
//		Approved state.Value[bool]   `json:"approved"`
//	}
//
//	func search(ctx context.Context, s *State) error {
//		s.Facts.Append("a fact about " + s.Question.Get())
//		s.Rounds.Add(1)
//		return nil
//	}
//
//	func review(ctx context.Context, s *State) (graph.Command, error) {
//		if s.Rounds.Get() < 2 {
//			return graph.Goto("search"), nil
//		}
//		ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Ship it?"})
//		if err != nil {
//			return graph.Command{}, err
//		}
//		s.Approved.Set(ok)
//		return graph.Goto(graph.End), nil
//	}
//
//	b := graph.New[State]("review")
//	b.Node("search", graph.Func(search).With(graph.Policy{Timeout: 30 * time.Second}))
//	b.Node("review", graph.Router(review, "search", graph.End))
//	b.Edge(graph.Start, "search")
//	b.Edge("search", "review")
//	g, err := b.Compile(graph.Config{Store: store})
//
//	res, err := g.Invoke(ctx, State{Question: state.Of("why?")}, graph.RunOptions{Thread: "t1"})
//	if res.Status == graph.Interrupted {
//		answer := graph.Answer(res.Interrupts[0].ID, true)
//		res, err = g.Resume(ctx, answer, graph.RunOptions{Thread: "t1"})
//	}
//
// # Nouns
//
//   - A [Builder] collects nodes, edges, branches and joins; [Builder.Compile] reports
//     every mistake at once, each with the place of the call, or returns a [Graph].
//   - A [Node] is made by [Func], [Router], [Worker] or [RoutingWorker]; a [Policy] is how long
//     it may take and how often it is tried. [Fallback] and [Cache] make a node of others.
//   - A [Command] names where to go: [Goto] names nodes, [Send] starts a task of a
//     Worker with a payload of its own; [Command.InParent] and [ToParent] go to the graph
//     around this one.
//   - A step inside a node is stored: [Once] stores a side effect by its key, [Call] and [Go]
//     keep the results of functions by their order. [ExecutionID] names what runs.
//   - A child is a graph inside another: [Subgraph] with a state of its own, [Inline] on the
//     parent's, [Graph.Call] and [Graph.Go] from a node's code. Its [Lifetime] is how long
//     its state lives.
//   - An [ErrorHandler], set with [Builder.OnError], runs after the last attempt of a node failed.
//   - [Limits] are bounds that nodes share by name, whatever their graphs and runs.
//   - A thread is a named chain of checkpoints; a turn is what one input starts in it.
//   - An [Untyped] is a Graph without the type of its state: JSON goes in and comes out.
//   - A [Handle] is a run under way, which [Graph.Start] returns: any number of a [Reader]
//     join and leave it, it is drained ([Drain]) or cancelled, and many may wait for it.
//   - An [Event] reports what happens in a run; a [Mode] selects the events of a reader;
//     nodes add their own with [Emit], and the output of a model with [EmitMessage].
//   - An [Interrupt] is an open question with an id of its own; [Answer] closes it, and
//     [Decline]; it may expire.
//   - The history of a thread is a tree: [RunOptions] goes on from any commit with At.
//     [Graph.Patch] and [Graph.Edit] change a thread by hand, [Graph.UpdateAndResume] does so
//     and goes on; [StoredThread.Diff] names who wrote what between two commits,
//     [StoredThread.Replay] runs them with new code.
//   - [Durability] is when steps are committed, [OnOpenQuestions] what becomes of an input while
//     questions are open; a run owns its thread by a lease (RunOptions.Lease).
//   - A [Drawing] is a graph, or what a run did in it, as Mermaid, DOT, text or data.
//
// # Where to look
//
//   - Begin or go on after a crash: [Graph.Resume] with the zero [Answers], and [Graph.Invoke] if
//     it returns ErrUnknownThread. Invoke alone begins a turn each time.
//   - Do something once: [Once], with [ExecutionID] for the other side. What time it is: [Now].
//   - Fan out: [Send] from a [Router] to a [Worker]; an edge from the Worker leads on once, when
//     all that were sent together have ended.
//   - Ask: [Ask], then [Result].Interrupts, [Inspect] or [Threads] to find the question, and
//     Resume with [Reply], [Answer] or [Decline].
//   - Watch: [Graph.Stream] for one reader, [Graph.Start] and [Handle.Join] for more; from other
//     processes [Inspect].
//   - Why a run went there: [Command.WithReason], which [History] and [StoredThread.Diff] return as
//     CommitInfo.Ran[…].Ways[…].Why.
//   - Trace: Config.Observer, which module otel has; [Observe] for parts of a node.
//   - Go back: find the commit in [History], then Resume, Patch or UpdateAndResume with
//     RunOptions.At.
//   - Test a node: call the function, with [Rehearse] for its answers; [Once], [Call] and
//     [Emit] work outside a run. Compare Commands by their String.
//
// # Reading order
//
// The nouns above are the terms. The files come with callers before what they call, so each is
// to use files after it. A test of internal/readorder holds this: each file is listed once, and
// under 15 % of the references between files run upwards. Four internal packages do what needs no
// graph: step decides what is due, schedule runs attempts under bounds, journal keeps a thread in
// its store, stream serves the readers. The repository's docs/architecture.md follows a step
// through all of them, and names the function that enforces each law.
//
//  1. What a caller does with a graph: run it, drive it from outside, change a thread, replay
//     it, read it, draw it: doc.go driver.go untyped.go handle.go edit.go edittasks.go replay.go
//     schemas.go draw.go drawrun.go diff.go storedthread.go graph.go decisionread.go
//     verifythread.go editsubgraph.go check.go drawtext.go.
//  2. What a graph is made of, and how it is compiled: compileedges.go subgraph.go compile.go
//     paths.go shared.go fallback.go handler.go builder.go once.go call.go cache.go.
//  3. The coordinator: a call is one session of runs; a run serves its request,
//     plans a step, executes it and commits it: drive.go open.go driventask.go execute.go child.go
//     driven.go turn.go restore.go drivenpending.go session.go.
//  4. What the coordinator needs: events, attempts, results, branches, subgraphs, pauses, edits
//     that go back, storage: approve.go sleep.go rerun.go ask.go queue.go reader.go eventjson.go
//     event.go message.go attempt.go routing.go parent.go result.go memo.go commit.go subgraphs.go
//     fold.go pause.go decider.go rewind.go rewound.go lineage.go lease.go durability.go scope.go
//     observe.go.
//  5. The state of a run, a step and a task, and what is stored of it: superstep.go task.go
//     pin.go frontier.go run.go life.go running.go questions.go threadreader.go inspect.go
//     pending.go observation.go.
//  6. The terms that all of the others use: request.go node.go command.go plan.go now.go
//     config.go observer.go limit.go status.go answer.go program.go policy.go decisionrecord.go
//     decision.go caller.go signature.go mode.go drain.go failure.go timeout.go errors.go
//     memorycache.go storednames.go place.go timer.go.
//
// # Laws
//
//  1. One coordinator owns the state; a task runs on a private view, and a failed
//     task leaves no trace.
//  2. Results are folded in one order, edge-triggered nodes by name and then Sends
//     as they were sent, whatever finished first.
//  3. A branch sees the state with its own node's writes and never a sibling's.
//  4. One due task runs inline; many run on a bounded pool.
//  5. A join fires once when all its sources have arrived; it does not outlive its turn.
//  6. A step is committed before the next one starts, unless [Durability] is another.
//  7. What finished beside a failure or a question is stored and not run again.
//  8. Every question has its own id; only tasks whose questions were answered run again.
//  9. Limits are errors that carry the state so far.
//  10. Unknown names are errors, at compile where they can be seen there.
//  11. A panic is an error; cancelling the context stops the run and leaves the
//     thread resumable. A node that ignores its context is waited for, unless a timeout, an idle
//     time or a Grace bounds it.
//  12. A node fails when its last attempt has; then its handler runs in its place, in the
//     same step, and after a crash again the handler and not the node.
//
// # What it does not do
//
// A node's side effects are its own: between a side effect and the commit of its step a
// crash makes the node run again. [Once] narrows that to the moment between the effect and
// its entry in the store, and no more: so give the outside world an idempotency key
// ([ExecutionID], [TaskID]). Writes made after a node has returned or timed out never land. A node
// must not keep its state or its context after it returns.
package graph
