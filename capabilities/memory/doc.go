// Package memory is what an agent remembers of its users across sessions: an engine that
// takes over sessions when they end, keeps what was said that may matter, and recalls it with
// where it comes from.
//
//	engine, err := memory.New(memory.Config{Store: store.Memory()})         // words
//	engine, err := memory.New(memory.Config{Store: &longterm.Index{...}})   // and meaning
//
//	sessions, err := session.New(session.Config{Store: docs, Engine: engine})
//	known, err := engine.Recall(ctx, "ada", "what does she drink?", 5)
//
// An [Engine] is a session.Engine over a Store of checkpoint/memory. What it keeps is a
// [Fact]: a text and its sources. The built-in extraction takes the statements of the user,
// sentence by sentence, in the user's own words; Config.Extract puts a model in its place.
//
// # Laws
//
//  1. A session is taken once, in one batch, however often it is offered. A fact that is said again
//     is one fact with one source more.
//  2. Nothing is recalled without its sources: session, message and time.
//  3. An item that is not this package's, or damaged, is an error and never written over.
//  4. Recall finds by words: the more of the query a fact has, and the rarer they are, the earlier it
//     comes. If the Store is a *memory.Index it finds by meaning first; should the embedder
//     fail, by words alone.
//
// # What it does not do
//
// It does not judge whether what a user said is true, or safe: a fact in a prompt is the user's
// text. Give facts to a model as data. Forget removes a user; Config.Extract may leave out what must not be kept.
package memory
