package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// HoldPolicy says what Hold does when somebody else has the thread.
type HoldPolicy int

const (
	// Reject returns the *BusyError. It is the default.
	Reject HoldPolicy = iota
	// Wait tries again until the thread is free or the context ends.
	Wait
	// TakeOver takes the thread: whoever had it writes nothing any more.
	TakeOver
	// NoLease holds nothing. Whoever loses the race for a commit has worked in vain.
	NoLease
)

// HoldOptions are the settings of Hold. The zero value is ready for use.
type HoldOptions struct {
	// TTL is how long the thread stays held when this process can no longer say so; 0
	// means 30 seconds. While it can, it renews the lease three times as often.
	TTL time.Duration
	// Owner is shown to those who find the thread busy, before the name of the machine
	// and the process: at most 64 bytes.
	Owner  string
	Policy HoldPolicy

	// ID, if it is not "", names the lease, as LeaseRequest.ID does: the same ID holds the same
	// lease again. Such a lease belongs to no process: others hold it too, by its Fence, and it
	// is not taken over when the process that acquired it has ended.
	ID string
	// Fence, if it is not "", names a lease that was acquired before, with an ID: Hold renews it, or
	// returns an ErrFenced if the thread was taken over or the lease released. Policy, Owner and ID do
	// not matter then.
	Fence string
}

const maxHoldOwner = 64

// Held is a thread that this process holds, until Release or Leave.
type Held struct {
	leaser  Leaser // nil when the store has no leases
	thread  string
	lease   Lease
	ttl     time.Duration
	ctx     context.Context // the caller works under it, and it ends when the lease is lost
	cancel  context.CancelCauseFunc
	stopped chan struct{} // closed when the goroutine that renews has ended
}

// Hold acquires the lease of a thread and renews it in the background until Release or
// Leave, one of which must be called. Work on the thread under Context, which ends when the
// lease is lost, and write with Fence.
//
// A thread that is held by a process of this machine which no longer exists is taken over
// at once, whatever the policy: killing a run and starting it again costs no waiting. A
// store without leases holds nothing: Hold succeeds, and Fence is "".
func Hold(ctx context.Context, store Store, thread string, o HoldOptions) (*Held, error) {
	if err := CheckThread(thread); err != nil {
		return nil, err
	}
	if len(o.Owner) > maxHoldOwner || !isText(o.Owner) {
		return nil, fmt.Errorf("%w: the owner of a thread is at most %d bytes of text", ErrRequest, maxHoldOwner)
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

// Context ends when the lease is lost, with an ErrLeaseLost as its cause, and after
// Release, and when the context that Hold got ends.
func (h *Held) Context() context.Context { return h.ctx }

// Fence returns what Commit, Put and Drop must carry; "" when the store has no leases.
func (h *Held) Fence() string { return h.lease.Fence }

// Leave stops renewing the lease and does not give the thread back: others hold it too, or will. It
// returns when nothing goes on in the background any more. After Release it does nothing.
func (h *Held) Leave() {
	h.cancel(context.Canceled)
	<-h.stopped
}

// Release gives the thread back, and returns when nothing goes on in the background any
// more. ctx bounds the call of the store only. A lease that was lost is no error. After
// the first time it does nothing.
func (h *Held) Release(ctx context.Context) error {
	h.Leave()
	if h.leaser == nil {
		return nil
	}
	err := h.leaser.Release(ctx, h.thread, h.lease.Fence)
	h.leaser = nil
	return err
}

// acquire gets the lease as the policy says.
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

// renew keeps the lease until the context ends, or until it is lost: to somebody else, or
// because for its whole time no renewal has come through.
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

// renewOnce waits until the lease ends, or at least until the next renewal is due. Where thousands
// of threads renew theirs at once, a renewal that is given up sooner and asked for again goes to
// the end of the queue each time.
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
