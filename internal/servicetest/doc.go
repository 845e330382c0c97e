// Package servicetest tests the services of conversation and its subpackages on a document store.
//
// The services have their own tests over the documents in memory. Run takes each service through
// its main path on another store. RunProcesses checks what no test of documents does: two processes
// that write to one session.
package servicetest
