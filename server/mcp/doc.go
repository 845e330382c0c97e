// Package mcp lets clients of the Model Context Protocol (https://modelcontextprotocol.io) run
// assistants of a server, and answer the questions of their runs.
//
//   - Each assistant is a tool, with the input of its graph as arguments. The result is the state
//     at the end of the run. If the run asks, the result is an error that has the questions.
//   - The tool list_questions lists the open questions of all threads, and answer_question answers
//     one; its result is that of the run that goes on.
//   - The resource weft://questions has the open questions, and weft://threads/{thread_id} the
//     state of a thread.
//
// What a client may do is decided by its [Backend]: a server makes one for each caller.
//
// [Handler] serves streamable HTTP without sessions, so any process of a server may answer a
// request. [Serve] serves one client over a pair of streams, such as standard input and output.
package mcp
