// Package golden writes and checks golden stores: stores that an earlier release has written
// and that every later one must read. It is for tests alone.
//
// [Write] runs the graph of this package until its threads stand at every kind of pause: at an
// open question, beside a failed task, with Sends in flight, on a branch, in a child graph. It
// writes each thread twice, plain and encrypted. [Stored.Check] opens such a store, compares
// states, histories and questions with what was recorded when it was written (testdata), then
// exports, copies, prunes and diffs its threads, answers the open questions, and compares how
// the runs end.
//
// A golden store is named after the commit whose code wrote it. It never changes, and the graph
// here stays as it is: a thread of an old store goes on with it. New kinds of stored data get a
// new thread in [threads] and a new golden store beside the old ones, written by
//
//	WEFT_GOLDEN=COMMIT go test ./internal/golden ./checkpoint/{sqlite,redis,postgres} -run TestGolden
//
// A test never opens a golden file itself, only a copy of it.
package golden
