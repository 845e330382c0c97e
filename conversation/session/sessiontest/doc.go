// Package sessiontest judges a document.Store by what sessions need of it.
//
//	func TestSessions(t *testing.T) {
//		sessiontest.Run(t, func(t testing.TB) document.Store { return documentsOf(t, open(t)) })
//	}
//
// The rules are named after the rows of the founding documents that they test.
package sessiontest
