package recordedhttp

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Case is one answer of a server.
type Case struct {
	Name string // of its file
	Want string // the kind of the failure, or "ok"
	Text string
	Then string // "", "hang", "flood" or "flood-event"
	Raw  []byte // the response
}

// Load reads the cases of a folder, by name.
func Load(dir string) (all []Case, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("wire: no cases in %s", dir)
	}
	for _, name := range files {
		text, e := os.ReadFile(name)
		if e != nil {
			return nil, e
		}
		c, e := parse(strings.TrimSuffix(filepath.Base(name), ".txt"), string(text))
		if e != nil {
			return nil, e
		}
		all = append(all, c)
	}
	return all, err
}

func parse(name, text string) (Case, error) {
	head, raw, ok := strings.Cut(text, "-- response --\n")
	c := Case{Name: name}
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "want":
			c.Want = value
		case "text":
			c.Text = value
		case "then":
			c.Then = value
		}
	}
	if !ok || c.Want == "" || c.Text == "" {
		return c, fmt.Errorf("wire: %s: a case must have want, text and a response", name)
	}
	c.Raw = response(raw)
	return c, nil
}

// response gives the lines of a head their CRLF.
func response(raw string) []byte {
	head, body, ok := strings.Cut(raw, "\n\n")
	if !ok {
		return []byte(strings.ReplaceAll(raw, "\n", "\r\n"))
	}
	return []byte(strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n" + body)
}

// Stream returns the case of a stream that is as it should be, of these events.
func Stream(events ...string) Case {
	var b strings.Builder
	b.WriteString("HTTP/1.1 200 OK\nContent-Type: text/event-stream\nConnection: close\n\n")
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	b.WriteString("data: [DONE]\n\n")
	return Case{Want: "ok", Raw: response(b.String())}
}

// JSON returns the case of an answer in one piece.
func JSON(body string) Case {
	return Case{Want: "ok", Raw: response("HTTP/1.1 200 OK\nContent-Type: application/json\nConnection: close\n\n" + body)}
}

// Server answers requests with cases, in order, and the last of them for ever.
type Server struct {
	mu       sync.Mutex
	cases    []Case
	requests [][]byte
	headers  []http.Header
}

// NewServer returns a server that plays cases on the connections that Serve is given.
func NewServer(cases ...Case) *Server { return &Server{cases: cases} }

// Requests returns the bodies of the requests so far.
func (s *Server) Requests() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]byte(nil), s.requests...)
}

// Headers returns the headers of the requests so far.
func (s *Server) Headers() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]http.Header(nil), s.headers...)
}

// Serve reads one request from a connection, plays the next case, and closes it.
func (s *Server) Serve(conn net.Conn) {
	defer conn.Close()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	c := s.next(req.Header, body)
	_, err = conn.Write(c.Raw)
	switch {
	case c.Then == "hang":
		_, _ = io.Copy(io.Discard, conn) // until the client leaves
	case c.Then == "flood", c.Then == "flood-event":
		last := append([]byte("\n"), c.Raw[1+bytes.LastIndexByte(bytes.TrimSpace(c.Raw), '\n'):]...)
		if c.Then == "flood-event" {
			last = c.Raw[2+bytes.LastIndex(bytes.TrimSpace(c.Raw), []byte("\n\n")):]
		}
		for err == nil {
			_, err = conn.Write(last)
		}
	}
}

func (s *Server) next(h http.Header, body []byte) Case {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.headers = append(s.requests, body), append(s.headers, h)
	c := s.cases[0]
	if len(s.cases) > 1 {
		s.cases = s.cases[1:]
	}
	return c
}

// Listen serves on a port of this machine until close is called, which waits for what is served.
func (s *Server) Listen() (url string, closed func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { s.Serve(conn) })
		}
	})
	return "http://" + l.Addr().String() + "/v1", func() { _ = l.Close(); wg.Wait() }, nil
}
