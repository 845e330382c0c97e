package queue

import (
	"context"
	"strings"
	"sync"
)

// workTopic is where processes announce threads whose lines have changed.
const workTopic = "weft.work"

// anyThread is the name under which workers wait for news of all threads.
const anyThread = ""

// signals announces changes to goroutines of this process. The zero signals is ready for use.
type signals struct {
	mu       sync.Mutex
	byThread map[string]chan struct{}
}

// next returns a channel that is closed by the next change of a thread.
func (s *signals) next(thread string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.byThread[thread]
	if c == nil {
		if s.byThread == nil {
			s.byThread = map[string]chan struct{}{}
		}
		c = make(chan struct{})
		s.byThread[thread] = c
	}
	return c
}

// changed closes the channels of a thread and of all threads.
func (s *signals) changed(thread string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range []string{thread, anyThread} {
		if c := s.byThread[name]; c != nil {
			close(c)
			delete(s.byThread, name)
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
