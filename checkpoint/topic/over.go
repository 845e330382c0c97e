package topic

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// Table is the storage of a [Polled] bus: events that are appended and read. It is safe for
// concurrent use, by many processes. Names have been checked.
type Table interface {
	// Append stores an event at the position after the newest one of its topic, and removes all but
	// the newest keep events of the topic.
	Append(ctx context.Context, name string, data []byte, keep int) error
	// Last returns the positions of the newest events of topics, 0 for a topic without events.
	Last(ctx context.Context, names ...string) ([]uint64, error)
	// Read returns the stored events of a topic after a position in order: at most limit, and none
	// after MaxPage bytes.
	Read(ctx context.Context, name string, after uint64, limit int) ([]Event, error)
	// Remove removes a topic with its events.
	Remove(ctx context.Context, name string) error
}

// Versioned is a Table that can report at little cost whether it may have changed, whatever the
// number of topics. A [Polled] bus asks for the newest positions only when the version is another.
type Versioned interface {
	Table
	// Version returns a number, not 0, that differs from each one before it if an event was
	// appended in between.
	Version(ctx context.Context) (uint64, error)
}

// Polled is a Bus over a Table that several processes share. An event of this process reaches its
// followers at once. For the events of others, one goroutine looks at the table as long as there
// are followers. A follower tries again while the storage is unavailable. If the storage has lost
// its newest events, a follower that has read them gets a *MissedError, and begins again at the
// first event.
type Polled struct {
	table Table
	keep  int
	every time.Duration

	mu      sync.Mutex
	topics  map[string]*followed
	version uint64             // of a Versioned table when it was last looked at
	stop    context.CancelFunc // of the goroutine that polls; nil if there is none
}

// followed is a topic with followers.
type followed struct {
	followers int
	last      uint64        // the newest position that is known
	more      chan struct{} // closed when last grows
}

var _ Bus = (*Polled)(nil)

const (
	// MaxData is how many bytes an event of a [Polled] bus may have.
	MaxData = 16 << 20
	// MaxPage is the number of bytes after which [Table].Read stops.
	MaxPage = 4 << 20

	firstPage = 8   // events that a follower reads at first, as it may need no more
	pageSize  = 128 // and at most
)

// Over returns a bus that stores the newest keep events of each topic in a table. If keep is 0, it
// stores 10,000. It looks for events of other processes once per every, 20 ms if it is 0.
func Over(t Table, keep int, every time.Duration) *Polled {
	if keep <= 0 {
		keep = 10_000
	}
	if every <= 0 {
		every = 20 * time.Millisecond
	}
	return &Polled{table: t, keep: keep, every: every, topics: map[string]*followed{}}
}

// Publish implements Bus. It returns a checkpoint.ErrTooLarge for more than MaxData bytes.
func (b *Polled) Publish(ctx context.Context, name string, data []byte) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if len(data) > MaxData {
		return fmt.Errorf("%w: topic %q: the event has %d bytes of at most %d", checkpoint.ErrTooLarge, name, len(data), MaxData)
	}
	if err := b.table.Append(ctx, name, data, b.keep); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.topics[name]; t != nil {
		t.wake()
	}
	return nil
}

// wake wakes the followers of a topic.
func (t *followed) wake() {
	close(t.more)
	t.more = make(chan struct{})
}

// Last implements Bus.
func (b *Polled) Last(ctx context.Context, name string) (uint64, error) {
	if err := CheckName(name); err != nil {
		return 0, err
	}
	last, err := b.table.Last(ctx, name)
	if err != nil {
		return 0, err
	}
	return last[0], nil
}

// Delete implements Bus.
func (b *Polled) Delete(ctx context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return b.table.Remove(ctx, name)
}

// Follow implements Bus.
func (b *Polled) Follow(ctx context.Context, name string, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := CheckName(name); err != nil {
			yield(Event{}, err)
			return
		}
		b.join(name)
		defer b.leave(name)
		woken := false // by news, and nothing was read since
		for at, size := after, firstPage; ctx.Err() == nil; size = min(4*size, pageSize) {
			more, last := b.news(name)
			events, err := b.table.Read(ctx, name, at, size)
			if err != nil && ctx.Err() == nil && !passing(err) {
				yield(Event{}, err)
				return
			}
			for _, e := range events {
				if missed := e.Position - at - 1; missed > 0 && !yield(Event{}, &MissedError{Name: name, From: at + 1, Count: missed}) {
					return
				}
				if ctx.Err() != nil || !yield(e, nil) {
					return
				}
				at = e.Position
			}
			switch {
			case len(events) > 0:
				woken = false
			case woken && err == nil && last < at && b.isLost(ctx, name, at):
				missed := &MissedError{Name: name, From: at + 1}
				if at, woken = 0, false; !yield(Event{}, missed) {
					return
				}
			default:
				b.wait(ctx, more, err != nil)
				woken = true
			}
		}
	}
}

// isLost reports whether the storage has lost the events up to a position, so that its newest one
// is before it.
func (b *Polled) isLost(ctx context.Context, name string, at uint64) bool {
	last, err := b.table.Last(ctx, name)
	return err == nil && last[0] < at
}

// passing reports whether a failure of the storage may pass.
func passing(err error) bool {
	return errors.Is(err, checkpoint.ErrUnavailable) || errors.Is(err, checkpoint.ErrBusy)
}

// wait waits for news, and after a failure for a while.
func (b *Polled) wait(ctx context.Context, more <-chan struct{}, failed bool) {
	var again <-chan time.Time
	if failed {
		timer := time.NewTimer(b.every)
		defer timer.Stop()
		again = timer.C
	}
	select {
	case <-more:
	case <-again:
	case <-ctx.Done():
	}
}

// news returns a channel that is closed when there are new events of a followed topic. It also
// returns the newest position that was seen; events of this process may be newer.
func (b *Polled) news(name string) (more <-chan struct{}, last uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.topics[name]
	return t.more, t.last
}

// join adds a follower. The first one starts the goroutine that polls.
func (b *Polled) join(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.topics[name]
	if t == nil {
		t = &followed{more: make(chan struct{})}
		b.topics[name] = t
	}
	t.followers++
	if b.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		b.stop = stop
		go b.poll(ctx)
	}
}

// leave removes a follower. The last one ends the goroutine that polls.
func (b *Polled) leave(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.topics[name]
	if t.followers--; t.followers == 0 {
		delete(b.topics, name)
	}
	if len(b.topics) == 0 {
		b.stop()
		b.stop = nil
	}
}

// poll looks for new events of the followed topics until ctx ends.
func (b *Polled) poll(ctx context.Context) {
	tick := time.NewTicker(b.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.look(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// look wakes the followers of the topics that have new events. A failure of the storage is theirs
// to see: it wakes all.
func (b *Polled) look(ctx context.Context) {
	var version uint64 // 0 if it is not known
	if v, ok := b.table.(Versioned); ok {
		version, _ = v.Version(ctx) // Last has the error too
	}
	b.mu.Lock()
	if version != 0 && version == b.version {
		b.mu.Unlock()
		return
	}
	names := make([]string, 0, len(b.topics))
	for name := range b.topics {
		names = append(names, name)
	}
	b.mu.Unlock()
	if len(names) == 0 {
		return
	}
	last, err := b.table.Last(ctx, names...)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.version = version
	}
	for i, name := range names {
		t := b.topics[name]
		switch {
		case t == nil:
		case err != nil:
			t.wake()
		case last[i] != t.last:
			t.last = last[i]
			t.wake()
		}
	}
}
