package schedule

import (
	"context"
	"sync"
)

// Permits bounds how many functions are at work at once. [Permits.Init] comes before any other use.
type Permits struct {
	once  sync.Once
	limit int
	held  chan struct{} // one element for each permit that is held
}

// Init sets how many permits there are and makes first, which is zero, the holder of one of them.
func (p *Permits) Init(limit int, first *Permit) {
	p.limit, first.from = limit, p
}

// ready returns the channel of what is held. A session that never needs a second permit makes none.
func (p *Permits) ready() chan struct{} {
	p.once.Do(func() {
		p.held = make(chan struct{}, p.limit)
		p.held <- struct{}{} // the first
	})
	return p.held
}

// take waits for a free permit; false means that ctx ended first.
func (p *Permits) take(ctx context.Context) bool {
	held := p.ready()
	select {
	case held <- struct{}{}:
		return true
	default:
	}
	select {
	case held <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *Permits) give() { <-p.ready() }

// Acquire waits for a permit and makes it the one that to, which is zero, holds. If ctx ends first,
// to holds none: its holder only has to come to its end, and goes on without.
func (p *Permits) Acquire(ctx context.Context, to *Permit) *Permit {
	to.from, to.free = p, !p.take(ctx)
	return to
}

// Permit is the right of a goroutine, and of the code it runs, to be at work. It is held except
// while its holder waits for others, so functions that wait for one another cannot use up all
// permits. Several goroutines that share a permit may wait at once.
type Permit struct {
	from *Permits

	mu     sync.Mutex
	waits  int  // how many goroutines wait at this moment
	free   bool // it is not held
	closed bool // no code needs it any more
	known  bool // it was released once: code that waited may still know it
}

// Permits returns what the permit was taken from.
func (p *Permit) Permits() *Permits { return p.from }

// Release begins a wait, which [Permit.Acquire] ends.
func (p *Permit) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = true
	if p.waits++; p.waits == 1 && !p.free && !p.closed {
		p.free = true
		p.from.give()
	}
}

// Acquire ends a wait that began with [Permit.Release]. If ctx ends first, the holder goes on
// without the permit: it only has to come to its end.
func (p *Permit) Acquire(ctx context.Context) {
	p.mu.Lock()
	p.waits--
	wants := p.waits == 0 && p.free && !p.closed
	p.mu.Unlock()
	if wants {
		p.take(ctx)
	}
}

// take acquires a permit that is free.
func (p *Permit) take(ctx context.Context) {
	if !p.from.take(ctx) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waits > 0 || p.closed || !p.free {
		p.from.give()
		return
	}
	p.free = false
}

// Close gives the permit back for good.
func (p *Permit) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if !p.free {
		p.free = true
		p.from.give()
	}
}

// Transfer returns a permit that is held in place of p, for code that may not come back in time.
func (p *Permit) Transfer() *Permit {
	p.mu.Lock()
	defer p.mu.Unlock()
	given := &Permit{from: p.from, free: p.free}
	p.free = true
	return given
}

// Reclaim ends a transfer, whether the code that got it has returned or not.
func (p *Permit) Reclaim(ctx context.Context, given *Permit) {
	given.mu.Lock()
	free := given.free
	given.free, given.closed = true, true
	given.mu.Unlock()
	if free {
		p.take(ctx)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed { // the holder has ended before the code did
		p.from.give()
		return
	}
	p.free = false
}

// suspend is Close for a permit of a worker. It can be used again, unless other code may know it.
func (p *Permit) suspend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.free {
		p.free = true
		p.from.give()
	}
	p.closed = p.known
}

func (p *Permit) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}
