// Package e2e has a Temporal server in this process, for tests and for people who try the fleet:
// run it with
//
//	go run ./devserver
//
// It keeps its data in memory, or in a file of SQLite. It is not made for production.
package e2e
