package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint"
)

// attempt is one try of a call. It may be made again after an error, even one that
// leaves open whether it had an effect: then again is true.
type attempt func(ctx context.Context, conn *pgxpool.Conn, again bool) error

// call makes attempts until one has an answer, or until there is no sense in more.
// write says that an attempt changes something.
func (s *Store) call(ctx context.Context, write bool, try attempt) error {
	if err := ctx.Err(); err != nil {
		return s.typed(err)
	}
	if s.closed.Load() {
		return s.typed(checkpoint.ErrClosed)
	}
	until := time.Now().Add(s.patience)
	unknown := false // whether an attempt was cut off that may have had its effect
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		sent, err := s.once(ctx, unknown, try)
		if err == nil {
			return nil
		}
		fate := fateOf(err)
		unknown = unknown || write && sent && fate == lost
		if ctx.Err() != nil || fate == final || !time.Now().Add(pause).Before(until) || !sleep(ctx, pause) {
			return s.verdict(ctx, err, unknown, fate)
		}
	}
}

// once makes one attempt. It reports whether anything was sent to the server.
func (s *Store) once(ctx context.Context, again bool, try attempt) (sent bool, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	err = try(ctx, conn, again)
	return !pgconn.SafeToRetry(err), err
}

// verdict is what the caller is told after the last attempt. A conflict is one even
// after an attempt with an unknown outcome: what it wrote, if it did, is not there.
func (s *Store) verdict(ctx context.Context, err error, unknown bool, fate fate) error {
	if ctx.Err() != nil && fate != final {
		err = ctx.Err() // instead of what its end did to the connection
	}
	if err = s.typed(err); !unknown || errors.Is(err, checkpoint.ErrConflict) {
		return err
	}
	return fmt.Errorf("%w: %w", checkpoint.ErrUnknownOutcome, err)
}

// sleep reports false when the context ended first. It sleeps for half of d to d, so
// that those who failed together do not come back together.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d/2 + rand.N(d/2)):
		return true
	case <-ctx.Done():
		return false
	}
}
