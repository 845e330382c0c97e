package topic

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
)

// ErrNoBus is returned by Of for a store that offers no bus.
var ErrNoBus = errors.New("topic: the store offers no bus")

// Of returns the bus of a store, such as those of sqlite, redis and postgres. That of a
// checkpoint.Memory is a new Local, which nothing else shares.
func Of(ctx context.Context, store checkpoint.Store) (Bus, error) {
	switch s := store.(type) {
	case interface {
		Bus(context.Context, int) (Bus, error)
	}:
		return s.Bus(ctx, 0)
	case interface{ Bus(int) Bus }:
		return s.Bus(0), nil
	case *checkpoint.Memory:
		return new(Local), nil
	}
	return nil, fmt.Errorf("%w (%T)", ErrNoBus, store)
}
