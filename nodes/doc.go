// Package nodes holds the ready kinds of nodes for workflows: file, http, approval, wait and fail, and
// those that use what a program has: llm, agent, tool, capability and plan.
//
// Each kind is a struct whose json fields are its parameters in a file; the struct's
// comment is the manual. [Kinds] returns them for workflow.Options:
//
//	w, err := workflow.Load("report.yaml", workflow.Options{Kinds: nodes.Kinds()})
//
// A kind of your own is a struct with a Run method (see [workflow.Runner]), or a Go
// function made one by [workflow.Go]:
//
//	kinds := nodes.Kinds()
//	kinds["go:score"] = workflow.Go(score)
//
// A [Program] says which models, tools and agents a program has, and makes the kinds that use them.
//
// # Duties
//
//  1. A node reads only below the workflow's root folder and writes only below its
//     folder out, whatever links lie there.
//  2. A node speaks only with public addresses unless the file says otherwise.
//  3. A node stops when its context ends, and what it reads or sends is bounded.
//  4. An error says whether another attempt may go better.
//  5. There is no node that runs a shell.
package nodes
