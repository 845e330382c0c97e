// Command conformance serves the graphs that test suites of other projects expect, so that these
// suites can judge package server:
//
//	conformance --suite hooks --listen 127.0.0.1:8123
//
// The suites are auth, hooks, js and py. Names and texts of the graphs are those that the suites
// compare. The store is in memory unless --store names one.
// It is only for tests: it lets clients on the same machine remove everything.
package main
