// Package server serves graphs over HTTP to clients that were written for the LangGraph server.
//
// A Server is an http.Handler over a store. It has no state of its own: what it answers is in the
// documents, the memory and the commits of the store, so several processes can serve one store.
//
//	srv, err := server.New(ctx, server.Config{
//		Store:  store,
//		Graphs: map[string]graph.Untyped{"agent": g.Untyped()},
//		Auth:   server.Auth{Authenticate: keys.Authenticate, Rules: server.Owners},
//	})
//	http.Handle("/", srv)
//	go srv.Work(ctx, server.Workers{Slots: 64}) // runs runs, in this process or in others
//
// # Terms
//
//   - An assistant is a graph with a configuration and a version. Each graph has a system
//     assistant, whose id follows from the name of the graph.
//   - A thread is a record, and the thread of commits with the same name.
//   - A run is one call of an assistant's graph on a thread. It waits in the line of its thread
//     until a process with Work runs it. A run without a thread has one of its own, which is
//     removed soon after its end.
//   - A state is what a thread had at a checkpoint: the newest, or one of its history.
//   - An item is a value in the memory of the store.
//   - A Rule decides what an Identity may do. It may return a Filter; what does not match the
//     filter does not exist for the caller.
//   - The Dialect of a request is the family of clients that it comes from. It changes the body of
//     an error.
//
// # What it guarantees
//
//  1. A request has a documented status. A failure of the store is a 503. Only a defect is a 500.
//  2. Bodies, headers, depth and numbers of JSON, metadata and pages have limits; see Limits.
//  3. A mutation of a record is a compare-and-set that is retried, so concurrent requests of
//     several processes lose no change.
//  4. An error has no path, key, query or stack of the server.
//  5. A run that was acknowledged survives every process, and ends once. At most one run of a
//     thread is running. Package work documents how the run of a dead process goes on.
//  6. The events of a run are in a log on the bus. A reader that reconnects with Last-Event-ID gets
//     the events that it has missed, as far as the bus still has them.
//  7. A webhook is delivered at least once: it is stored before its run ends, and tried three
//     times. So is a notice of an open question.
//  8. An answer to an open question is checked when the run is created.
//  9. Each firing of a cron has one run: it is stored with the cron's next time in one write, and
//     stays until the run has ended.
//
// # The protocol of threads
//
// Clients of the second version of LangGraph's protocol send commands to a thread, and subscribe to
// its events. They use POST …/commands and POST …/stream/events, or a WebSocket on
// GET …/stream/events. An event has the same number on every connection, so a client goes on after
// the last one that it has. The events of all runs of a thread are also on GET …/stream.
//
// # What it does not do
//
// The server terminates no TLS, and has no sessions and no cookies.
package server
