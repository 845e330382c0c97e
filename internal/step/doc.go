// Package step is the arithmetic of a superstep: which nodes are due, in which
// order their results count, and what is due next.
//
// It is pure. It has no clock, no goroutine, no I/O and runs no user code, so the
// same program and the same outcomes always give the same frontier, and every
// rule of routing can be tested by a table.
//
// A [Program] is the shape of a graph with its nodes sorted by name. A [Frontier]
// is what is due: it starts with [Program.Begin] and moves with
// [Program.Advance], which takes the outcomes of one superstep in canonical
// order, edge-triggered nodes by name and then Sends in the order they were sent.
//
// What is due and what waits can be stored: [Frontier.Task] gives the tasks and [Program.Waiting] the
// rest, by names, from which [Program.Restore] makes the frontier again, also for another version of
// the program.
//
// Its duties:
//
//  1. A node that several outcomes lead to is due once.
//  2. A join fires once when all its sources have arrived, and starts anew then.
//  3. A deferred node waits until nothing else is due, Sends included.
//  4. Sends are due in the order of their emitters, then in the order sent.
package step
