package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
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
	// Fence, if it is not "", names a lease that was acquired before: with an ID, if the process
	// that acquired it may end first. Hold renews it, or returns an ErrFenced if the thread was
	// taken over or the lease released. Policy, Owner and ID are ignored then.
	Fence string
	// Renewed is true if another Held of this process renews the lease of Fence, which must be set.
	// Hold then calls no store. The context passed to it must end when the other one loses the
	// lease.
	Renewed bool
}

const maxHoldOwner = 64

// Held is a thread that this process holds, until Release or Leave.
type Held struct {
	leaser Leaser // nil when the store has no leases
	thread string
	lease  Lease
	ttl    time.Duration
	ctx    context.Context // that of Hold; with Context, one that also ends when the lease is lost
	cancel context.CancelCauseFunc
	lost   func(error)

	mu      sync.Mutex
	timer   *time.Timer // of the next renewal
	last    time.Time   // when the newest request began that acquired or renewed the lease
	left    bool        // nothing is renewed any more
	renewal *renewal    // the one that is under way
}

// renewal is a call of the store that renews a lease.
type renewal struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when the call has returned
}

// Hold acquires the lease of a thread and renews it in the background until Release or
// Leave, one of which must be called. Use Context for the work on the thread and Fence for
// writes. The context ends when the lease is lost.
//
// Hold takes a thread over at once, whatever the policy, if its owner was a process of this
// machine that has ended. So a run that was killed and started again does not wait. With a
// store without leases Hold succeeds, and Fence is "".
func Hold(ctx context.Context, store Store, thread string, o HoldOptions) (*Held, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	h, err := HoldWith(ctx, store, thread, o, cancel)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	h.cancel = cancel
	return h, nil
}

// HoldWith is Hold for a caller with a context of its own for the work on the thread. It calls lost
// if the lease is lost, once, with an ErrLeaseLost. It calls nothing after Release or Leave has
// returned. Context returns ctx.
func HoldWith(ctx context.Context, store Store, thread string, o HoldOptions, lost func(error)) (*Held, error) {
	if err := CheckThread(thread); err != nil {
		return nil, err
	}
	if len(o.Owner) > maxHoldOwner || !isText(o.Owner) {
		return nil, fmt.Errorf("%w: owner must be valid UTF-8 without NUL of at most %d bytes (got %.80q)", ErrRequest, maxHoldOwner, o.Owner)
	}
	if o.Renewed && o.Fence == "" {
		return nil, fmt.Errorf("%w: Renewed needs the Fence of the lease that is renewed", ErrRequest)
	}
	if o.TTL == 0 {
		o.TTL = 30 * time.Second
	}
	h := &Held{thread: thread, ttl: o.TTL, ctx: ctx, lost: lost}
	if o.Policy != NoLease {
		h.leaser, _ = store.(Leaser)
	}
	if h.leaser == nil {
		return h, nil
	}
	if o.Fence != "" && o.Renewed {
		h.lease.Fence = o.Fence
		return h, nil
	}
	if err := h.acquire(ctx, o); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(max(h.every()-time.Since(h.last), 0), h.renew)
	return h, nil
}

// Context returns a context that ends when the lease is lost, with an ErrLeaseLost as its
// cause. It also ends after Release or Leave, and when the context passed to Hold ends.
func (h *Held) Context() context.Context { return h.ctx }

// Fence returns the fence for Commit, Put and Drop; "" when the store has no leases.
func (h *Held) Fence() string { return h.lease.Fence }

// Leave stops renewing the lease without releasing it, for a lease that another process holds
// too. It returns when no renewal is under way. After Release it does nothing.
func (h *Held) Leave() {
	if h.cancel != nil {
		h.cancel(context.Canceled)
	}
	h.mu.Lock()
	h.left = true
	if h.timer != nil {
		h.timer.Stop()
	}
	r := h.renewal
	h.mu.Unlock()
	if r != nil {
		r.cancel()
		<-r.done
	}
}

// Release releases the lease. It returns when no renewal is under way. ctx bounds the call of the
// store only. A lost lease is no error. A second call does nothing.
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
	h.last = time.Now()
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
		h.last = time.Now() // the lease may begin at any time from now on
		if h.lease, err = h.leaser.Acquire(ctx, r); err == nil {
			return nil
		}
		var busy *BusyError
		switch {
		case errors.Is(err, ErrUnknownOutcome) && o.ID == "":
			return h.giveBack(ctx, r.ID, err)
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

// giveBackTime bounds giveBack, which may come after the end of the caller's context.
const giveBackTime = time.Second

// giveBack releases a lease that may have been granted, since its request returned err. Else the
// thread would be busy until the lease runs out.
func (h *Held) giveBack(ctx context.Context, fence string, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
	defer cancel()
	_ = h.leaser.Release(ctx, h.thread, fence) // it runs out otherwise
	return err
}

// every is the time between two renewals.
func (h *Held) every() time.Duration { return max(h.ttl/3, time.Millisecond) }

// renew renews the lease, and lets the timer call it again. The timer calls it on a goroutine of
// its own. The lease is lost to another owner, or because no renewal succeeded within the TTL.
func (h *Held) renew() {
	ctx, r := h.beginRenewal()
	if r == nil {
		return
	}
	defer close(r.done)
	defer r.cancel()
	began := time.Now()
	err := h.extend(ctx)
	h.mu.Lock()
	h.renewal = nil
	left := h.left || h.ctx.Err() != nil
	if err == nil {
		h.last = began
	}
	isLost := errors.Is(err, ErrFenced) || err != nil && time.Since(h.last) >= h.ttl
	h.left = left || isLost
	if !h.left {
		h.timer.Reset(max(h.every()-time.Since(began), 0))
	} else {
		h.renewal = r // Leave waits for lost
	}
	h.mu.Unlock()
	if !left && isLost {
		h.lost(fmt.Errorf("%w: thread %q: %w", ErrLeaseLost, h.thread, err))
	}
}

// beginRenewal returns the context of a renewal, which waits for the store until the lease ends, or
// at least until the next renewal is due. When thousands of leases are renewed at once, a shorter
// timeout would move each retry to the end of the queue. It returns nil if nothing is to be
// renewed.
func (h *Held) beginRenewal() (context.Context, *renewal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.left || h.ctx.Err() != nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(h.ctx, max(time.Until(h.last.Add(h.ttl)), h.every()))
	h.renewal = &renewal{cancel, make(chan struct{})}
	return ctx, h.renewal
}

// extend renews the lease once.
func (h *Held) extend(ctx context.Context) error {
	_, err := h.leaser.Acquire(ctx, LeaseRequest{Thread: h.thread, TTL: h.ttl, Fence: h.lease.Fence})
	return err
}
