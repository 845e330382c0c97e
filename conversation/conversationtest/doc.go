// Package conversationtest judges a document.Store by what conversations need of it.
//
//	func TestConversations(t *testing.T) {
//		conversationtest.Run(t, func(t testing.TB) document.Store { return documentsOf(t, open(t)) })
//	}
//
// The rules are named after the rows of the founding documents that they test.
package conversationtest
