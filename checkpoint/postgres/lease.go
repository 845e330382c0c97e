package postgres

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint"
)

// Acquire implements checkpoint.Leaser.
func (s *Store) Acquire(ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	if err := r.Check(); err != nil {
		return checkpoint.Lease{}, err
	}
	r = r.NewID()
	lease := checkpoint.Lease{Fence: cmp.Or(r.Fence, r.ID), TTL: r.TTL}
	k := checkpoint.Key{Thread: r.Thread}
	err := s.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		a, err := s.ask(ctx, conn, s.text.acquire, k, 0,
			[]byte(r.Thread), lease.Fence, r.Fence != "", r.Owner, micros(r.TTL), r.Force, r.Over, checkpoint.MaxLeaseLog)
		if err != nil {
			return err
		}
		lease.Owner = *a.owner
		if a.verdict == "busy" {
			return &checkpoint.BusyError{Thread: r.Thread, Owner: *a.owner, Remaining: time.Duration(*a.at) * time.Microsecond}
		}
		return nil
	})
	if err != nil {
		return checkpoint.Lease{}, err
	}
	return lease, nil
}

// Release implements checkpoint.Leaser.
func (s *Store) Release(ctx context.Context, thread, fence string) error {
	return s.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		if fence == "" {
			return nil // no lease has this fence
		}
		_, err := conn.Exec(ctx, s.text.release, s.mode, []byte(thread), fence)
		return err
	})
}

// Expire implements checkpoint.Expirer. What has expired is not found from that moment
// on; its rows go when other threads with a TTL start.
func (s *Store) Expire(ctx context.Context, thread string, ttl time.Duration) error {
	if err := checkpoint.CheckTTL(ttl); err != nil {
		return err
	}
	return s.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		var found bool
		err := conn.QueryRow(ctx, s.text.expire, s.mode, []byte(thread), micros(ttl)).Scan(&found)
		if err == nil && !found {
			return fmt.Errorf("%w: thread %q", checkpoint.ErrNotFound, thread)
		}
		return err
	})
}
