// Package session keeps conversations that begin and end: many users, many sessions of each, any
// number of workers without state, and a long-term memory that gets what was said.
//
// It keeps them in the documents of a store: those of sqlite, redis and postgres by
// Store.Documents(ctx), or a document.Map. A [Sweeper] runs in one process or in several, and ends
// sessions that were not used for Config.TTL. The examples of this package are whole programs.
//
// # Laws
//
//  1. The log of a session is only appended to. What is sent to a model is derived from it, by a
//     window and a summary, and never has a tool's result without its call. See [Derive], which is
//     pure, and [Manager.View], which reads no more than it must.
//  2. A session is changed by one worker at a time: every write is for the version that was
//     read. Append tries again, behind what others have appended; Turn returns ErrConflict.
//  3. A session whose time is over is over, whether or not a sweeper was there. Nothing of it is
//     lost before it was offloaded: no key of the store expires.
//  4. The end of a session and the note that it must be offloaded are one batch. The engine is
//     called until it has taken the session; with one key for all calls, so that an engine
//     that knows what it has done takes it exactly once. The id is free again at once.
//  5. The engine is in nobody's way. Where it fails or panics, a session begins without it
//     and ends without it.
//
// # What it does not do
//
// It runs no goroutine and calls no model but the Summarizer's, from Compact. It trusts that the
// clocks of the workers agree to within a fraction of Config.OffloadFor.
package session
