// Package mcp gives agents the tools, resources and prompts of servers that speak the Model Context
// Protocol (https://modelcontextprotocol.io).
//
//	files, err := mcp.Open(ctx, mcp.Server{
//		Name:    "files",
//		Command: []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "."},
//		Env:     []string{"PATH=" + os.Getenv("PATH")},
//	})
//	defer files.Close()
//	tools, err := files.Tools(ctx)
//	set, err := tool.NewSet(tools...)
//
// A [Server] is a program that speaks on its standard input and output, or a URL of the transport
// that the protocol calls streamable HTTP. A [Client] is the connection with it.
//
// # Guarantees
//
//  1. Each request has a time limit, [Server].Timeout.
//  2. The arguments of a call are checked by the schema of the server before they are sent.
//  3. A call is sent at most once. If the server ends during a call, the result is a
//     [*ServerError], since the server may have done the work. The next call connects again, also
//     to a server that did not answer in time and does not answer a ping either. A call whose
//     server asks a person by [Server].Ask is given up until there is an answer, and then sent
//     again. So a server must ask before it does the work.
//  4. A program gets only the environment that Server.Env lists, and ends with the client. On Linux
//     it also ends when this process is killed.
//  5. What a server claims about its tools may be wrong. [Hints] are for [Server].Permit and for
//     people, and nothing else depends on them.
//
// # What it does not do
//
// A server cannot call a model through this client: the client does not declare sampling or roots.
// A question that needs a page of the server is declined. A list of tools is read when Tools is
// called, and does not follow later changes of the server.
package mcp
