// Package wire converts between Weft's values and the JSON of LangGraph's server, for an HTTP
// server that clients of that server use unmodified. It is pure: it does no I/O, reads no clock and
// starts no goroutine.
//
// # Terms
//
//   - An [Event] is one record of a thread's event log. It does not depend on a protocol. A worker
//     appends what a [Recorder] makes of the events of a run.
//   - A [Classic] and a [Protocol] are projections of the log: the events of the classic streams,
//     and those of the thread-centric protocol, which its documents call version 2. Both take one
//     record at a time and return what to send.
//   - A checkpoint is what a client sees of a commit. The commit of an input is seen as two
//     checkpoints, the phases 0 and 1: the state before the input, and the state with it. A
//     [CheckpointID] is the id of one of them.
//   - A [ThreadState] is the state at a checkpoint. [States] makes a page of them from commits.
//   - A [Dialect] is one of two families of clients. They differ in the body of an error and in the
//     values at a pause.
//
// # Ids
//
// Clients expect UUIDs. [TaskUUID] shows the id of a task as one, [NamespaceToWire] those in a
// namespace; both can be reversed. [ThreadUUID] and [AssistantUUID] derive a UUID from a name.
//
// # Messages
//
// A field that is a message.Log is a list of messages on the wire. [Messages] writes it and
// [ReadMessages] reads what clients send. Reading what was written gives the same messages, but for
// what [ReadMessages] documents.
//
// # What it does not do
//
// It does not load anything: callers pass commits, states and drawings. It does not check whether a
// caller may see what it shows.
package wire
