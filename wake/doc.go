// Package wake resumes threads when their time has come. A node may sleep for days, a question may
// expire or remind the people who should answer it, and a failed run may be tried again later. A
// [Schedule] begins runs. No process has to wait for that.
//
//	timers, err := wake.Open(store)
//	g, err := builder.Compile(graph.Config{Store: store, Timers: timers})
//	// in any process that has the graph, for as long as it lives:
//	c := wake.Config{Store: store, Timers: timers}
//	c.Resume, c.Start = wake.Graphs(g.Untyped()), wake.Starts(g.Untyped())
//	err = wake.Run(ctx, c)
//
// [Timers] keeps one entry for each thread that waits for a time, and for each schedule, in the
// documents of the store, ordered by the time. A graph sets it before it stores a pause. Run reads
// the entries that are due and resumes their threads, so timers that are not due cost nothing,
// however many there are. One write moves a schedule that is due to its next time and makes the
// entry of a thread, whose run is then begun.
//
// A copy of a thread has no timer until [Timers.Restore] sets it.
//
// # What it guarantees
//
//  1. A timer that a graph has set survives every process. Where a process dies while it resumes a
//     thread, another that runs the waker takes over when the lease of the thread has run out,
//     after 1.5 seconds. A run that takes long keeps no other thread waiting, up to
//     Config.Concurrency of them.
//  2. Any number of processes may run a waker on a store. The thread's lease lets one of them
//     resume it, and a thread that was resumed already is left alone.
//  3. A question expires and a sleep ends once, since the thread stores it. A notice is sent at
//     least once: a process that dies after Notify and before the entry is stored sends it again.
//     A schedule begins one run for each of its times, since the time names the thread.
//  4. Times are those of the wall clock. If it jumps forward, what has become due is done at once;
//     if it jumps back, nothing is done twice. Reminders that were missed while no waker ran become
//     one, and so do the times of a schedule.
//  5. What fails before a run has begun is tried again later, after 1 second to 5 minutes, and
//     keeps no other thread waiting. Config.RunRetry of a graph is when a run that failed is.
package wake
