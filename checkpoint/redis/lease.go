package redis

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// A thread that has nothing but a lease goes after so long, or ten times the lease.
const vacant = 24 * time.Hour

// Acquire implements checkpoint.Leaser. The time is the server's.
func (s *Store) Acquire(ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	if err := r.Check(); err != nil {
		return checkpoint.Lease{}, err
	}
	r, force := r.NewID(), "0"
	if r.Force {
		force = "1"
	}
	args := []any{origin(r.Thread), r.Owner, milliseconds(r.TTL), r.Fence, r.ID, force, r.Over, milliseconds(max(vacant, 10*min(r.TTL, math.MaxInt64/10))), checkpoint.MaxLeaseLog}
	reply, err := s.call(ctx, acquireScript, s.key(r.Thread), args)
	if err != nil {
		return checkpoint.Lease{}, fmt.Errorf("lease of thread %q: %w", r.Thread, err)
	}
	a := toAnswer(reply)
	if a.code == "B" {
		return checkpoint.Lease{}, &checkpoint.BusyError{Thread: r.Thread, Owner: a.text(0), Remaining: time.Duration(a.number(1)) * time.Millisecond}
	}
	if err := a.refusal(checkpoint.Key{Thread: r.Thread}, 0); err != nil {
		return checkpoint.Lease{}, err
	}
	return checkpoint.Lease{Fence: a.text(0), Owner: a.text(1), TTL: r.TTL}, nil
}

// Release implements checkpoint.Leaser.
func (s *Store) Release(ctx context.Context, thread, fence string) error {
	reply, err := s.call(ctx, releaseScript, s.key(thread), []any{origin(thread), fence})
	if err != nil {
		return fmt.Errorf("lease of thread %q: %w", thread, err)
	}
	return toAnswer(reply).refusal(checkpoint.Key{Thread: thread}, 0)
}
