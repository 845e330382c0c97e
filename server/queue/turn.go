package queue

import (
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
)

// turn is when a worker has to look at a thread. With begun, a run of the thread is claimed: the
// look is for whether its process has left it behind.
type turn struct {
	at    time.Time
	begun bool
}

// A turn with begun has an Order before those of all others, which begin with a hexadecimal digit.
const (
	begunTurn    = "!"
	waitingTurns = "0"
)

// order is the Order of the document that has the turn.
func (t turn) order() string {
	if t.begun {
		return begunTurn + document.AtTime(t.at)
	}
	return document.AtTime(t.at)
}

// turnOf returns the turn of a document; ok is false if it has none.
func turnOf(d document.Doc) (t turn, ok bool) {
	order, begun := strings.CutPrefix(d.Order, begunTurn)
	t.begun = begun
	t.at, ok = document.TimeOf(order)
	return t, ok
}
