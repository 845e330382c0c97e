// Package terminal measures and escapes text for terminals, handles signals, and limits
// input.
package terminal
