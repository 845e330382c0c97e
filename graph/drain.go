package graph

import "sync/atomic"

// Drain asks runs to stop at the next boundary of a superstep: what runs finishes and
// is committed, and the rest is left to Resume. Any number of runs may share one, as
// all those of a process that shuts down: see RunOptions.Drain. The zero Drain is ready and
// must not be copied.
type Drain struct {
	above  *Drain // another that counts too
	reason atomic.Pointer[string]
}

// Request asks the runs to stop; reason is for who reads their Results. It returns at
// once. Only the first request counts, and it cannot be taken back.
func (d *Drain) Request(reason string) {
	if reason == "" {
		reason = "a drain was requested"
	}
	d.reason.CompareAndSwap(nil, &reason)
}

// Requested returns the reason of the request, and whether there was one.
func (d *Drain) Requested() (reason string, ok bool) {
	for ; d != nil; d = d.above {
		if r := d.reason.Load(); r != nil {
			return *r, true
		}
	}
	return "", false
}
