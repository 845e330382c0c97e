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
	timer   *time.Timer
	counts  *counts // nil in tests

	mu   sync.Mutex
	err  error // of the first write that failed
	done bool
}

// openStream begins an answer of events. close must be called.
func (c *call) openStream() *eventStream {
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies pass each event on at once
	c.w.WriteHeader(http.StatusOK)
	s := &eventStream{w: c.w, control: http.NewResponseController(c.w)}
	if c.server != nil {
		s.counts = c.server.counts
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.control.Flush()
	s.timer = time.AfterFunc(heartbeat, s.beat)
	return s
}

// beat writes a comment, so that clients and proxies see that the stream is alive.
func (s *eventStream) beat() {
	if !s.mu.TryLock() {
		return // a write is under way, which starts the timer again
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
	s.timer.Reset(heartbeat)
}

// failed reports whether the client has gone.
func (s *eventStream) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// close ends the stream. No heartbeat is written after it.
func (s *eventStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	s.timer.Stop()
	_ = s.control.SetWriteDeadline(time.Time{})
}
