// Package checkpointtest judges a checkpoint.Store. Every rule of the port is a
// sub-test here, and a store that passes them all may stand under a run.
//
// A backend's whole test is one call, with a function that opens an empty store:
//
//	func TestStore(t *testing.T) {
//		checkpointtest.Run(t, func(t testing.TB) checkpoint.Store {
//			store, err := mystore.Open(t.TempDir())
//			if err != nil {
//				t.Fatal(err)
//			}
//			return store
//		})
//	}
//
// Run opens a store for each sub-test and closes it at its end. RunDurable is for
// stores that outlive their process, Bench measures.
//
// A failure says which rule was broken, what the store did and what it should have
// done. Run under the race detector too: some rules are about slices that a store
// must not keep, and about use by many goroutines.
//
// The suite does not judge what a store cannot be asked through the port: whether a
// commit survives a loss of power, what a damaged file does, how two processes get
// along. A backend tests that beside itself; checkpoint/sqlite is an example.
//
// The suite tests itself: stores that are broken on purpose must be caught, each by
// the sub-test whose rule it breaks.
package checkpointtest
