// Package memory lets an agent remember its users across sessions. An [Engine] takes sessions when
// they end, stores statements that may matter, and recalls them with their sources.
//
//	engine, err := memory.New(memory.Config{Store: store.Memory()})         // by words
//	engine, err := memory.New(memory.Config{Store: &longterm.Index{...}})   // and by meaning
//
//	sessions, err := session.New(session.Config{Store: docs, Engine: engine})
//	known, err := engine.Recall(ctx, "ada", "what does she drink?", 5)
//
// An [Engine] is a session.Engine over a Store of checkpoint/memory. It stores a [Fact]: a text and
// its sources. The built-in extraction takes the sentences of the user, in the user's own words.
// Config.Extract replaces it, for example with a model.
//
// # Guarantees
//
//  1. A session that ends is stored once, in one batch, even if it is offered again. A fact that is
//     stated twice is one fact with two sources.
//  2. Every recalled fact has its sources: session, message and time.
//  3. An item of another package, or a damaged one, is an error and is never overwritten.
//  4. Recall finds facts by words. A fact ranks higher the more words of the query it has, and the
//     rarer they are. If the Store is a *memory.Index, facts are found by meaning too. If the
//     embedder fails, words alone are used.
//
// # Limits
//
// The package does not check whether the statements of a user are true or safe. A fact in a prompt
// is the user's text: give facts to a model as data. Forget removes a user. Config.Extract may
// leave out what must not be stored.
package memory
