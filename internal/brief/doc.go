// Package brief provides contexts with a timeout that are reused, with their timers, and so avoid
// allocations. Use them for frequent calls that almost never reach the timeout. A [Budget] measures
// the time of a call that sends several requests to its server.
package brief
