package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/weftrun/weft/server/wire"
)

const (
	socketFrame         = 1 << 20 // bytes of a frame
	socketPing          = 20 * time.Second
	socketSubscriptions = 32 // at once
	socketCommands      = 4  // that may wait while another is executed
	socketForbidden     = 4403
	socketNotFound      = 4404
	socketInvalid       = 4422
)

// openSocket serves the protocol on a WebSocket: commands and their answers, and the events of the
// subscriptions.
func openSocket(c *call) error {
	if token := c.URL.Query().Get("token"); token != "" && c.Header.Get("Authorization") == "" {
		c.Header.Set("Authorization", "Bearer "+token)
	}
	if err := c.authenticate(); err != nil {
		return err
	}
	if !c.sameOrigin() {
		return wire.Errorf(wire.CodeForbidden, "the origin of the page is not allowed")
	}
	t, refused := c.protocolThread()
	conn, err := websocket.Accept(c.w, c.Request, &websocket.AcceptOptions{InsecureSkipVerify: true}) // sameOrigin was asked
	if err != nil {
		return nil //nolint:nilerr // Accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	if refused != nil {
		f, hidden := faultOf(refused)
		if hidden {
			c.server.log().ErrorContext(c.Context(), "server: a socket", "request_id", c.id, "error", refused)
		}
		_ = conn.Close(closeCode(f), truncated(f.Detail, 100)) // the client may have gone
		return nil
	}
	ctx, stop := context.WithCancel(c.Context())
	s := &socket{c: c, thread: t, conn: conn, subscriptions: map[string]*subscription{}}
	defer s.readers.Wait()
	defer stop()
	conn.SetReadLimit(socketFrame)
	s.readers.Go(func() { s.ping(ctx, stop) })
	// Frames are read while a command is executed: otherwise the answer to a ping would wait.
	commands := make(chan []byte, socketCommands)
	s.readers.Go(func() {
		defer stop()
		defer close(commands)
		s.read(ctx, commands)
	})
	for data := range commands {
		if !s.receive(ctx, data) {
			return nil
		}
	}
	return nil
}

// read passes on the frames of the client until it has gone or ctx ends.
func (s *socket) read(ctx context.Context, frames chan<- []byte) {
	for {
		_, data, err := s.conn.Read(ctx)
		if err != nil {
			return
		}
		select {
		case frames <- data:
		case <-ctx.Done():
			return
		}
	}
}

// closeCode returns the code with which a socket is refused.
func closeCode(f *wire.Error) websocket.StatusCode {
	switch f.HTTPStatus(wire.Python) {
	case http.StatusForbidden, http.StatusUnauthorized:
		return socketForbidden
	case http.StatusNotFound:
		return socketNotFound
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		return socketInvalid
	}
	return websocket.StatusInternalError
}

func truncated(s string, n int) string { return s[:min(len(s), n)] }

// sameOrigin reports whether a page may open a socket here: one of this server, or of an allowed
// origin. Clients that are no browsers send no origin.
func (c *call) sameOrigin() bool {
	origin := c.Header.Get("Origin")
	if origin == "" || c.server.config.CORS.allows(origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host == c.Host
}

// socket is a WebSocket with its subscriptions.
type socket struct {
	c       *call
	thread  thread
	conn    *websocket.Conn
	readers sync.WaitGroup

	mu            sync.Mutex
	subscriptions map[string]*subscription // by id
}

// write sends a frame, within the time of a write. The error is an errGone.
func (s *socket) write(ctx context.Context, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := s.conn.Write(ctx, websocket.MessageText, data); err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return nil
}

// ping asks the client for a sign of life, until ctx ends.
func (s *socket) ping(ctx context.Context, stop func()) {
	tick := time.NewTicker(socketPing)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			limit, cancel := context.WithTimeout(ctx, socketPing)
			err := s.conn.Ping(limit)
			cancel()
			if err != nil {
				stop()
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// receive answers a frame. It returns false if the client has gone.
func (s *socket) receive(ctx context.Context, data []byte) bool {
	command, err := wire.ReadCommand(data)
	if err != nil {
		f, _ := commandFaultOf(err)
		return s.write(ctx, wire.CommandError(nil, f.code, f.message)) == nil
	}
	switch command.Method {
	case "subscription.subscribe":
		err = s.subscribe(ctx, command)
	case "subscription.unsubscribe":
		err = s.unsubscribe(ctx, command)
	case "subscription.reconnect":
		err = s.reconnect(ctx, command)
	default:
		return s.write(ctx, s.c.execute(s.thread, command)) == nil
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, errGone) {
		err = s.write(ctx, s.c.failed(ctx, command, err))
	}
	return err == nil
}

func (s *socket) answer(ctx context.Context, command wire.Command, result any) error {
	data, err := wire.CommandResult(command, result, s.thread.ThreadID, 0)
	if err != nil {
		return err
	}
	return s.write(ctx, data)
}
