// Package state is what a run of a graph carries from step to step: channels, the
// reducers in them, and the schema of a state.
//
// A state is a struct of channels, and the type of a channel says how writes to it
// are merged. A node is a plain function of the struct, and runs without any
// runtime in a test:
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
// # The nouns
//
//   - A [Channel] is a committed value, and the writes that the holder of this
//     copy made on top of it. The zero value of each is ready to use.
//   - A view is the copy of a state that one task works on. A superstep gives one
//     to every task, and folds their writes into the run's state when all are done.
//   - A [Schema] is what a state type declares: wire names, lifetimes, defaults.
//   - A state without a Go type, such as that of a graph in YAML, is a record.Record of package
//     state/record: the same channels by name.
//
// # The channels
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
// [ContextData] is a Map with two levels of keys, for what an agent knows; the state of an agent
// and its manager are in package state/agent, as agent.State and agent.Manager, and conversations
// have a channel of their own, message.Log in package state/message. [DeepMerge] is the reducer
// that merges objects on every level. List, Stack, Once, Sum, Max, Min, Map, Set, Reduced and
// ContextData also have Overwrite, which replaces the whole value. A type of your own may be a
// field when its pointer has the method Channel, which returns what the runtime needs of it: see
// [Channeler] and [Channel]. [Reduced] is the short way when only the merge is new.
//
// # Tags
//
// A field's name on the wire is its json name. A nested struct is a group: its name
// and "_" come before the names of its fields; an embedded struct adds nothing.
// weft:"turn" resets a field to its default when a new input starts a turn, and on a
// group it holds for all fields in it. weft:"default=JSON" and
// weft:"turn,default=JSON" declare a default. weft:"version=2" counts the forms that
// stored values of the field have had, for [Schema.Migrating]; weft:"was=NAME" is the
// name that it had before, in the same group. Options stand in one tag with commas between
// them, the default last.
//
// # Laws
//
//  1. A task reads its own writes, and no sibling's.
//  2. Writes of one step are folded in canonical order, whatever order the tasks
//     finished in. The same writes give the same bytes.
//  3. Silence is no write, and a zero value is one: Set(false) is kept.
//  4. An Overwrite wins its whole step. Two of one field in a step are a
//     [ConflictError]; so are two writes of a Value, an Ephemeral or an Untracked.
//     What a task writes after its own Overwrite comes on top of it.
//  5. A fold never changes what somebody holds: an assigned copy of a struct of
//     channels is a snapshot, and two copies may grow at the same time.
//  6. A fold costs what was written, not what the channel holds; at most its
//     logarithm for Map and Set. So does the difference that a [Delta] stores. The
//     first append of a fork copies the list, once.
//  7. What is stored comes back the same, except from an Untracked.
//  8. Every mistake in a type, a shape or an input is reported, all at once.
//
// # What it does not do
//
// It runs nothing and stores nothing: package graph folds, and package checkpoint
// encodes. It does not copy values deeply: what a slice, map or pointer inside a
// channel points to must not be changed, neither after it was written nor after it
// was read. A channel is not safe for concurrent use; give each goroutine a copy.
// JSON is what all values go through: text that is not UTF-8 is refused with a
// [TextError] when the node returns, with a store and without, and a float that is
// not finite cannot be stored.
package state
