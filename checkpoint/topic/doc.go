// Package topic delivers events to subscribers in this process and in others.
//
//	var bus topic.Local // or (*Store).Bus of sqlite, redis or postgres, to share it
//
//	orders := topic.Topic[Order]{Bus: &bus, Name: "orders"}
//	for e, err := range orders.Subscribe(ctx, func(o Order) bool { return o.Total > 100 }) {
//		...
//	}
//	err := orders.Publish(ctx, Order{Total: 250})
//
// A [Bus] stores the newest events of each name, numbered without gaps. A [Topic] is a Bus for
// values of one type. Each subscriber has its own position; pass it to resume in another process.
//
// # What every bus guarantees
//
//  1. A publisher never waits for subscribers. A bus stores a bounded number of events. A
//     subscriber that falls behind gets a *MissedError with the number of missed events, and
//     continues with the oldest stored event.
//  2. All subscribers get the events in the same order, each at least once. An event can be
//     duplicated only if its publisher lost the connection before it got a reply.
//  3. A subscriber that lost its connection continues from its position after reconnecting.
//  4. A subscription begins with the call, not with the first iteration of the loop. It ends
//     with its context or with the loop, and leaves no goroutine behind.
//
// # What it does not do
//
// It is not a queue: there are no acknowledgements, and events beyond the bound are dropped. Store
// data that must not be lost, and publish an event to announce it.
package topic
