// Package nodes has the standard kinds of nodes for workflows: file, http, exec, approval, wait and
// fail. The kinds llm, agent, tool, capability and plan use what a program has, and the models and
// tools that a file declares.
//
// Each kind is a struct whose json fields are its parameters in a file, and whose comment is its
// manual. [Kinds] returns them for workflow.Options:
//
//	w, err := workflow.Load("report.yaml", workflow.Options{Kinds: nodes.Kinds()})
//
// Another kind is a struct with a Run method (see [workflow.Runner]), or a Go function (see
// [workflow.Go]):
//
//	kinds := nodes.Kinds()
//	kinds["go:score"] = workflow.Go(score)
//
// A [Program] has models, tools and agents, and returns the kinds that use them. Its sections let a
// file declare a [ModelEntry] under models and a [ToolEntry] under tools:
//
//	p := nodes.Program{Providers: map[string]model.Provider{"openai": openai.Provider()}}
//	o := workflow.Options{Kinds: p.Kinds(), Sections: p.Sections()}
//
// # Guarantees
//
//  1. A node reads only below the workflow's root folder and writes only below its folder out, also
//     through links.
//  2. A node connects only to public addresses unless the file allows others.
//  3. A node stops when its context ends, and limits what it reads and sends.
//  4. An error reports whether another attempt may succeed.
//  5. A node starts a program only if [workflow.Options].AllowExec is set, and never by a shell.
//  6. A key of the environment is sent only to a server that the person has chosen: see
//     [ModelEntry].
package nodes
