// Package chat converts the event log of a run to the events of a conversation: messages, calls of
// tools and their results, and questions. Packages a2a, agui and aisdk convert these to their
// protocols.
//
// The messages are those that models stream in any graph, and the messages of models and tools that
// nodes of the root graph add. Messages of users and of the system are left out.
package chat
