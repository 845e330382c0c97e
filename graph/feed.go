package graph

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// feed carries the events of a run, and of the subgraphs in it, to its readers. Any
// goroutine of the run may send; each event reaches all readers at once, so all see
// one order.
type feed struct {
	now   func() time.Time
	modes atomic.Uint64 // what some reader takes
	depth atomic.Int64  // how deep some reader looks
	turn  chan struct{} // held by the sender that waits for room; others queue behind it
	freed chan struct{} // tells it that there may be room

	mu       sync.Mutex
	seats    []*spot
	seq      uint64
	senders  int   // those that wait for room
	closed   bool  // the run has ended
	err      error // then: why it failed
	last     Event // then: its Ended event, or none
	messages map[string]count
}

func newFeed(now func() time.Time) *feed {
	return &feed{now: now, turn: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
}

// wants reports whether some reader takes events of this mode, this many subgraphs down.
func (f *feed) wants(m Mode, depth int) bool {
	return Mode(f.modes.Load())&m != 0 && int64(depth) < f.depth.Load()
}

// survey notes what the readers take.
func (f *feed) survey() {
	var modes Mode
	depth := 0
	for _, s := range f.seats {
		modes |= s.modes
		depth = max(depth, s.depth)
	}
	f.modes.Store(uint64(modes))
	f.depth.Store(int64(depth))
}

// send gives an event of a node to all who take it. It waits for those that are full
// and not lossy until ctx or life, the run's own, ends; the event is then not sent.
func (f *feed) send(ctx, life context.Context, depth int, ev Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.await(ctx, life, ev.Mode, depth); err != nil {
		return err
	}
	f.deliver(depth, ev)
	return nil
}

// tell gives an event of the run to all who take it. When life has ended it does
// not wait, and no event is lost either: there are a few more for each task that was
// under way, and buffers grow beyond their bound.
func (f *feed) tell(life context.Context, depth int, ev Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.await(life, life, ev.Mode, depth)
	f.deliver(depth, ev)
}

// await waits until there is room for an event. It lets go of f.mu while it waits.
func (f *feed) await(ctx, life context.Context, m Mode, depth int) error {
	if f.senders == 0 && f.room(m, depth) {
		return nil
	}
	f.senders++
	defer func() { f.senders-- }()
	if err := f.sleep(ctx, life, f.turn, nil); err != nil {
		return err
	}
	defer func() { <-f.turn }()
	for !f.room(m, depth) {
		if err := f.sleep(ctx, life, nil, f.freed); err != nil {
			return err
		}
	}
	return nil
}

// sleep waits, without f.mu, for the turn to wait or for room.
func (f *feed) sleep(ctx, life context.Context, turn chan<- struct{}, freed <-chan struct{}) error {
	f.mu.Unlock()
	defer f.mu.Lock()
	select {
	case turn <- struct{}{}:
		return nil
	case <-freed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-life.Done():
		return context.Cause(life)
	}
}

// room reports whether every reader that may not lose this event has room for it.
func (f *feed) room(m Mode, depth int) bool {
	for _, s := range f.seats {
		if !s.lossy && s.takes(m, depth) && s.queue.n >= s.limit {
			return false
		}
	}
	return true
}

// deliver numbers an event and puts it into the buffers.
func (f *feed) deliver(depth int, ev Event) {
	if f.closed {
		return
	}
	taken := ev.Mode == Ended
	for _, s := range f.seats {
		taken = taken || s.takes(ev.Mode, depth)
	}
	if !taken {
		return // whoever wanted it has left
	}
	f.seq++
	ev.Seq, ev.Time = f.seq, f.now()
	if ev.Mode == Ended {
		f.last = ev
	}
	for _, s := range f.seats {
		if s.takes(ev.Mode, depth) {
			s.put(ev)
		}
	}
}

// close tells the readers that no more events come, and why the run failed.
func (f *feed) close(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed, f.err = true, err
	for _, s := range f.seats {
		s.wake()
	}
	f.seats = nil
	f.survey()
	f.free()
}

// free wakes the sender that waits for room, if one does.
func (f *feed) free() {
	if f.senders > 0 {
		select {
		case f.freed <- struct{}{}:
		default:
		}
	}
}
