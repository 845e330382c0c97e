// Package completions translates between runs and the Chat Completions API of OpenAI. Many programs
// can chat with a server of that API; the models that they see are the assistants.
//
// A [Request] is the body of POST /v1/chat/completions, and a [Reply] collects the answer from the
// events of a run. Tools that a graph has called itself are not in the answer: only calls without a
// result are, for the client to make.
package completions
