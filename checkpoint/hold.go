package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// HoldPolicy is what Hold does when another owner has the thread.
type HoldPolicy int

const (
	// Reject returns the *BusyError. It is the default.
	Reject HoldPolicy = iota
	// Wait tries again until the thread is free or the context ends.
	Wait
	// TakeOver takes the thread over. Writes of the previous owner are rejected.
	TakeOver
	// NoLease acquires no lease. Of two writers that race for a commit, one loses its work.
	NoLease
)

// HoldOptions are the settings of Hold. The zero value is ready for use.
type HoldOptions struct {
	// TTL is how long the thread stays leased after this process stops renewing the lease; 0
	// means 30 seconds. The lease is renewed after each third of the TTL.
	TTL time.Duration
	// Owner is the beginning of the owner in a BusyError. The name of the machine and the
	// process follow. It has at most 64 bytes.
	Owner  string
	Policy HoldPolicy

	// ID, if it is not "", names the lease, as LeaseRequest.ID does: the same ID acquires the
	// same lease again. Such a lease belongs to no process: other processes can hold it by its
	// Fence, and it is not taken over when the process that acquired it has ended.
	ID string
	// Fence, if it is not "", names a lease that was acquired before, with an ID. Hold renews
	// it, or returns an ErrFenced if the thread was taken over or the lease released. Policy,
	// Owner and ID are ignored then.
	Fence string
}

const maxHoldOwner = 64

// Held is a thread that this process holds, until Release or Leave.
type Held struct {
	leaser  Leaser // nil when the store has no leases
	thread  string
	lease   Lease
	ttl     time.Duration
	ctx     context.Context // for the caller's work; it ends when the lease is lost
	cancel  context.CancelCauseFunc
	stopped chan struct{} // closed when the renewing goroutine has returned
}

// Hold acquires the lease of a thread and renews it in the background until Release or
// Leave, one of which must be called. Use Context for the work on the thread and Fence for
// writes. The context ends when the lease is lost.
//
// Hold takes a thread over at once, whatever the policy, if its owner was a process of this
// machine that has ended. So a run that was killed and started again does not wait. With a
// store without leases Hold succeeds, and Fence is "".
func Hold(ctx context.Context, store Store, thread string, o HoldOptions) (*Held, error) {
	if err := CheckThread(thread); err != nil {
		return nil, err
	}
	if len(o.Owner) > maxHoldOwner || !isText(o.Owner) {
		return nil, fmt.Errorf("%w: owner must be valid UTF-8 without NUL of at most %d bytes (got %.80q)", ErrRequest, maxHoldOwner, o.Owner)
	}
	if o.TTL == 0 {
		o.TTL = 30 * time.Second
	}
	h := &Held{thread: thread, ttl: o.TTL, stopped: make(chan struct{})}
	if o.Policy != NoLease {
		h.leaser, _ = store.(Leaser)
	}
	if h.leaser != nil {
		if err := h.acquire(ctx, o); err != nil {
			return nil, err
		}
	}
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	if h.leaser == nil {
		close(h.stopped)
	} else {
		go h.renew()
	}
	return h, nil
}

// Context returns a context that ends when the lease is lost, with an ErrLeaseLost as its
// cause. It also ends after Release or Leave, and when the context passed to Hold ends.
func (h *Held) Context() context.Context { return h.ctx }

// Fence returns the fence for Commit, Put and Drop; "" when the store has no leases.
func (h *Held) Fence() string { return h.lease.Fence }

// Leave stops renewing the lease without releasing it, for a lease that another process holds
// too. It returns when the renewing goroutine has returned. After Release it does nothing.
func (h *Held) Leave() {
	h.cancel(context.Canceled)
	<-h.stopped
}

// Release releases the lease. It returns when the renewing goroutine has returned. ctx bounds
// the call of the store only. A lost lease is no error. A second call does nothing.
func (h *Held) Release(ctx context.Context) error {
	h.Leave()
	if h.leaser == nil {
		return nil
	}
	err := h.leaser.Release(ctx, h.thread, h.lease.Fence)
	h.leaser = nil
	return err
}

// acquire acquires the lease according to the policy.
func (h *Held) acquire(ctx context.Context, o HoldOptions) error {
	if o.Fence != "" {
		h.lease.Fence = o.Fence
		return h.extend(ctx)
	}
	owner := ownerName(o.Owner)
	if o.ID != "" {
		owner = cmp.Or(o.Owner, "the holders of lease "+o.ID)
	}
	r := LeaseRequest{Thread: h.thread, Owner: owner, TTL: o.TTL, Force: o.Policy == TakeOver, ID: o.ID}.NewID()
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, o.TTL/10+time.Millisecond) {
		var err error
		if h.lease, err = h.leaser.Acquire(ctx, r); err == nil {
			return nil
		}
		var busy *BusyError
		switch {
		case !errors.As(err, &busy):
			return err
		case r.Over != busy.Owner && ownerIsGone(busy.Owner):
			r.Force, r.Over = true, busy.Owner
			continue
		case o.Policy != Wait:
			return err
		}
		r.Force, r.Over = false, ""
		select {
		case <-time.After(min(max(busy.Remaining, time.Millisecond), pause)):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// renew renews the lease until the context ends or the lease is lost: to another owner, or
// because no renewal succeeded within the TTL.
func (h *Held) renew() {
	defer close(h.stopped)
	every := time.NewTicker(max(h.ttl/3, time.Millisecond))
	defer every.Stop()
	for last := time.Now(); ; {
		select {
		case <-h.ctx.Done():
			return
		case <-every.C:
		}
		began := time.Now()
		err := h.renewOnce(last.Add(h.ttl))
		switch {
		case err == nil:
			last = began
		case errors.Is(err, ErrFenced), time.Since(last) >= h.ttl:
			h.cancel(fmt.Errorf("%w: thread %q: %w", ErrLeaseLost, h.thread, err))
			return
		}
	}
}

// renewOnce renews the lease. It waits for the store until the lease ends, or at least until the
// next renewal is due. When thousands of leases are renewed at once, a shorter timeout would move
// each retry to the end of the queue.
func (h *Held) renewOnce(end time.Time) error {
	ctx, cancel := context.WithTimeout(h.ctx, max(time.Until(end), h.ttl/3, time.Millisecond))
	defer cancel()
	return h.extend(ctx)
}

// extend renews the lease once.
func (h *Held) extend(ctx context.Context) error {
	_, err := h.leaser.Acquire(ctx, LeaseRequest{Thread: h.thread, TTL: h.ttl, Fence: h.lease.Fence})
	return err
}
