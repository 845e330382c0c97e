package studio

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	heartbeat    = 5 * time.Second  // of silence, after which a stream has a comment
	writeTimeout = 10 * time.Second // of each write
)

// stream writes server-sent events. Its methods are safe for concurrent use.
type stream struct {
	control *http.ResponseController
	w       http.ResponseWriter
	timer   *time.Timer

	mu   sync.Mutex
	err  error // of the first write that failed
	done bool
}

// openStream begins an answer of events. close must be called.
func openStream(w http.ResponseWriter) *stream {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // proxies pass each event on at once
	w.WriteHeader(http.StatusOK)
	s := &stream{w: w, control: http.NewResponseController(w)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(heartbeat, func() { _ = s.write(": alive\n\n") })
	s.put("retry: 500\n\n")
	return s
}

// send writes an event. The id may be "". Data are one line.
func (s *stream) send(event, id string, data []byte) error {
	var b strings.Builder
	b.WriteString("event: " + event + "\n")
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("data: ")
	b.Write(data)
	b.WriteString("\n\n")
	return s.write(b.String())
}

func (s *stream) write(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(text)
	return s.err
}

// put writes and flushes within the time of a write. s.mu must be locked.
func (s *stream) put(text string) {
	if s.err != nil || s.done {
		return
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // not every writer has deadlines
	if _, s.err = s.w.Write([]byte(text)); s.err == nil {
		s.err = s.control.Flush()
	}
	s.timer.Reset(heartbeat)
}

// close ends the stream. Nothing is written after it.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	s.timer.Stop()
	_ = s.control.SetWriteDeadline(time.Time{})
}
