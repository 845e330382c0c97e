package topic

import (
	"bytes"
	"context"
	"iter"
	"sync"
)

// Local is a Bus for one process. The zero Local is ready for use. It must not be copied
// after first use.
type Local struct {
	// Keep is how many events a topic stores for slow subscribers; 0 means 1024. Set it before
	// the first use.
	Keep int

	mu    sync.Mutex
	rings map[string]*ring
}

var _ Bus = (*Local)(nil)

// ring holds the newest events of a topic.
type ring struct {
	last uint64        // position of the newest event
	data [][]byte      // the event at position p has index (p-1) % len
	more chan struct{} // closed by the next event
}

// Publish implements Bus.
func (l *Local) Publish(ctx context.Context, name string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := CheckName(name); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.ring(name)
	if own := bytes.Clone(data); len(r.data) < l.keep() {
		r.data = append(r.data, own)
	} else {
		r.data[r.last%uint64(len(r.data))] = own
	}
	r.last++
	close(r.more)
	r.more = make(chan struct{})
	return nil
}

// Last implements Bus.
func (l *Local) Last(ctx context.Context, name string) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := CheckName(name); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ring(name).last, nil
}

// Delete implements Bus.
func (l *Local) Delete(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := CheckName(name); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.rings[name]; r != nil {
		close(r.more)
		delete(l.rings, name)
	}
	return nil
}

// Follow implements Bus.
func (l *Local) Follow(ctx context.Context, name string, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := CheckName(name); err != nil {
			yield(Event{}, err)
			return
		}
		for at := after; ctx.Err() == nil; {
			event, missed, more := l.next(name, at)
			switch {
			case missed != nil && !yield(Event{}, missed):
				return
			case missed != nil:
				at = missed.From - 1 + missed.Count
			case more == nil && !yield(event, nil):
				return
			case more == nil:
				at = event.Position
			default:
				select {
				case <-more:
				case <-ctx.Done():
				}
			}
		}
	}
}

// next returns the event after a position, or an error if events were missed, or a channel that the
// next event closes. The position may be greater than that of the newest event.
func (l *Local) next(name string, at uint64) (Event, *MissedError, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.ring(name)
	stored := uint64(len(r.data))
	switch {
	case at >= r.last:
		return Event{}, nil, r.more
	case at < r.last-stored:
		return Event{}, &MissedError{Name: name, From: at + 1, Count: r.last - stored - at}, nil
	}
	return Event{Position: at + 1, Data: bytes.Clone(r.data[at%stored])}, nil, nil
}

func (l *Local) keep() int {
	if l.Keep > 0 {
		return l.Keep
	}
	return 1024
}

// ring returns the ring of a topic. The caller holds l.mu.
func (l *Local) ring(name string) *ring {
	r := l.rings[name]
	if r == nil {
		r = &ring{more: make(chan struct{})}
		if l.rings == nil {
			l.rings = map[string]*ring{}
		}
		l.rings[name] = r
	}
	return r
}
