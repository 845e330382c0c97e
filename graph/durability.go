package graph

import (
	"fmt"

	"github.com/weftrun/weft/internal/journal"
)

// Durability is when the steps of a run are committed: what a crash can cost. Whatever
// it is, a thread is always as it was after some step, and a run that has returned
// is stored.
type Durability uint8

const (
	// Sync commits each step before the next one starts: a crash costs the step
	// that runs. It is the default.
	Sync Durability = iota
	// Async commits each step while the next one runs, in order and one at a time: a crash
	// costs the step that runs and the one before it. A commit that fails stops
	// the run at once.
	Async
	// Exit commits when the run ends, pauses or fails, or when something of a step must
	// be stored by itself, such as the result of a Once: a crash costs all since then, and
	// the input with it. How long a node takes makes no difference.
	Exit
)

func (d Durability) String() string {
	if int(d) < len(durabilities) {
		return durabilities[d]
	}
	return fmt.Sprintf("Durability(%d)", uint8(d))
}

var durabilities = [...]string{"sync", "async", "exit"}

// journal returns d in the terms of the journal.
func (d Durability) journal() journal.Durability {
	switch d {
	case Async:
		return journal.Async
	case Exit:
		return journal.Exit
	}
	return journal.Sync
}
