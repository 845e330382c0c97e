package server

import (
	"context"
	"encoding/json"
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
	s := &socket{c: c, thread: t, conn: conn, subscriptions: map[string]context.CancelFunc{}}
	defer s.readers.Wait()
	defer stop()
	conn.SetReadLimit(socketFrame)
	s.readers.Go(func() { s.ping(ctx, stop) })
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return nil //nolint:nilerr // the client has gone
		}
		if !s.receive(ctx, data) {
			return nil
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
	subscriptions map[string]context.CancelFunc
}

// write sends a frame, within the time of a write.
func (s *socket) write(ctx context.Context, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, data)
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
		err = s.answer(ctx, command, map[string]bool{"restored": false}) // subscriptions end with their socket
	default:
		return s.write(ctx, s.c.execute(s.thread, command)) == nil
	}
	if err != nil && ctx.Err() == nil {
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

// subscribe answers with the number of events that are stored, sends them, and then those to come.
func (s *socket) subscribe(ctx context.Context, command wire.Command) error {
	sub, err := readFilter(command.Params)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	id := newID()
	s.mu.Lock()
	full := len(s.subscriptions) >= socketSubscriptions
	if !full {
		s.subscriptions[id] = cancel
	}
	s.mu.Unlock()
	if full {
		cancel()
		return badCommand("the socket has too many subscriptions")
	}
	protocol := wire.NewProtocol(sub)
	reader := s.c.server.hub.Open(s.thread.ThreadID, 0)
	var replay []wire.ProtocolEvent
	err = reader.Read(ctx, func(e wire.Event) error {
		events, err := protocol.Project(e)
		replay = append(replay, events...)
		return err
	})
	if err == nil {
		err = s.answer(ctx, command, subscribed{id, len(replay)})
	}
	for i := 0; i < len(replay) && err == nil; i++ {
		err = s.write(ctx, replay[i].Data)
	}
	end := func() {
		cancel()
		reader.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.subscriptions, id)
	}
	if err != nil {
		end()
		return err
	}
	s.readers.Go(func() {
		defer end()
		err := s.c.server.counts.slow(followReader(ctx, reader, nil, func(e wire.Event) error {
			events, err := protocol.Project(e)
			for i := 0; i < len(events) && err == nil; i++ {
				err = s.write(ctx, events[i].Data)
			}
			return err
		}))
		if err != nil && ctx.Err() == nil {
			_ = s.conn.Close(websocket.StatusInternalError, "the events are lost") // the client reconnects
		}
	})
	return nil
}

func (s *socket) unsubscribe(ctx context.Context, command wire.Command) error {
	var p struct {
		ID string `json:"subscription_id"`
	}
	if json.Unmarshal(command.Params, &p) != nil {
		return badCommand("subscription_id must be a string")
	}
	s.mu.Lock()
	cancel := s.subscriptions[p.ID]
	delete(s.subscriptions, p.ID)
	s.mu.Unlock()
	if cancel == nil {
		return &commandFault{wire.CommandNoSubscription, "there is no such subscription"}
	}
	cancel()
	return s.answer(ctx, command, nil)
}
