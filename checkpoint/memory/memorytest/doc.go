// Package memorytest judges a memory.Store. Every rule of the port is a sub-test here, and
// a store that passes them all gives the same answers as any other.
//
// A backend's whole test is one call, with a function that opens an empty store:
//
//	func TestMemory(t *testing.T) {
//		memorytest.Run(t, func(t testing.TB) memory.Store { return openMine(t) })
//	}
//
// [RunIndex] judges a memory.Index with the vectors of a database.
//
// The rules about time need a store that is a [Clock]: embed the store in a type of the
// test that is. For a store that is none they are noted with t.Log; [RunFull] demands them.
//
// A failure names the broken rule, what the store did and what it should have done.
// Run under the race detector too. With [Long] in the environment the rules about paging
// take ten times as many items.
//
// What a test cannot ask through the port is not judged: what survives a crash, how two
// processes get along. The suite tests itself: stores that are broken on purpose must be
// caught, each by the sub-test whose rule it breaks.
package memorytest
