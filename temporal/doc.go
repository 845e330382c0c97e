// Package temporal runs graphs on Temporal, for fleets of machines.
//
// The graph, its store, its history and its questions stay what they are; only who runs the
// steps changes. A worker is a process with the graphs:
//
//	w, err := temporal.NewWorker(client, temporal.WorkerConfig{
//		Graphs: []graph.Untyped{review.Untyped()}, Store: store, Queue: "weft",
//	})
//	err = w.Run(ctx)
//
// A client is a [graph.Untyped]: what drives a graph in its own process drives it here unchanged.
//
//	runs, err := temporal.NewClient(client, review.Untyped(), temporal.ClientConfig{
//		Store: store, Queue: "weft",
//	})
//	res, err := runs.Invoke(ctx, input, graph.RunOptions{Thread: "t1"})
//	if res.Status == graph.Interrupted {
//		answer := graph.Answer(res.Interrupts[0].ID, true)
//		res, err = runs.Resume(ctx, answer, graph.RunOptions{Thread: "t1"})
//	}
//
// Clients and workers open the same store, such as Redis or PostgreSQL.
//
// # Ids travel, state does not
//
// A turn of a thread is a workflow, weft.Turn, with the id GRAPH/THREAD. Its history has ids of
// runs, commits and tasks. Inputs, answers, states and results go through the store: a client
// stores an input or an answer before it asks for the run. So a state of any size makes the same
// history, and the store remains the one source of truth.
//
// # Two modes
//
// In [Segments], the default, an activity is an ordinary run from the last commit to the next
// question, limit or end. It reports that it lives by heartbeats. If its worker dies, another goes
// on from the last commit. In [Nodes], each task of a step is an activity and each step a commit.
// A node whose [graph.Policy] names a TaskQueue has its tasks there, in both modes: a run of
// segments stops before such a step, drives it task by task, and goes on. So it does where a
// subgraph's Policy is Child: each of its tasks is a workflow of its own, [ChildWorkflow].
//
// # What holds
//
//   - A worker that was given up, and wakes up later, writes nothing that counts: the next one has
//     taken over the lease of the thread, or the step is committed.
//   - A graph's own retries are made by the worker that runs the task. Temporal tries again what
//     failed around it: a lost worker, a store that is not available.
//   - Programs are known by the hash of their nodes, edges and fields ([graph.Untyped.Program]). A
//     worker leaves the run of another program to others for [WorkerConfig.TakeOver]. After that
//     it goes on with it, if the graph has what is due; otherwise the activity waits for a
//     deployment, with the error "graph not deployed here".
//   - A run that asks waits in its workflow for [ClientConfig.Wait]. After that the workflow ends,
//     and an answer starts another.
//
// # What it does not do
//
// Edits do not travel: Patch and Edit of a client commit to the thread from the process of the
// caller, and Resume goes on with it in the fleet. UpdateAndResume makes a commit of its edit, and
// another of what follows. Config.MaxSteps and Config.Timeout bound each segment. A [graph.Drain]
// that was given in RunOptions is looked at while the caller waits.
package temporal
