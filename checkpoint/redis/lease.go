package redis

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

const (
	maxOwner = 256
	// A thread that has nothing but a lease goes after so long, or ten times the lease.
	vacant = 24 * time.Hour
)

// Acquire implements checkpoint.Leaser. The time is the server's.
func (s *Store) Acquire(ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	if err := checkLease(r); err != nil {
		return checkpoint.Lease{}, err
	}
	force := "0"
	if r.Force {
		force = "1"
	}
	args := []any{origin(r.Thread), r.Owner, milliseconds(r.TTL), r.Fence, rand.Text(), force, milliseconds(max(vacant, 10*r.TTL))}
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
	return checkpoint.Lease{Fence: a.text(0), Owner: r.Owner, TTL: r.TTL}, nil
}

func checkLease(r checkpoint.LeaseRequest) error {
	if err := checkpoint.CheckThread(r.Thread); err != nil {
		return err
	}
	switch {
	case len(r.Owner) > maxOwner:
		return fmt.Errorf("%w: redis: thread %q: the owner of a lease has %d bytes, the limit is %d", checkpoint.ErrTooLarge, r.Thread, len(r.Owner), maxOwner)
	case r.TTL <= 0:
		return fmt.Errorf("redis: thread %q: a lease lasts for some time, not for %v", r.Thread, r.TTL)
	}
	return nil
}

// Release implements checkpoint.Leaser.
func (s *Store) Release(ctx context.Context, thread, fence string) error {
	reply, err := s.call(ctx, releaseScript, s.key(thread), []any{origin(thread), fence})
	if err != nil {
		return fmt.Errorf("lease of thread %q: %w", thread, err)
	}
	return toAnswer(reply).refusal(checkpoint.Key{Thread: thread}, 0)
}
