// Package queue stores the runs of threads and the line in which each thread's runs wait. It is
// arithmetic over documents and the leases of a checkpoint.Store, so all processes on a store share
// one queue.
//
//	q, err := queue.New(queue.Config{Store: store, Documents: docs})
//	_, err = q.Create(ctx, queue.Run{ID: id, Thread: thread, Request: request}, queue.Enqueue)
//	...
//	claims, err := q.Claim(ctx, slots) // in a worker of any process
//	for _, c := range claims {
//		// run it under c.Lease(), and then
//		err = c.Finish(ctx, queue.End{Status: queue.Success})
//	}
//
// # Terms
//
//   - A [Run] is one call of a graph on a thread. The line of a thread is the list of its runs that
//     have not ended, in the order of Create.
//   - A [Rule] is what becomes of a new run on a thread with unfinished runs.
//   - A [Claim] is a run that this process runs. It holds the lease of the thread. Where an engine
//     carries out the runs, it holds a lease of its own: see Config.Engine.
//   - An [Action] is how a run is cancelled.
//
// # Laws
//
//  1. At most one run of a thread is claimed, in all processes. A process that has lost the lease
//     cannot end the run, and writes nothing to the thread.
//  2. The runs of a thread start in the order of Create. A run that is not due yet is passed by
//     those behind it.
//  3. What Create or Cancel has acknowledged survives every process.
//  4. A run ends once.
//  5. Claims take the thread that has waited longest. A thread goes to the back when its run has
//     ended, so many runs of one thread delay another by at most one claim. A run that was put
//     back goes by the time of its Create, and one that a dead process left behind goes first.
//  6. The run of a process that died is claimed again when its lease has run out, as the next
//     attempt. After three attempts in a row that committed nothing at the top level of its
//     graph it fails with [AttemptsExceeded]. A process that begins on the machine of the dead
//     one does not wait for the lease.
//
// # Layout
//
// The runs of a thread and its line are documents of one partition, and each change is one batch
// that compares the version of the line. A second collection has for each thread with unfinished
// runs the time at which a worker has to look at it. An earlier time is written before the line, a
// later one after it and only if nothing has changed it since before, so no run is forgotten.
package queue
