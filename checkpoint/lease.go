package checkpoint

import (
	"context"
	"strings"
	"time"
)

// This file has the optional interfaces of a Store. The stores of this module implement all of
// them. A store of your own may leave some out. checkpointtest tests those that it finds.

// Leaser is a Store on which a writer can own a thread for some time. Compare-and-set already
// prevents forks of a chain. A lease also prevents two writers from doing, and paying for, the same
// work.
//
// The fence of a lease identifies it; no other lease ever has the same. While a thread is leased,
// and after the lease has run out, Commit, Put and Drop must carry the fence; otherwise they
// return a *FencedError. After Release, and on a thread that was never leased, they must carry
// none. So a writer that was taken over can never write again. A retry of a commit that is already
// the head fails too. Delete and the expiry of a thread also end its lease. Times are measured by
// the store's clock, never by the caller's.
type Leaser interface {
	// Acquire leases a thread, which need not exist, for r.TTL. If the lease of another
	// owner has not run out it returns a *BusyError, unless r.Force is set. With r.Fence it
	// renews that lease instead, even if it has run out. A renewal is a *FencedError if
	// another owner has taken the thread over, or the lease was released or deleted.
	//
	// A request is granted once. The same request again, identified by r.ID, returns the
	// same lease, or a *FencedError if that lease was released or taken over meanwhile. So a
	// lost reply is safe to retry. A thread remembers its newest MaxLeaseLog leases until
	// it is deleted or expires.
	Acquire(ctx context.Context, r LeaseRequest) (Lease, error)

	// Release ends a lease. A lease that another owner has taken over is no error.
	Release(ctx context.Context, thread, fence string) error
}

// LeaseRequest asks for a lease.
type LeaseRequest struct {
	Thread string
	Owner  string // the name of the new owner, for people and for a BusyError; at most MaxOwner bytes
	TTL    time.Duration
	Fence  string // the lease to renew; "" asks for a new one
	Force  bool   // take the thread over from its owner
	Over   string // with Force: only from this owner; "" means from any

	// ID identifies the request: 1 to MaxID letters and digits that no other request has, see
	// NewFence. It becomes the fence of the lease. If it is "" the store generates one. A
	// renewal has none.
	ID string
}

// MaxLeaseLog is how many of its newest leases a thread remembers.
const MaxLeaseLog = 32

// LeaseLog is the list of a thread's newest leases as text: their fences, the newest first,
// separated by spaces. A store can store it with the lease.
type LeaseLog string

// Has reports whether a lease is in the log.
func (l LeaseLog) Has(fence string) bool {
	if l == "" {
		return fence == ""
	}
	return strings.Contains(" "+string(l)+" ", " "+fence+" ")
}

// With returns a log with a new lease added and at most MaxLeaseLog leases.
func (l LeaseLog) With(fence string) LeaseLog {
	if l == "" {
		return LeaseLog(fence)
	}
	list := append([]string{fence}, strings.Fields(string(l))...)
	return LeaseLog(strings.Join(list[:min(len(list), MaxLeaseLog)], " "))
}

// Lease is a granted lease of a thread.
type Lease struct {
	Fence string
	Owner string
	TTL   time.Duration // the remaining time, by the store's clock
}

// Dropper is a Store whose chains can be pruned.
type Dropper interface {
	// Drop removes commits before the head of a chain, and blobs that no other commit
	// needs, in one atomic call. The caller decides which. If the head is not d.Head, Drop
	// returns a *ConflictError and changes nothing. The head itself can be dropped only with
	// its whole namespace. Missing commits and blobs are no error. A Drop with All of a
	// missing namespace succeeds whatever d.Head is, so a lost reply is safe to retry.
	Drop(ctx context.Context, d Drop) error
}

// Drop is what to remove from a chain.
type Drop struct {
	Key
	Head    uint64
	Commits []uint64
	Blobs   []Blob // without Data
	// All drops the whole namespace, with its head and pending entries; Commits and Blobs are
	// ignored then. Only Delete removes the root.
	All   bool
	Fence string
}

// Expirer is a Store whose threads can expire.
type Expirer interface {
	// Expire lets a thread expire, with everything stored of it, when ttl has passed; 0
	// means never. An expired thread is not found, like a deleted one. A thread expires as
	// a whole. An unknown thread is an ErrNotFound.
	Expire(ctx context.Context, thread string, ttl time.Duration) error
}
