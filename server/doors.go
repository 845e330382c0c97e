package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/weftrun/weft/checkpoint/topic"
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
	return c.server.outcomeOf(c.Context(), ended)
}

// shownFault returns the error of a request of another protocol as the client sees it, and logs
// what it does not see.
func (c *call) shownFault(err error) *wire.Error {
	f, hidden := faultOf(err)
	if hidden && c.Context().Err() == nil {
		c.server.log().ErrorContext(c.Context(), "server: a request failed", "path", c.URL.Path, "request_id", c.id, "error", err)
	}
	return f
}

// followRun calls yield with the records of a run until its end, which is the last. Records before
// after are left out. It returns the error of yield, or of a log that has lost the run.
func (c *call) followRun(r queue.Run, after uint64, yield func(wire.Event) error) error {
	ctx, ended := c.untilEnded(r)
	defer ended()
	for e, err := range c.server.events().Follow(ctx, r.Thread, after) {
		var missed *topic.MissedError
		switch {
		case errors.As(err, &missed):
			continue
		case err != nil && ctx.Err() == nil:
			return err
		case err != nil || e.Run != r.ID:
			continue
		}
		var end wire.RunEnd
		last := e.Kind == wire.KindEnd && json.Unmarshal(e.Data, &end) == nil && !end.Handed
		if last { // the end of the run is stored after its events
			_, _ = c.server.queue.Wait(c.Context(), r.Thread, r.ID)
		}
		if err := yield(e); err != nil || last {
			return err
		}
	}
	final := ended()
	if c.Context().Err() != nil {
		return c.Context().Err()
	}
	data, err := encode(endOf(final))
	if err != nil {
		return err
	}
	return yield(wire.Event{Run: r.ID, Kind: wire.KindEnd, Data: data})
}

// endOf returns the end of a run whose last record is missing.
func endOf(r queue.Run) wire.RunEnd {
	end := wire.RunEnd{Status: wire.RunStatus(r.Status), Waiting: len(r.Result) > 0}
	if !end.Status.Final() {
		end.Status = wire.RunInterrupted // it was rolled back
	}
	if r.Error != nil {
		end.Error = &wire.RunError{Error: r.Error.Name, Message: r.Error.Message}
	}
	return end
}

// errGone ends the projection of events whose client has gone.
var errGone = errors.New("server: the client has gone")

// acceptsText reports whether a question takes a text as a string.
func acceptsText(in graph.Interrupt, text string) bool {
	value, err := encode(text)
	return err == nil && in.Accepts(value) == nil
}
