// Package threadtest judges package thread on a document store: each row of what ART's state
// manager promises (SM-1 to SM-48) and of how an agent's state is kept (AP-1 to AP-24) is a
// sub-test here. docs/decisions say where this package differs from ART, and why.
//
//	func TestThreads(t *testing.T) {
//		threadtest.Run(t, func(t testing.TB) document.Store { return openMine(t) })
//	}
package threadtest
