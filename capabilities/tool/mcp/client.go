package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftrun/weft/internal/subprocess"
)

// ErrConfig is returned for a Server that cannot be used.
var ErrConfig = errors.New("mcp: invalid server")

// ErrClosed is returned by the calls of a Client after Close.
var ErrClosed = errors.New("mcp: the client is closed")

// The limits that apply by default.
const (
	defaultTimeout = time.Minute
	closeWait      = 5 * time.Second // how long a program may take to end by itself
	maxPages       = 1000            // of a list
)

// Server describes how a server is reached: by Command or by URL.
type Server struct {
	// Name begins the names of the tools, as in files_read for the tool read, and is in errors. ""
	// leaves the tools the names that the server gives them.
	Name string

	// Command is a program and its arguments. The program is looked up in the PATH of this process.
	Command []string
	Dir     string   // where it runs; "" is the working directory of this process
	Env     []string // NAME=VALUE; nothing else of the environment passes

	// URL is the address of a server of the streamable HTTP transport.
	URL string
	// Header is sent with each request to URL.
	Header http.Header
	// HTTP makes the requests; nil is http.DefaultClient.
	HTTP *http.Client

	// Timeout limits each request, and the start of the server; 0 is one minute.
	Timeout time.Duration
	// Tools are the tools to use, by the names that the server gives them; nil is all.
	Tools []string
	// Resources adds the tools list_resources and read_resource, by which an agent reads what the
	// server lets clients read.
	Resources bool
	// Prompts adds the tools list_prompts and get_prompt.
	Prompts bool
	// Permit reports whether a person must permit each call of a tool; nil permits all.
	Permit func(name string, hints Hints) bool

	// Idle ends a connection, and a program, that has had no request for so long; 0 is never. The
	// next request connects again.
	Idle time.Duration
	// Ask asks a person what the server wants to know during a call. If it returns an error, the
	// call is given up and returns that error. Calls of the server then run one at a time, because
	// the protocol does not name the call that a question belongs to. nil lets the server ask
	// nothing.
	Ask func(ctx context.Context, q Question) (Reply, error)
}

// Question is what a server wants to know from a person.
type Question struct {
	Message string
	// Schema is the JSON Schema of the answer, an object of plain values.
	Schema json.RawMessage
}

// Reply is the answer to a Question.
type Reply struct {
	// Action is accept, decline, or cancel if there is no decision.
	Action string
	// Content is the answer, if Action is accept.
	Content map[string]any
}

// Hints are what a server claims about a tool. They need not be true.
type Hints struct {
	ReadOnly    bool // it changes nothing
	Destructive bool // it may remove or overwrite something; true unless the server denies it
	Idempotent  bool // a second call with the same arguments changes nothing more
	OpenWorld   bool // it deals with things outside of the server; true unless the server denies it
}

// ServerError is returned for a request that a server did not answer, or refused.
type ServerError struct {
	Server  string // Server.Name, or the program or the URL
	Request string // such as "tools/call read"
	// Stderr is the end of what a program has written to its standard error.
	Stderr string
	Err    error
}

// maxShown is how much of the standard error the text of an error has, in bytes.
const maxShown = 2 << 10

func (e *ServerError) Error() string {
	text := fmt.Sprintf("mcp: server %.100q: %.100s: %v", e.Server, e.Request, e.Err)
	if said := strings.TrimSpace(e.Stderr); said != "" {
		text += ": " + strings.ToValidUTF8(said[max(0, len(said)-maxShown):], "")
	}
	return text
}

// Unwrap returns Err.
func (e *ServerError) Unwrap() error { return e.Err }

// Client is a connection with a server. It connects again when the server has ended. It is safe for
// concurrent use.
type Client struct {
	server Server
	sdk    *sdk.Client

	asking asking

	mu     sync.Mutex // held while the client connects
	now    *session   // nil before the first request, and after the server has ended
	closed bool
	busy   int         // requests that run
	idle   *time.Timer // nil before the first request has ended
}

// session is one life of a server.
type session struct {
	*sdk.ClientSession
	program *subprocess.Program // nil for a URL
	ended   chan struct{}       // closed when the connection has ended
	late    atomic.Bool         // a request had no answer in time
}

// Open connects with a server, and starts it if it is a program.
func Open(ctx context.Context, s Server) (*Client, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	c := newClient(s)
	ctx, cancel := context.WithTimeout(ctx, s.timeout())
	defer cancel()
	if _, err := c.session(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// New returns a client that connects when it is first used, or an [ErrConfig].
func New(s Server) (*Client, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return newClient(s), nil
}

func newClient(s Server) *Client {
	c := &Client{server: s}
	options := &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}}
	if s.Ask != nil {
		options.ElicitationHandler = c.elicit
	}
	c.sdk = sdk.NewClient(&sdk.Implementation{Name: "weft", Version: "1"}, options)
	return c
}

