// Package programtest is for tests alone: those of a command run it in processes without building
// it, since the program of the tests is the command where Variable is set.
package programtest
