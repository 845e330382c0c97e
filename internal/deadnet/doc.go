// Package deadnet is a network that swallows bytes, and a table of every call of a store, for
// tests that no call waits for such a network without a bound.
package deadnet