func (s *Server) check() error {
	switch {
	case (len(s.Command) == 0) == (s.URL == ""):
		return fmt.Errorf("%w: it has either Command or URL", ErrConfig)
	case len(s.Command) > 0 && s.Command[0] == "":
		return fmt.Errorf("%w: Command must name a program", ErrConfig)
	case s.Timeout < 0:
		return fmt.Errorf("%w: Timeout must not be negative (got %v)", ErrConfig, s.Timeout)
	case s.Idle < 0:
		return fmt.Errorf("%w: Idle must not be negative (got %v)", ErrConfig, s.Idle)
	}
	return nil
}

func (s *Server) timeout() time.Duration {
	if s.Timeout == 0 {
		return defaultTimeout
	}
	return s.Timeout
}

// label names the server in errors.
func (s *Server) label() string {
	switch {
	case s.Name != "":
		return s.Name
	case len(s.Command) > 0:
		return s.Command[0]
	}
	return s.URL
}

// Close ends the connection, and the program. Calls that are running fail.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.idle != nil {
		c.idle.Stop()
	}
	if c.now != nil {
		c.now.close()
		c.now = nil
	}
	return nil
}

// session returns the session to use. It connects if there is none, or if the last one has ended.
func (c *Client) session(ctx context.Context) (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	if c.now != nil {
		if !c.now.over() && c.now.answers(ctx) {
			return c.now, nil
		}
		c.now.close()
		c.now = nil
	}
	s, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	c.now = s
	return s, nil
}

// over reports whether the session has ended.
func (s *session) over() bool {
	var done <-chan struct{}
	if s.program != nil {
		done = s.program.Done()
	}
	select {
	case <-s.ended:
		return true
	case <-done:
		return true
	default:
		return false
	}
}

// drop gives a session up, if it is still the one to use.
func (c *Client) drop(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == s {
		s.close()
		c.now = nil
	}
}

func (c *Client) connect(ctx context.Context) (*session, error) {
	s := &session{ended: make(chan struct{})}
	var transport sdk.Transport
	if c.server.URL != "" {
		transport = &sdk.StreamableClientTransport{Endpoint: c.server.URL, HTTPClient: c.server.client(), DisableStandaloneSSE: true}
	} else {
		var err error
		if s.program, err = c.server.start(ctx); err != nil {
			return nil, &ServerError{Server: c.server.label(), Request: "start", Err: err}
		}
		transport = &sdk.IOTransport{Reader: s.program.Out, Writer: keepOpen{s.program.In}}
	}
	var err error
	if s.ClientSession, err = c.sdk.Connect(ctx, transport, nil); err != nil {
		if s.program != nil {
			_ = s.program.Close(0)
		}
		return nil, c.failure(ctx, s, "initialize", err)
	}
	go func() {
		_ = s.Wait()
		close(s.ended)
	}()
	return s, nil
}

// keepOpen leaves it to the session to close the input of a program.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

func (s *Server) start(ctx context.Context) (*subprocess.Program, error) {
	path, err := subprocess.Find(s.Command[0])
	if err != nil {
		return nil, err
	}
	return subprocess.Start(ctx, subprocess.Command{Path: path, Args: s.Command[1:], Dir: s.Dir, Env: s.Env})
}

// client returns a client that sends Header.
func (s *Server) client() *http.Client {
	c := http.Client{}
	if s.HTTP != nil {
		c = *s.HTTP
	}
	c.Transport = &headers{s.Header, c.Transport}
	return &c
}

type headers struct {
	add  http.Header
	next http.RoundTripper // nil is http.DefaultTransport
}

// RoundTrip implements [http.RoundTripper].
func (h *headers) RoundTrip(r *http.Request) (*http.Response, error) {
	next := h.next
	if next == nil {
		next = http.DefaultTransport
	}
	r = r.Clone(r.Context())
	for name, values := range h.add {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	return next.RoundTrip(r)
}

// close ends a session and its program.
func (s *session) close() {
	if s.program == nil {
		_ = s.Close()
		return
	}
	_ = s.program.Close(closeWait) // the end of its output ends the session
	_ = s.Close()
}

// do makes a request within the time limit.
func do[R any](ctx context.Context, c *Client, request string, send func(context.Context, *session) (R, error)) (R, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.server.timeout(), fmt.Errorf("no answer within %v: %w", c.server.timeout(), context.DeadlineExceeded))
	defer cancel()
	defer c.use()()
	var none R
	for again := true; ; again = false {
		s, err := c.session(ctx)
		if err != nil {
			return none, err
		}
		r, err := send(ctx, s)
		var answer *jsonrpc.Error
		switch {
		case err == nil:
			return r, nil
		case errors.As(err, &answer): // the connection is as before
		case ctx.Err() != nil:
			if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				s.late.Store(true)
			}
		default:
			c.drop(s)
			if again && errors.Is(err, sdk.ErrSessionMissing) {
				continue // the server has forgotten the session, and so did not do the request
			}
		}
		return none, c.failure(ctx, s, request, err)
	}
}

// failure returns the error of a request.
func (c *Client) failure(ctx context.Context, s *session, request string, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	e := &ServerError{Server: c.server.label(), Request: request, Err: err}
	if s.program != nil {
		e.Stderr = string(s.program.Stderr())
	}
	return e
}
