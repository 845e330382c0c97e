package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"hash/maphash"
	"slices"
	"sync"
	"time"
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

// announcement is an event of workTopic.
type announcement struct {
	Queue   string   `json:"queue"`   // the id of the queue that announces
	Threads []string `json:"threads"` // whose lines have changed
}

// readAnnouncement reads an event. An older process sent the name of a thread, a zero byte, and the
// id of the queue.
func readAnnouncement(data []byte) (a announcement) {
	if json.Unmarshal(data, &a) == nil {
		return a
	}
	i := bytes.LastIndexByte(data, 0)
	return announcement{Queue: string(data[i+1:]), Threads: []string{string(data[:max(i, 0)])}}
}

// announcements are the threads that are to be announced.
type announcements struct {
	mu      sync.Mutex
	threads map[string]bool
	done    chan struct{} // closed when all are announced; nil if there are none
}

const (
	threadsAtOnce = 100             // most threads of one announcement
	announceTime  = 5 * time.Second // bounds one announcement
)

// announce announces to all processes that the line of a thread has changed. What they miss they
// find by looking, so it does not wait for the bus, which many changes use at once.
func (q *Queue) announce(thread string) {
	q.news.changed(thread)
	if q.config.Bus == nil {
		return
	}
	a := &q.announcements
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done == nil {
		a.threads, a.done = map[string]bool{}, make(chan struct{})
		go q.publish()
	}
	a.threads[thread] = true
}

// publish publishes announcements until there are none.
func (q *Queue) publish() {
	for {
		threads := q.announcements.take()
		if threads == nil {
			return
		}
		data, err := json.Marshal(announcement{q.id, threads})
		if err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), announceTime)
			err = q.config.Bus.Publish(ctx, workTopic, data)
			cancel()
		}
		if err != nil {
			q.announcements.drop()
		}
	}
}

// drop drops what waits while the bus is away: other processes have looked before it is back.
func (a *announcements) drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.threads)
}

// take takes the threads of the next announcement; nil if there are none.
func (a *announcements) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.threads) == 0 {
		close(a.done)
		a.done = nil
		return nil
	}
	threads := make([]string, 0, min(len(a.threads), threadsAtOnce))
	for t := range a.threads {
		if len(threads) == cap(threads) {
			break
		}
		threads = append(threads, t)
		delete(a.threads, t)
	}
	slices.Sort(threads)
	return threads
}

// Announced waits until the changes that this process has made are announced to the others, as one
// that ends should. Without it they notice them within a second.
func (q *Queue) Announced(ctx context.Context) {
	q.announcements.mu.Lock()
	done := q.announcements.done
	q.announcements.mu.Unlock()
	if done != nil {
		select {
		case <-done:
		case <-ctx.Done():
		}
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
		if a := readAnnouncement(e.Data); a.Queue != q.id {
			for _, thread := range a.Threads {
				q.news.changed(thread)
			}
		}
	}
	return ctx.Err()
}
