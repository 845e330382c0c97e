// Package session stores conversations that begin and end. Many users have many sessions, any
// number of stateless workers serve them, and a long-term memory receives each session that ended.
//
// It stores them in the documents of a store: Store.Documents(ctx) of sqlite, redis or postgres, or
// a document.Map. A [Sweeper] runs in one process or in several, and ends sessions that were not
// used for Config.TTL. The examples of this package are whole programs.
//
// # Guarantees
//
//  1. The log of a session only grows. A model gets a view of it, by a window and a summary. A view
//     never has the result of a tool without its call. See [Derive], which is pure, and
//     [Manager.View], which reads only the part of the log that it needs.
//  2. Every write is conditional on the version that was read. Append retries, after the messages
//     of other workers; Turn returns ErrConflict.
//  3. A session ends at its deadline, whether or not a sweeper has run. Nothing of it is lost
//     before it is offloaded: no key of the store expires.
//  4. One batch ends a session and notes that it must be offloaded. The engine is called until it
//     accepts the session, each time with the same key: an engine that records the key receives
//     each session exactly once. The id can be used again at once.
//  5. Engine failures never block a session. If the engine fails or panics, a session starts and
//     ends without it.
//
// An id can begin again after its session ended. Each session of an id is a generation.
//
// # What it does not do
//
// It starts no goroutine and calls no model except Summarizer.Write in Compact. The clocks of the
// workers must agree to within a fraction of Config.OffloadFor.
package session
