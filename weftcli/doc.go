// Package weftcli is the command line as a library. A program adds nodes written in Go to
// those that workflows can use, and has all commands under its own name.
//
//	package main
//
//	func main() {
//		weftcli.Main(weftcli.Config{
//			Name:  "shout",
//			Nodes: map[string]workflow.Kind{"shout": workflow.Go(shout)},
//		})
//	}
//
// Here shout is a function func(context.Context, In) (Out, error). A workflow calls it as
//
//	nodes:
//	  loud: {uses: go:shout, with: {text: "${{ state.text }}"}, output: {text: "${{ result }}"}}
//
// A [Config] has the name of the program, its nodes, stores, graphs and agents. The program in
// examples/gonode is complete, with a workflow. A program whose graphs are declared in Go and
// which needs no command line imports package graph instead.
package weftcli
