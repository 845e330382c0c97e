// Package golden writes and checks golden stores: an earlier release has written them, and every
// later release must read them. Only tests import the package.
//
// [Write] runs the graph of this package until its threads have every kind of pause: an open
// question, a failed task, Sends in flight, a branch, a child graph. It writes each thread twice,
// plain and encrypted. [Stored.Check] opens such a store. It compares states, histories and
// questions with those recorded in testdata. Then it exports, copies, prunes and diffs the threads,
// answers the open questions, and compares how the runs end.
//
// A golden store is named after the commit whose code wrote it. It never changes, and
// neither does the graph of this package, because threads of old stores continue with it. New kinds
// of stored data get a new thread in [threads] and another golden store, written by
//
//	WEFT_GOLDEN=COMMIT go test -run TestGolden \
//		./internal/golden ./checkpoint/{sqlite,redis,postgres}
//
// A test never opens a golden file itself, only a copy of it.
package golden
