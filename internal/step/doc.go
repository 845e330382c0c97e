// Package step computes which nodes are due in a superstep, in which order their results count,
// and what is due next.
//
// It is pure: it has no clock, no goroutine and no I/O, and runs no user code. The same program
// and the same outcomes always give the same frontier, so tables can test every rule of routing.
//
// A [Program] is the shape of a graph with its nodes sorted by name. A [Frontier] is what is due.
// It starts with [Program.Begin] and moves with [Program.Advance], which takes the outcomes of
// one superstep in canonical order: edge-triggered nodes by name, then Sends as they were sent.
//
// What is due and what waits can be stored: [Frontier.Task] gives the tasks and
// [Program.Waiting] the rest, by names, from which [Program.Restore] makes the frontier again,
// also for another version of the program.
//
// The rules:
//
//  1. A node that several outcomes lead to is due once.
//  2. A join fires once when all its sources have arrived, and starts anew then.
//  3. A deferred node waits until nothing else is due, Sends included.
//  4. Sends are due in the order of their emitters, then in the order sent.
package step
