// Package queue stores the runs of a server and decides which of them runs next. Its state is in
// documents and in the leases of threads, so every process that shares the store sees the same.
//
//	q := queue.New(store, docs)
//	created, err := q.Create(ctx, queue.Run{Run: run, ...}, wire.MultitaskEnqueue)
//	claims, err := q.Claim(ctx, 8) // in any process
//	err = q.Finish(ctx, claims[0], wire.RunSuccess, nil)
//
// # Terms
//
//   - A Run is a document: what clients read of it, and what a worker needs.
//   - The line of a thread is a document with the ids of its unfinished runs, in their order. It
//     changes by compare-and-set, and decides what happens to its runs.
//   - A Claim is a run that this process runs, with the lease of its thread.
//   - An Order asks the worker of a run to cancel it, with or without its commits.
//
// # Laws
//
//  1. At most one run of a thread has a claim, in all processes. The lease of the thread decides.
//     Its fence keeps a worker that lost it from writing.
//  2. The runs of a thread are claimed in the order of Create. A run that is not due yet is passed.
//  3. A run that Create has returned is claimed again after the death of its process, until it is
//     finished. Its attempts are counted.
//  4. A run is finished once. An order to cancel it survives the process that gave it.
//  5. Claims take the line that is due for the longest time, so a long line does not delay others.
//
// # What it does not do
//
// It runs nothing and has no goroutines, except those that renew leases.
package queue
