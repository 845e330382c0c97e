package server

import (
	"net/http"

	"github.com/weftrun/weft/server/wire"
)

// Drain prepares the end of the process. GET /ok is a 503 from then on, and so is every request
// that would wait for a run here; other processes serve them. What is under way goes on: end its
// requests when Work has returned, by the context of the connection. A stream then ends, and its
// client goes on elsewhere.
func (s *Server) Drain() { s.draining.Store(true) }

// retryAfter is after how many seconds a client may try again.
const retryAfter = "1"

// errDraining is the answer to a request that another process has to serve.
func errDraining() *wire.Error {
	return wire.Errorf(wire.CodeDraining, "the server stops; try again")
}

// waits is the handler of an endpoint that follows a run. It refuses requests while the server
// drains, and those beyond Limits.Streams.
func waits(handle func(*call) error) func(*call) error {
	return func(c *call) error {
		if c.server.draining.Load() {
			return errDraining()
		}
		leave, err := c.server.follow()
		if err != nil {
			return err
		}
		defer leave()
		return handle(c)
	}
}

// cutOff ends an answer that waits for a run, because the process ends. Where the answer has begun,
// the connection breaks, so that the client does not take it for a whole one.
func (c *call) cutOff(begun bool) error {
	switch {
	case !c.server.draining.Load():
		return c.Context().Err() // the client has gone
	case begun:
		panic(http.ErrAbortHandler)
	}
	return errDraining()
}
