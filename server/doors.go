package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
)

// inner returns a call that a request of another protocol makes: the same caller, with other
// parameters of the path, as names and values.
func (c *call) inner(ctx context.Context, path ...string) *call {
	r := (&http.Request{Method: http.MethodPost, URL: c.URL, Header: c.Header, Body: http.NoBody}).WithContext(ctx)
	for i := 0; i+1 < len(path); i += 2 {
		r.SetPathValue(path[i], path[i+1])
	}
	return &call{Request: r, w: discard{http.Header{}}, server: c.server, dialect: wire.Python, who: c.who, id: c.id}
}

// bind returns a context that also ends when the caller has gone.
func (c *call) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	unbind := context.AfterFunc(c.Context(), func() { cancel(context.Cause(c.Context())) })
	return ctx, func() { unbind(); cancel(nil) }
}

// finish waits for the end of a run. If the caller goes before, the run is cancelled.
func (c *call) finish(r queue.Run) (wire.Outcome, error) {
	defer c.reads(r, true)()
	ended, err := c.server.queue.Wait(c.Context(), r.Thread, r.ID)
	switch {
	case errors.Is(err, queue.ErrNotFound): // it was rolled back
		ended = r
	case err != nil:
		return wire.Outcome{}, err
	}
	return c.outcomeOf(ended)
}

// outcomeOf returns how a run has ended. While the store is away it tries again: for an error the
// client might create the run again.
func (c *call) outcomeOf(r queue.Run) (wire.Outcome, error) {
	for until := time.Now().Add(outcomeTime); ; {
		o, err := c.server.outcomeOf(c.Context(), r)
		if !checkpoint.IsTemporary(err) || c.Context().Err() != nil || time.Now().After(until) {
			return o, err
		}
		await(c.Context(), keepAlive)
	}
}

// outcomeTime is how long a client of another protocol waits for a store that is away.
const outcomeTime = 30 * time.Second

// shownFault returns the error of a request of another protocol as the client sees it, and logs
// what it does not see.
func (c *call) shownFault(err error) *wire.Error {
	f, hidden := faultOf(err)
	if hidden && c.Context().Err() == nil {
		c.server.log().ErrorContext(c.Context(), "server: a request failed", "path", c.URL.Path, "request_id", c.id, "error", err)
	}
	return f
}

// acceptsText reports whether a question takes a text as a string.
func acceptsText(in graph.Interrupt, text string) bool {
	value, err := encode(text)
	return err == nil && in.Accepts(value) == nil
}
