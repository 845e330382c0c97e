// Package topic tells those who listen what happened: in this process, and in others.
//
//	var bus topic.Local // or redis: (*Store).Bus, which other processes hear
//
//	orders := topic.Topic[Order]{Bus: &bus, Name: "orders"}
//	for e, err := range orders.Subscribe(ctx, func(o Order) bool { return o.Total > 100 }) {
//		...
//	}
//	err := orders.Publish(ctx, Order{Total: 250})
//
// A [Bus] keeps the newest events of each name, numbered without gaps. A [Topic] is a Bus for
// values of one type. A follower stands at a position of his own and reads on from there; to
// go on in another process he takes the position along.
//
// # What every bus promises
//
//  1. Who publishes never waits for who listens. A bus keeps a bounded number of events. A
//     follower who falls behind them is told how many he missed, by a *MissedError, and goes
//     on with the oldest that there is.
//  2. Every follower gets the events in one order, each at least once. Only a publisher whose
//     connection broke before he had an answer can make an event come twice.
//  3. A follower whose connection is lost goes on where he stood when it is back.
//  4. A subscription holds from the call on, not from the first turn of the loop. It ends
//     with its context or with the loop, and leaves nothing behind.
//
// # What it does not do
//
// It is no queue: nobody acknowledges, and what is older than the bus keeps is gone. What
// must not be lost is stored first; a topic says that there is something new.
package topic
