package studio

import (
	"fmt"

	h "github.com/weftrun/weft/internal/markup"
)

// waiting is the number of interrupted threads, which the menu shows beside the inbox.
type waiting int

// unknown is the number for a page whose menu shows none.
const unknown waiting = -1

// mostWaiting is the greatest number that the menu shows.
const mostWaiting = 99

// waiting counts the threads that wait for a person. The index of threads by status has their
// number, unless the caller may see only some of them.
func (r *request) waiting() waiting {
	_, n, err := r.source.Threads(r.Context(), Query{Status: "interrupted", Limit: 1})
	if err != nil {
		return unknown // the page itself is shown all the same
	}
	return waiting(n)
}

func (n waiting) String() string {
	if n > mostWaiting {
		return fmt.Sprintf("%d+", mostWaiting)
	}
	return fmt.Sprint(int(n))
}

// title explains the number.
func (n waiting) title() string { return fmt.Sprintf("threads that wait: %d", int(n)) }

// waitingChange is what a page that is open gets of the number.
type waitingChange struct {
	Waiting waiting `json:"waiting"`
	Text    string  `json:"text"`
	Title   string  `json:"title"`
}

func (n waiting) change() waitingChange { return waitingChange{n, n.String(), n.title()} }

// mark is the number in the menu. It is there without one, too, for a script to fill.
func (n waiting) mark() h.Part {
	if n == unknown {
		return nil
	}
	return h.Parts{h.Text("\n"), h.Span(h.ID("waiting"), h.If(n == 0, h.Hidden(true)), h.Tooltip(n.title()), h.Text(n.String()))}
}
