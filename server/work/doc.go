// Package work runs the runs of a queue: a [Worker] claims them, drives their graphs, appends their
// events to the log of the thread, and ends them. Any number of workers, in any processes, share a
// queue.
//
//	w := work.New(work.Config{Queue: q, Store: store, Bus: bus, Host: host, Slots: 64})
//	w.Work(ctx) // until ctx ends; then it drains
//
// # Terms
//
//   - A [Host] knows what the request of a run means. It makes a [Job] of it, and is notified when
//     the run has ended.
//   - A Job has a graph.Untyped. A graph of this process runs in the worker; one that implements
//     [Engine] runs on an engine elsewhere, and the worker waits for its end.
//   - The event log of a thread has the events of all its runs: see package eventlog. The worker
//     writes those of graphs in this process, and notes where an attempt begins and ends. A [Log]
//     reads it as records of package wire.
//
// # What a worker guarantees
//
//  1. A run whose process died goes on where its last commit was. Before its first commit it begins
//     with its input again, with the same ids of its tasks.
//  2. A run ends in this order: its last commit, its events, [Host.Ended], its document and line,
//     those who wait for it. A process that dies in between begins again at the end of the run, so
//     Ended may be called more than once.
//  3. The run does not wait for the log. If the bus fails, events are lost, and the run is not.
//  4. A worker that has lost the lease of a thread cancels the run and reports nothing of it.
//  5. When its context ends, a worker claims nothing more. Its runs stop at the end of their
//     superstep and are put back, without counting the attempt. Those of an [Engine] go on, and the
//     next process waits for their end.
package work
