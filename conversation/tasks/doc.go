// Package tasks keeps what agents ask of each other: tasks with a checked state machine, on
// any document store, done by workers in this process or behind HTTP.
//
//	board := tasks.NewBoard(docs) // docs is a document.Store
//	task, err := board.Create(ctx, tasks.Task{ID: "t-1", Thread: "thread-1", Target: "poet", Type: "poem", Input: in, Timeout: time.Minute})
//	task, err = board.Run(ctx, "t-1", poet) // a Worker; or tasks.Remote{URL: "https://poet.example"}
//	if task.Status == tasks.Waiting {       // the worker asks
//		task, err = board.Resume(ctx, "t-1", answer, poet)
//	}
//	task, err = board.Cancel(ctx, "t-1", "no longer needed")
//
// The nouns are few. A [Board] keeps tasks. A [Task] has a [Status]. A [Worker] does a task and
// returns an [Outcome]; [Remote] asks another program to, and [Handler] is that program's end.
// Over HTTP a task can also be looked at ([Remote.Get]) and cancelled ([Remote.Cancel]).
//
// # Duties
//
//  1. A status changes as [Status.May] says, by compare-and-set, and in no other way: a result
//     that comes after a task was cancelled, timed out or done changes nothing, and an
//     [ErrTransition] says so.
//  2. The id of a task is its name everywhere. To create it twice is an ErrExists, and a remote
//     worker that is asked twice works once.
//  3. A task that waits survives all processes; whoever has the answer resumes it.
//  4. A worker that panics, fails or takes too long leaves a failed task with the reason, and
//     one whose process died leaves one that [Board.Expire] fails.
//  5. Who works on a task that was cancelled, deleted, timed out or replaced by a newer attempt is
//     told by its context: at once in this process and behind HTTP, and elsewhere within
//     [Board.Watch].
//  6. What another program answers is checked like anything else: it cannot put a task where its
//     own worker could not. What it asks of a Handler is checked too, and refused as JSON with a code.
//
// # What it does not do
//
// It starts no worker by itself: who runs a task decides where and when. A task without a Timeout
// whose worker's process died is in progress until somebody cancels it. All tasks of a board are
// one partition of documents, which on a cluster is one slot.
package tasks
