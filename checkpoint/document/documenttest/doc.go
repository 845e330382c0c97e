// Package documenttest judges a document.Store. Every rule of the port is a sub-test here, and
// a store that passes them all gives the same answers as any other.
//
// A backend's whole test is one call, with a function that opens an empty store:
//
//	func TestDocuments(t *testing.T) {
//		documenttest.Run(t, func(t testing.TB) document.Store { return openMine(t) })
//	}
//
// A failure names the broken rule, what the store did and what it should have done.
// Run under the race detector too. [Benchmark] reads the last 20 of 100 and of 10,000.
//
// What a test cannot ask through the port is not judged: what survives a crash, how many round
// trips a call takes. The suite tests itself: stores that are broken on purpose must be
// caught, each by the sub-test whose rule it breaks.
package documenttest
