// Package a2a reads and writes the messages of the Agent2Agent protocol
// (https://a2a-protocol.org), by which agents call each other: JSON-RPC 2.0 in the forms of the
// versions 0.3 and 1.0. The method of a request decides the form of its answer.
//
// A context of the protocol is a thread, and a task a run with those that go on with it when they
// answer its questions. A message of the agent is an artifact of the task, and so is the result of
// a tool. The package has no I/O.
package a2a
