package server

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
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
	}, false})
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
	o := streamOptions{wire.ClassicOptions{Modes: modes, Dialect: c.dialect, After: -1}, true}
	if text := c.Header.Get("Last-Event-ID"); text != "" {
		if o.After, err = wire.ParseEventID(text); err != nil {
			return invalid("Last-Event-ID must be -1 or the id of an event (got %.100q)", text)
		}
		o.live = false
	}
	r, err := c.run("read")
	var fault *wire.Error
	if errors.As(err, &fault) && (fault.Code == wire.CodeRunNotFound || fault.Code == wire.CodeThreadNotFound) {
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
	live bool // only events that are not in the log yet
}

// lateTime is how long a stream waits for the last event of a run that has ended, before it reads
// what is in the log.
const lateTime = time.Second

// untilEnded returns a context in which the log of a run is followed. It ends lateTime after the
// run. The function ends it at once, and returns the run as it ended.
func (c *call) untilEnded(r queue.Run) (context.Context, func() queue.Run) {
	ctx, stop := context.WithCancel(c.Context())
	var ended queue.Run
	var waiter sync.WaitGroup
	waiter.Go(func() {
		ended, _ = c.server.queue.Wait(ctx, r.Thread, r.ID)
		if ended.Attempt > 0 || ended.ID == "" { // else it never began
			await(ctx, lateTime)
		}
		stop()
	})
	return ctx, func() queue.Run {
		stop()
		waiter.Wait()
		return ended
	}
}

// stream writes the events of a run until it has ended, and its end can be read.
func (c *call) stream(r queue.Run, o streamOptions) error {
	log := c.server.events()
	var seen uint64
	if o.live {
		var err error
		if seen, err = log.Last(c.Context(), r.Thread); err != nil {
			return err
		}
	}
	s := c.openStream()
	defer s.close()
	ctx, ended := c.untilEnded(r)
	defer ended()
	w := runWriter{stream: s, run: r.ID, classic: wire.NewClassic(o.ClassicOptions), seen: seen}
	for e, err := range log.Follow(ctx, r.Thread, 0) {
		var missed *topic.MissedError
		if errors.As(err, &missed) {
			continue
		}
		if err != nil {
			if ctx.Err() == nil {
				return c.lost(s, r, err)
			}
			break
		}
		if more, err := w.write(e); err != nil || !more {
			return c.runRead(r, w, err)
		}
	}
	final := ended()
	if c.Context().Err() != nil {
		return nil
	}
	// The run has ended. What is in the log by now was perhaps not read in time.
	rest, err := log.Read(c.Context(), r.Thread)
	if err != nil {
		return c.lost(s, r, err)
	}
	for _, e := range rest {
		if e.Seq <= w.last {
			continue
		}
		if more, err := w.write(e); err != nil || !more {
			return c.runRead(r, w, err)
		}
	}
	if final.Error != nil {
		data, err := encode(wire.RunError{Error: final.Error.Name, Message: final.Error.Message})
		if err != nil {
			return err
		}
		return s.send("error", "", data)
	}
	return nil
}

// runRead ends the stream of a run: after its last event, or for an error.
func (c *call) runRead(r queue.Run, w runWriter, err error) error {
	if w.done { // the end of the run is stored after its events
		_, _ = c.server.queue.Wait(c.Context(), r.Thread, r.ID)
	}
	return err
}

// lost ends a stream whose log cannot be read.
func (c *call) lost(s *eventStream, r queue.Run, err error) error {
	c.server.log().ErrorContext(c.Context(), "server: the events of a run", "run_id", r.ID, "error", err)
	return s.send("error", "", []byte(`{"error":"`+wire.NameLost+`","message":"the events of the run are lost"}`))
}

// runWriter writes the records of a thread to the stream of one run.
type runWriter struct {
	stream  *eventStream
	run     string
	classic *wire.Classic
	seen    uint64 // records up to it are not written
	last    uint64 // the Seq of the newest record
	done    bool   // the run has ended
}

// write writes a record. more is false after the last of the run, and when the client has gone.
func (w *runWriter) write(e wire.Event) (more bool, err error) {
	w.last = e.Seq
	events, err := w.classic.Project(e)
	if err != nil {
		return false, err
	}
	for i := 0; i < len(events) && e.Seq > w.seen; i++ {
		if w.stream.send(events[i].Name, strconv.FormatUint(events[i].ID, 10), events[i].Data) != nil {
			return false, nil
		}
	}
	var end wire.RunEnd
	w.done = e.Run == w.run && e.Kind == wire.KindEnd && json.Unmarshal(e.Data, &end) == nil && !end.Handed
	return !w.done, nil
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
