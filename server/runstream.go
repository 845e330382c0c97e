package server

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/server/work"
)

func streamRun(c *call) error {
	made, err := c.createRun()
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", made.path+"/stream")
	defer c.reads(made.run, made.request.OnDisconnect == "cancel")()
	q := made.request
	return c.stream(made.run, streamOptions{wire.ClassicOptions{
		Run: made.run.ID, Modes: q.StreamMode, Subgraphs: q.Subgraphs, Dialect: c.dialect, After: -1,
	}, false, false})
}

// joinStream answers with the events of a run: after the id in Last-Event-ID, or those to come. A
// run that is not there is an event, for the clients read no status.
func joinStream(c *call) error {
	modes, err := queryModes(c.URL.Query()["stream_mode"])
	if err != nil {
		return err
	}
	cancels, err := c.flag("cancel_on_disconnect")
	if err != nil {
		return err
	}
	o := streamOptions{wire.ClassicOptions{Modes: modes, Dialect: c.dialect, After: -1}, true, false}
	if text := c.Header.Get("Last-Event-ID"); text != "" {
		if o.After, err = wire.ParseEventID(text); err != nil {
			return invalid("Last-Event-ID must be -1 or the id of an event (got %.100q)", text)
		}
		o.live, o.resumed = false, true
	}
	r, err := c.followed(cancels)
	if hasCode(err, wire.CodeRunNotFound, wire.CodeThreadNotFound) {
		s := c.openStream()
		defer s.close()
		return s.send("error", "", []byte(`{"error":"HTTPException","message":"404: Run not found"}`))
	}
	if err != nil {
		return err
	}
	spec, err := specOf(r)
	if err != nil {
		return err
	}
	if o.Run, o.Subgraphs = r.ID, spec.Kwargs.Subgraphs; len(modes) == 0 {
		o.Modes = spec.Kwargs.StreamMode
	}
	defer c.reads(r, cancels)()
	return c.stream(r, o)
}

// queryModes reads the stream modes of a query: repeated, with commas between, or a list in JSON.
func queryModes(values []string) ([]string, error) {
	modes, err := splitModes(values)
	if err != nil {
		return nil, err
	}
	return modes, wire.CheckModes(modes)
}

// splitModes reads names: repeated, with commas between, or a list in JSON.
func splitModes(values []string) (modes []string, err error) {
	for _, text := range values {
		var list []string
		if strings.HasPrefix(text, "[") {
			if json.Unmarshal([]byte(text), &list) != nil {
				return nil, invalid("stream_mode must be a list of modes (got %.100q)", text)
			}
		} else {
			list = strings.Split(text, ",")
		}
		modes = append(modes, list...)
	}
	return modes, nil
}

// streamOptions select the events of a stream.
type streamOptions struct {
	wire.ClassicOptions
	live    bool // only events that are not in the log yet
	resumed bool // the client goes on, and learns what is gone
}

// stream writes the events of a run until it has ended, and its end can be read.
func (c *call) stream(r queue.Run, o streamOptions) error {
	w := runWriter{classic: wire.NewClassic(o.ClassicOptions)}
	if o.live {
		var err error
		if w.seen, err = c.server.events().Last(c.Context(), r.Thread); err != nil {
			return err
		}
	}
	ready := func(missed uint64) { w.stream = c.openAfter(missed) }
	defer func() {
		if w.stream != nil {
			w.stream.close()
		}
	}()
	if !o.resumed {
		ready(0)
		ready = nil
	}
	err := c.followRun(r, ready, w.write)
	switch {
	case err == nil || errors.Is(err, errGone) || errors.Is(err, work.ErrSlow) || c.Context().Err() != nil:
		return nil // the client of a reader that is too slow goes on with another request
	case w.stream == nil: // it has not begun
		return err
	}
	return c.lost(w.stream, r, err)
}

// lost ends a stream whose log cannot be read.
func (c *call) lost(s *eventStream, r queue.Run, err error) error {
	c.server.log().ErrorContext(c.Context(), "server: the events of a run", "run_id", r.ID, "error", err)
	return s.send("error", "", []byte(`{"error":"`+wire.NameLost+`","message":"the events of the run are lost"}`))
}

// runWriter writes the records of a run to its stream.
type runWriter struct {
	stream  *eventStream
	classic *wire.Classic
	seen    uint64 // records up to it are not written
}

// write writes a record. It returns errGone when the client has gone.
func (w *runWriter) write(e wire.Event) error {
	if e.Seq == 0 { // the log lacks the end of the run
		return w.end(e)
	}
	events, err := w.classic.Project(e)
	if err != nil {
		return err
	}
	for i := 0; i < len(events) && e.Seq > w.seen; i++ {
		if w.stream.send(events[i].Name, strconv.FormatUint(events[i].ID, 10), events[i].Data) != nil {
			return errGone
		}
	}
	return nil
}

// end writes the failure of a run whose last record is missing. It has no id.
func (w *runWriter) end(e wire.Event) error {
	var end wire.RunEnd
	if err := json.Unmarshal(e.Data, &end); err != nil || end.Error == nil {
		return err
	}
	data, err := encode(end.Error)
	if err == nil && w.stream.send("error", "", data) != nil {
		err = errGone
	}
	return err
}

// await waits for a time, or until ctx ends.
func await(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// readers counts the clients that read a run and cancel it when they go.
type readers struct {
	mu    sync.Mutex
	count map[string]int // by the id of the run
}

func (r *readers) add(run string, n int) (left int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == nil {
		r.count = map[string]int{}
	}
	left = r.count[run] + n
	if r.count[run] = left; left == 0 {
		delete(r.count, run)
	}
	return left
}

// readerTime is how long a run goes on without the readers that cancel it.
const readerTime = 300 * time.Millisecond

// reads counts a reader that cancels the run if it goes, and returns the function to call when it
// has gone.
func (c *call) reads(r queue.Run, cancels bool) (leave func()) {
	if !cancels {
		return func() {}
	}
	c.server.readers.add(r.ID, 1)
	return func() {
		if c.server.readers.add(r.ID, -1) > 0 || c.Context().Err() == nil || c.server.draining.Load() {
			return
		}
		ctx := context.WithoutCancel(c.Context())
		await(ctx, readerTime)
		if c.server.readers.add(r.ID, 0) > 0 {
			return
		}
		if err := c.server.cancel(ctx, r, queue.Stop); err != nil {
			c.server.log().ErrorContext(ctx, "server: cancel a run without readers", "run_id", r.ID, "error", err)
		}
	}
}
