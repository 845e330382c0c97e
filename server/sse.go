package server

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"
)

const (
	heartbeat    = 5 * time.Second  // of silence, after which a stream has a comment
	writeTimeout = 10 * time.Second // of each write
)

// eventStream writes server-sent events. Its methods are safe for concurrent use.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	beats   *beats
	counts  *counts // nil in tests

	mu   sync.Mutex
	last time.Time // when something was written
	err  error     // of the first write that failed
	done bool
}

const (
	beatEvery = 250 * time.Millisecond // between two looks for silent streams
	beatsMost = 256                    // heartbeats that are written at once
)

// beats writes the heartbeats of streams. One goroutine looks after all, so that thousands of idle
// streams need no goroutine each. The zero beats is ready for use.
type beats struct {
	mu      sync.Mutex
	streams map[*eventStream]struct{}
	stop    chan struct{} // ends the goroutine
	done    chan struct{} // closed when it has ended
}

// add adds a stream. The first one starts the goroutine.
func (b *beats) add(s *eventStream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.streams) == 0 {
		b.streams, b.stop, b.done = map[*eventStream]struct{}{}, make(chan struct{}), make(chan struct{})
		go b.run(b.stop, b.done)
	}
	b.streams[s] = struct{}{}
}

// remove removes a stream. The last one ends the goroutine.
func (b *beats) remove(s *eventStream) {
	b.mu.Lock()
	_, found := b.streams[s]
	delete(b.streams, s)
	last, done := found && len(b.streams) == 0, b.done
	if last {
		close(b.stop)
	}
	b.mu.Unlock()
	if last {
		<-done
	}
}

func (b *beats) run(stop, done chan struct{}) {
	defer close(done)
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	slots := make(chan struct{}, beatsMost)
	var writers sync.WaitGroup
	defer writers.Wait()
	for {
		select {
		case now := <-tick.C:
			for _, s := range b.silent(now) {
				slots <- struct{}{}
				writers.Go(func() {
					s.beat()
					<-slots
				})
			}
		case <-stop:
			return
		}
	}
}

// silent returns the streams that need a heartbeat.
func (b *beats) silent(now time.Time) (list []*eventStream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.streams {
		if s.isSilent(now) {
			list = append(list, s)
		}
	}
	return list
}

// isSilent reports whether nothing was written for a while, and nothing is being written.
func (s *eventStream) isSilent(now time.Time) bool {
	if !s.mu.TryLock() {
		return false
	}
	defer s.mu.Unlock()
	return s.err == nil && now.Sub(s.last) >= heartbeat
}

// openStream begins an answer of events. close must be called.
func (c *call) openStream() *eventStream {
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies pass each event on at once
	c.w.WriteHeader(http.StatusOK)
	s := &eventStream{w: c.w, control: http.NewResponseController(c.w), last: time.Now(), beats: &beats{}}
	if c.server != nil {
		s.counts, s.beats = c.server.counts, &c.server.beats
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.control.Flush()
	s.beats.add(s)
	return s
}

// beat writes a comment, so that clients and proxies see that the stream is alive.
func (s *eventStream) beat() {
	if !s.mu.TryLock() {
		return // a write is under way
	}
	defer s.mu.Unlock()
	s.write([]byte(": heartbeat\n\n"))
}

// send writes an event. The id may be "". Data are one line.
func (s *eventStream) send(event, id string, data []byte) error {
	var b bytes.Buffer
	b.WriteString("event: ")
	b.WriteString(event)
	b.WriteString("\ndata: ")
	b.Write(data)
	if id != "" {
		b.WriteString("\nid: ")
		b.WriteString(id)
	}
	b.WriteString("\n\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(b.Bytes())
	return s.err
}

// data writes an event without a name.
func (s *eventStream) data(data []byte) error {
	b := append(append([]byte("data: "), data...), "\n\n"...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(b)
	return s.err
}

// write writes and flushes within the time of a write. s.mu must be locked.
func (s *eventStream) write(data []byte) {
	if s.err != nil || s.done {
		return
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // not every writer has deadlines
	if _, s.err = s.w.Write(data); s.err == nil {
		s.err = s.control.Flush()
	}
	if s.counts != nil && errors.Is(s.err, os.ErrDeadlineExceeded) {
		s.counts.dropped.Add(1)
	}
	s.last = time.Now()
}

// failed reports whether the client has gone.
func (s *eventStream) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// close ends the stream. No heartbeat is written after it.
func (s *eventStream) close() {
	s.beats.remove(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	_ = s.control.SetWriteDeadline(time.Time{})
}
