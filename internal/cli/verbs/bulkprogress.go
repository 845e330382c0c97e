package verbs

import (
	"fmt"

	"github.com/weftrun/weft/internal/cli/terminal"
)

// threadsPerLine is the number of threads after which progress prints a line.
const threadsPerLine = 1000

// progress shows how far a verb is. On a terminal it redraws one line; elsewhere it prints a line
// after each threadsPerLine threads.
type progress struct {
	*app
	term  *terminal.Terminal // nil if it prints lines
	drawn bool               // the terminal shows the line
}

func (a *app) progress() *progress {
	p := &progress{app: a}
	if !a.JSON {
		p.term = terminal.Of(a.Progress)
	}
	return p
}

// Show shows the counts.
func (p *progress) Show(verb string, r bulkReport) {
	switch {
	case p.term != nil:
		fmt.Fprintf(p.term, "\r\x1b[K%s: %s", verb, r)
		p.drawn = true
	case r.Threads%threadsPerLine == 0:
		p.Note("%s: %s so far", verb, r)
	}
}

// Clear removes the line from the terminal.
func (p *progress) Clear() {
	if p.drawn {
		fmt.Fprint(p.term, "\r\x1b[K")
		p.drawn = false
	}
}
