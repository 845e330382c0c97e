package checkpoint

import (
	"context"
	"strings"
	"time"
)

// What a Store may do beyond its duties. The stores of this module do all of it;
// a store of your own may leave some out, and loses only what stands here.
// checkpointtest judges what it finds.

// Leaser is a Store on which a writer can own a thread for a while. Compare-and-set
// already keeps a chain in one line; a lease keeps two writers from doing, and paying
// for, the same work.
//
// A lease is known by its fence, a string that no other lease ever has. While a
// thread is leased, and after the lease has run out, Commit, Put and Drop are refused
// with a *FencedError unless they carry the fence; after Release, and on a thread that
// was never leased, they must carry none. So a writer that was overtaken while it slept
// writes nothing, however late it wakes: not even a commit that is the head already is
// acknowledged to it. Delete, and the end of a thread that expires, end its lease too.
// Time is the store's own, never the caller's.
type Leaser interface {
	// Acquire takes a thread, which need not exist, for r.TTL. If somebody else's lease
	// is still running it returns a *BusyError, unless r.Force. With r.Fence it renews
	// that lease instead, even if it has run out, unless somebody else has taken the
	// thread, or the lease was released or deleted, which is a *FencedError.
	//
	// A request is granted once: the same one again, known by its r.ID, is the lease that
	// it got, or a *FencedError when that lease was released or taken over meanwhile. So a
	// lost reply is safe to retry. A thread remembers its newest MaxLeaseLog leases, until
	// it is deleted or expires.
	Acquire(ctx context.Context, r LeaseRequest) (Lease, error)

	// Release gives a lease back. One that somebody else has taken over is no error.
	Release(ctx context.Context, thread, fence string) error
}

// LeaseRequest asks for a lease.
type LeaseRequest struct {
	Thread string
	Owner  string // says who asks, for people and for a BusyError; at most MaxOwner bytes
	TTL    time.Duration
	Fence  string // the lease to renew; "" asks for a new one
	Force  bool   // take the thread over from its owner
	Over   string // with Force: only from this owner; "" means from any

	// ID names the request, as the ID of a Commit names that: 1 to MaxID letters and digits
	// that no other request has, see NewFence. It becomes the fence of the lease. With "" the
	// store makes one; a renewal has none.
	ID string
}

// MaxLeaseLog is how many leases a thread remembers to have given out.
const MaxLeaseLog = 32

// LeaseLog is a thread's memory of its newest leases as text: their fences, the newest first,
// a space between two. A store that has nothing better keeps it beside the lease.
type LeaseLog string

// Has reports whether a lease is in the log.
func (l LeaseLog) Has(fence string) bool {
	return strings.Contains(" "+string(l)+" ", " "+fence+" ")
}

// With returns a log that has a lease as its newest, without those that are too many.
func (l LeaseLog) With(fence string) LeaseLog {
	list := append([]string{fence}, strings.Fields(string(l))...)
	return LeaseLog(strings.Join(list[:min(len(list), MaxLeaseLog)], " "))
}

// Lease is a thread that is owned.
type Lease struct {
	Fence string
	Owner string
	TTL   time.Duration // how long it still runs, by the store's clock
}

// Dropper is a Store whose chains can be pruned.
type Dropper interface {
	// Drop removes commits from the past of a chain, and blobs that no other commit
	// needs, in one atomic call. The caller has worked out which; the store only does
	// it, and only while the head is still d.Head: otherwise it returns a
	// *ConflictError and changes nothing. The head itself can be dropped only with its
	// whole namespace. What is not there is no error: a Drop of All of a namespace that is not
	// there succeeds, whatever d.Head is, so a call whose reply was lost can be repeated.
	Drop(ctx context.Context, d Drop) error
}

// Drop is what to remove from a chain.
type Drop struct {
	Key
	Head    uint64
	Commits []uint64
	Blobs   []Blob // without Data
	// All drops the namespace, with its head and the entries beside it, as if it had never
	// been; Commits and Blobs do not matter then. The root goes by Delete only.
	All   bool
	Fence string
}

// Expirer is a Store whose threads can expire.
type Expirer interface {
	// Expire lets a thread expire, with everything kept of it, when ttl has passed; 0
	// means never. An expired thread is not found, as if it had been deleted; there is
	// never less than the whole of one. An unknown thread is an ErrNotFound.
	Expire(ctx context.Context, thread string, ttl time.Duration) error
}
