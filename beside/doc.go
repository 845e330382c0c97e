// Command beside puts the same cases to Weft and to other graph runtimes for agents in Go, and
// writes what each of them did to docs/beside.md.
//
//	go run -C beside . [-times N] [-write]
//
// A [Case] is a small graph, what happens to it, and the outcome that is wanted. A [Runtime] has a
// [Program] for each case that its API can say, and a reason for each other one. The nodes of all
// programs report to a counter beside the runtime, so an outcome does not depend on how a runtime
// keeps its state. No outcome is written by hand.
//
// Each program runs in a process of its own, because a runtime may end the process or never return.
// A run has ten seconds. A program runs several times, and the page lists all outcomes that were
// seen. What differs from run to run in an error, such as an id, is left out.
//
// The test of this module renders the page anew from the outcomes on it, which must give the same
// page. It then runs each program twice. Weft's outcomes must be the wanted ones. Those of another
// runtime must be on the page, or be other than the wanted one where the page has such outcomes
// too: what a runtime does wrong may vary more than 20 runs show. A disagreement counts if it is
// seen three times in turn, because some cases depend on how fast nodes are.
//
// The versions of the runtimes are those of go.mod. A new version needs its day in the [Runtime],
// and a new page.
package main
