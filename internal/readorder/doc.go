// Command readorder counts the references between the files of a package that run against the order
// in which the package is to be read.
//
// The order is a section of the package's doc.go, under the heading "# Reading order". Every
// name of a file in it counts, first to last, so the section names each file of the package
// once:
//
//	//  1. What a caller does: graph.go handle.go.
//
// A reference leads from a file to another one that declares what it uses: a type, a function, a
// variable, a constant, a method or a field. All uses of one file by another are one reference. It
// runs upwards when the file that it leads to is listed before its own. Tests are left out.
//
//	go run ./internal/readorder -v ./graph
//
// prints the upward references of package graph, with the names that each is made of.
package main
