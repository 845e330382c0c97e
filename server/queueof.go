package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/work"
)

// OpenQueue returns the queue of the servers on a store, for programs that look at their runs or
// cancel them.
func OpenQueue(ctx context.Context, store checkpoint.Store) (*queue.Queue, error) {
	c := Config{Store: store}
	docs, _, err := storesOf(ctx, c)
	if err != nil {
		return nil, err
	}
	bus, err := busOf(ctx, c)
	if err != nil {
		return nil, err
	}
	q, err := queue.New(queue.Config{Store: store, Documents: docs, Bus: bus, Ended: func(ctx context.Context, r queue.Run, alone bool) {
		if !alone {
			return // readers would take it for the end of the run that is running
		}
		if err := endLog(ctx, work.Log{Bus: bus}, r, time.Now()); err != nil {
			slog.ErrorContext(ctx, "server: add the end of a run to its log", "run_id", r.ID, "error", err)
		}
	}})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return q, nil
}
