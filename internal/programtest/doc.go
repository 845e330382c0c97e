// Package programtest is for tests alone. With Variable in its environment, the program of the
// tests of a command is the command, so tests run it in processes.
package programtest
