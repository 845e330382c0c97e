package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Output prints the results, notes and errors of one command.
type Output struct {
	Name       string    // of the program
	Stdout     io.Writer // results
	Stderr     io.Writer // everything else
	Progress   io.Writer // Stderr, for a view that draws on it
	Verbatim   io.Writer // Stdout for text that a program reads: escaped only on a terminal
	Invocation string    // how the program was called, for hints
	Store      string    // --store, or ""
	JSON       bool      // --json
	Raw        bool      // --raw: text is escaped only on a terminal
	// Grants are flags that each command needs, such as --allow-exec.
	Grants []string
	// Advice returns the hint of an error that depends on the kind of the store.
	Advice func(Hint) string
}

// PrintJSON prints v on a line of its own.
func (o *Output) PrintJSON(v any) error {
	enc := json.NewEncoder(o.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Note prints a line for the user to Stderr. With --json it prints nothing.
func (o *Output) Note(format string, args ...any) {
	if !o.JSON {
		fmt.Fprintf(o.Stderr, "%s: %s\n", o.Name, fmt.Sprintf(format, args...))
	}
}

// Command returns a command line that the user can copy.
func (o *Output) Command(words ...string) string {
	if o.Store != "" {
		words = append(slices.Clip(words), "--store", WithoutPassword(o.Store))
	}
	line := o.Invocation
	for _, w := range append(slices.Clip(words), o.Grants...) {
		line += " " + Quote(w)
	}
	return line
}

// Quote returns a word quoted for a shell.
func Quote(w string) string {
	if w != "" && !strings.ContainsFunc(w, needsQuotes) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

func needsQuotes(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%", r)
}
