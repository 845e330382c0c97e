// Package topictest tests implementations of topic.Bus.
//
//	func TestBus(t *testing.T) {
//		topictest.Run(t, func(t testing.TB) topictest.World {
//			return topictest.World{Bus: open(t)}
//		})
//	}
package topictest
