package picture

import (
	"context"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// Turn returns the commits of a thread's turn up to one of them, the newest first, without those
// on other branches. at is 0 for the newest turn. A thread that does not exist is a
// graph.ErrUnknownThread.
func Turn(ctx context.Context, store checkpoint.Store, thread string, at uint64) (turn []graph.CommitInfo, err error) {
	var q checkpoint.Query
	if at != 0 {
		q.Before = at + 1
	}
	next := uint64(0) // the commit from which the ones after it go on
	for p, err := range graph.History(ctx, store, checkpoint.Key{Thread: thread}, q) {
		switch {
		case err != nil:
			return nil, err
		case len(turn) > 0 && p.Checkpoint > next:
			continue
		case len(turn) > 0 && p.Turn != turn[0].Turn:
			return turn, nil
		}
		if turn, next = append(turn, p), p.Parent; next == 0 {
			next = p.Checkpoint - 1
		}
	}
	return turn, nil
}
