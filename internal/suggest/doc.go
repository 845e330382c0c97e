// Package suggest guesses which known name a misspelt one was meant to be, for
// "did you mean" in error messages.
package suggest
