// Package chat reads the event log of a run as a conversation: messages that are streamed or come
// whole, calls of tools and their results, and what the run asks. Protocols for chats project what
// clients get from it, see packages a2a, agui and aisdk.
//
// The messages of a run are the tokens of models in all graphs, and the messages that the nodes of
// the root graph add and that were not streamed. What people said is not repeated.
package chat
