// Package stream delivers numbered events to any number of readers.
//
// Any goroutine may send to a [Stream]. Each event reaches all readers at once, so all of them
// see one order. A reader is a [Subscription]: it takes the classes of events that it asked for
// and has a buffer of its own.
//
//	s := stream.New(stream.Config[Event]{Number: number, Gap: gap})
//	sub := s.Subscribe(stream.Options{Classes: updates, Buffer: 64})
//	go func() {
//		s.Send(ctx, life, updates, 0, Event{…})
//		s.SendLast(life, Event{…})
//		s.Close(nil)
//	}()
//	for {
//		ev, ok := sub.Next()
//		if !ok {
//			break
//		}
//		…
//	}
//
// When the buffer of a reader is full, the sender waits for it: a slow reader slows its source.
// A lossy reader loses its oldest events instead, and gets one event that counts them.
//
// The package knows nothing of what the events say. In package graph, the emitter of a session
// (graph/event.go) makes the stream and sends the events.
package stream
