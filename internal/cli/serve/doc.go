// Package serve is the process of the commands serve, dev and worker: it listens, works and drains.
//
// # How a process ends
//
// The first signal drains. The process claims no more runs, and answers 503 to GET /ok and to
// requests that would wait here. Its runs stop at the end of their superstep, and another process
// goes on with them; a run whose superstep takes longer than the time of the drain is cancelled,
// and goes on elsewhere too. Then the open streams end, and the process with exit code 0. The next
// signal cancels the runs at once.
package serve
