// Package state defines the state of a run of a graph: channels, reducers, and the schema of a
// state.
//
// A state is a struct of channels. The type of a channel determines how writes to it are merged. A
// node is a function of the struct, so a test can call it without a runtime:
//
//	type State struct {
//		Question state.Value[string] `json:"question"`
//		Facts    state.List[string]  `json:"facts"`
//		Rounds   state.Sum[int]      `json:"rounds" weft:"turn,default=0"`
//	}
//
//	func search(ctx context.Context, s *State) error {
//		s.Facts.Append("a fact about " + s.Question.Get())
//		s.Rounds.Add(1)
//		return nil
//	}
//
// # Terms
//
//   - A [Channel] is a committed value and the writes of the holder of this copy. The zero value of
//     each channel is ready to use.
//   - The holder of a copy is the task that owns it.
//   - A view is the copy of a state that one task uses. A superstep gives each task a view, and
//     folds (merges) their writes into the state of the run when all tasks are done.
//   - A [Schema] holds the declarations of a state type: stored names, lifetimes and defaults.
//   - A state without a Go type, such as that of a graph in YAML, is a record.Record of package
//     state/record. It has the same channels, by name.
//
// # Channels
//
//	channel    a write                  two writes in one step       lives
//	Value      replaces                 are an error                 for the thread
//	Latest     replaces                 the last one stays           for the thread
//	Once       writes the first value   are an error, and later too  for the thread
//	Stack      puts in front            both, in order               for the thread
//	List       appends                  both, in order               for the thread
//	Sum        adds                     both                         for the thread
//	Max, Min   offers                   the better one stays         for the thread
//	Map        puts or deletes a key    the last one of a key stays  for the thread
//	Set        adds or removes one      the last one of each stays   for the thread
//	Reduced    calls your Reduce        both, in order               for the thread
//	Topic      publishes                both, in order               for the next step
//	Ephemeral  replaces                 are an error                 for the next step
//	Untracked  replaces                 are an error                 for the run, never stored
//
// [ContextData] is a Map with two levels of keys, for what an agent knows. Package state/agent has
// the state of an agent and its manager, agent.State and agent.StateManager. Package state/message
// has the channel for conversations, message.Log. [DeepMerge] is the reducer that merges objects on
// every level.
//
// List, Stack, Once, Sum, Max, Min, Map, Set, Reduced and ContextData also have Overwrite, which
// replaces the whole value. Any other type can be a field if its pointer has the method Channel:
// see [Channeler] and [Channel]. If only the merge is new, use [Reduced].
//
// # Tags
//
// The stored name of a field is its json name. A nested struct is a group: its name and "_" precede
// the names of its fields. An embedded struct adds no prefix.
//
// weft:"turn" resets a field to its default when a new input starts a turn; on a group it applies
// to all its fields. weft:"default=JSON" and weft:"turn,default=JSON" declare a default.
// weft:"version=2" is the version of the field's stored form, for [Schema.Migrating].
// weft:"was=NAME" is the former name of the field in the same group. A tag may have several
// options, separated by commas, with the default last.
//
// # Guarantees
//
//  1. A task reads its own writes, but not those of other tasks of the step.
//  2. The writes of a step are folded in canonical order, not in the order in which tasks end.
//     Equal writes give equal bytes.
//  3. A zero value is a write: Set(false) is stored. A field without a call has no write.
//  4. An Overwrite discards the other writes of its step. Two Overwrites of one field in a step are
//     a [ConflictError], and so are two writes of a Value, an Ephemeral or an Untracked. Writes of
//     a task after its own Overwrite are merged into the new value.
//  5. A fold does not modify other copies. An assigned copy of a struct of channels is a snapshot,
//     and two copies can change concurrently.
//  6. The cost of a fold depends on the size of the writes, not of the channel, except for a
//     logarithmic factor for Map and Set. The same applies to the difference that a [Delta] stores.
//     The first append of a fork copies the list once.
//  7. A restored value equals the stored one, except for an Untracked.
//  8. All mistakes in a type, a shape or an input are reported at once.
//
// # Limits
//
// The package runs nothing and stores nothing: package graph folds, and package checkpoint encodes.
//
// It does not copy values deeply. Do not modify what a slice, map or pointer in a channel refers
// to, neither after a write nor after a read. A channel is not safe for concurrent use; give each
// goroutine a copy.
//
// All values must have a JSON form. Text that is not UTF-8 is a [TextError] when the node returns,
// with or without a store. A float that is not finite cannot be stored.
package state
