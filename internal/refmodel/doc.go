// Package refmodel has a reference interpreter: a simple, slow implementation of the engine's
// laws. It compares the engine with the interpreter on random graphs. Only tests use it.
//
//   - A [Spec] is a graph, its state and the inputs of its turns, as plain data. A node is
//     a little script of [Op]s, whose conditions and values depend on the state, so that
//     branches and loops vary and yet end.
//   - [Generate] makes a random Spec, [Smaller] lists the Specs that are a little less.
//   - An [Interpreter] runs a Spec by the laws of docs/semantics.md, with maps and slices, one
//     task after the other. It knows nothing of the packages graph and state.
//   - An [Engine] runs the same Spec with package graph.
//   - [Play] takes either through all turns, answers what it asks, and returns what it saw.
//     [PlayBack] also goes back to commits of subgraphs, at any depth.
//
// Engine and Interpreter must produce the same trace: every state, status, open question, starved
// join and step. A test that finds a difference prints the seed and the smallest Spec that
// still differs.
//
// # How to run more of them
//
//	go test ./internal/refmodel -seed 1 -seeds 1000000 -timeout 0 -v -run TestEngine
//	go test ./internal/refmodel -seed 77 -seeds 1 -run TestSimulation$
//
// The first is a soak, of any of the tests; the second does again what a failure printed.
//
// # How to add a feature
//
//   - Of a node (a cache, an error handler, a call that is made once): a field in [Node] or
//     a new Do of an [Op]; its meaning in Interpreter.attempt or in run; its counterpart in
//     engine.go; a line in generate.go that sometimes makes one; a line in smaller.go that
//     takes it away again.
//   - Of a channel: a line in [Fields], one in the struct State and its two switches
//     (bind.go), and its merge in plain.go.
//   - Of a thread (a fork, a patch): a method of [Runner] that both Engine and Interpreter have,
//     and a move in Play that sometimes makes it.
//   - Of a run (a durability, a concurrency, a store): a field of Engine that the tests vary.
//     It must not change the trace.
package refmodel
