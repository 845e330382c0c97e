package server

import (
	"context"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/server/queue"
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
	q, err := queue.New(queue.Config{Store: store, Documents: docs, Bus: bus})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return q, nil
}
