// Package tasks stores the tasks that agents give each other. The status of a task changes by a
// checked state machine. Tasks are stored in any document store and run by workers in this process.
//
//	board := tasks.NewBoard(docs) // docs is a document.Store
//	task, err := board.Create(ctx, tasks.Task{ID: "t-1", Target: "poet", Input: in})
//	task, err = board.Run(ctx, "t-1", poet) // poet is a Worker
//	if task.Status == tasks.Waiting {       // the worker asks a question
//		task, err = board.Resume(ctx, "t-1", answer, poet)
//	}
//	task, err = board.Cancel(ctx, "t-1", "no longer needed")
//
// A [Board] stores tasks. A [Task] has a [Status]. A [Worker] runs a task and returns an [Outcome].
//
// # Guarantees
//
//  1. A status changes only as [Status.May] allows, or back as in 6, by compare-and-set. A result
//     that comes after the task was cancelled, timed out or completed changes nothing and returns
//     an [ErrTransition].
//  2. The id identifies a task. Creating it twice returns an ErrExists.
//  3. A waiting task survives the end of all processes. Any process with the answer can resume it.
//  4. A worker that panics, fails or times out leaves a failed task with the reason. If the process
//     of a worker dies, [Board.Expire] fails the task.
//  5. The context of a worker ends when its task is cancelled, deleted or timed out: at once in
//     this process, and within [Board.Watch] in other processes.
//  6. A store that is away for less than 30 seconds, or loses a reply, costs no outcome and runs no
//     worker twice. If it is away for longer before the worker begins, the attempt is undone: the
//     task has its former status and number of attempts again, and Run returns the error.
//
// # What it does not do
//
// A board starts no worker by itself; the caller decides where and when a task runs. A task without
// a Timeout stays in progress if the process of its worker dies, until it is cancelled. So does one
// whose outcome cannot be stored for 30 seconds, and the outcome is lost. So does one whose store
// is away for more than a minute before the worker begins. All tasks of a board are in one
// partition of documents, which is one slot on a Redis cluster.
package tasks
