// Package weft is the command line as a library: a program that adds nodes written in
// Go to what workflows may use, and has all commands under its own name.
//
//	package main
//
//	func main() {
//		weft.Main(weft.Config{
//			Name:  "shout",
//			Nodes: map[string]workflow.Kind{"shout": workflow.Go(shout)},
//		})
//	}
//
// where shout is a function func(context.Context, In) (Out, error), and a workflow
// uses it as
//
//	nodes:
//	  loud: {uses: go:shout, with: {text: "${{ state.text }}"}, output: {text: "${{ result }}"}}
//
// A [Config] names the program, its nodes and its stores. examples/gonode is the whole
// program with a workflow, and examples/desk one with an agent, with which its command chat talks ([Config.Chats]). Graphs that are declared in Go need none of this: see
// package graph.
package weft
