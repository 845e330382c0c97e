package queue

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"
)

// workTopic is where processes announce threads whose lines have changed.
const workTopic = "weft.work"

// anyThread is the name under which workers wait for news of all threads.
const anyThread = ""

// signals announces changes to goroutines of this process. The zero signals is ready for use. Most
// threads never change again after a wait for them, so threads share channels: a few
// goroutines are woken by the change of another thread, and look again.
type signals struct {
	mu      sync.Mutex
	waiting map[uint32]chan struct{} // by slotOf
}

const (
	slots   = 1 << 16
	anySlot = slots // of all threads
)

var slotSeed = maphash.MakeSeed()

func slotOf(thread string) uint32 {
	if thread == anyThread {
		return anySlot
	}
	return uint32(maphash.String(slotSeed, thread) % slots)
}

// next returns a channel that is closed by the next change of a thread.
func (s *signals) next(thread string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := slotOf(thread)
	c := s.waiting[slot]
	if c == nil {
		if s.waiting == nil {
			s.waiting = map[uint32]chan struct{}{}
		}
		c = make(chan struct{})
		s.waiting[slot] = c
	}
	return c
}

// changed closes the channels of a thread and of all threads.
func (s *signals) changed(thread string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, slot := range []uint32{slotOf(thread), anySlot} {
		if c := s.waiting[slot]; c != nil {
			close(c)
			delete(s.waiting, slot)
		}
	}
}

// Changed returns a channel that is closed by the next change of a thread, or with "" of any.
func (q *Queue) Changed(thread string) <-chan struct{} { return q.news.next(thread) }

// announce announces to all processes that the line of a thread has changed. What they miss they
// find by looking. The event has the name of the thread, a zero byte, and the id of the queue.
func (q *Queue) announce(ctx context.Context, thread string) {
	q.news.changed(thread)
	if q.config.Bus != nil {
		_ = q.config.Bus.Publish(ctx, workTopic, []byte(thread+"\x00"+q.id))
	}
}

// Follow passes the changes that other processes make on to this one, until ctx ends. A worker and
// a server run it; without a bus it returns at once.
func (q *Queue) Follow(ctx context.Context) error {
	if q.config.Bus == nil {
		return nil
	}
	last, err := q.config.Bus.Last(ctx, workTopic)
	if err != nil {
		return err
	}
	for e, err := range q.config.Bus.Follow(ctx, workTopic, last) {
		if err != nil {
			continue
		}
		thread, by := string(e.Data), ""
		if i := strings.LastIndexByte(thread, 0); i >= 0 {
			thread, by = thread[:i], thread[i+1:]
		}
		if by != q.id {
			q.news.changed(thread)
		}
	}
	return ctx.Err()
}
