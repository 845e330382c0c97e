// Package terminal draws on terminals, escapes control characters, and handles signals and bounded input.
package terminal
