package server

import (
	"errors"
	"strconv"

	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/server/work"
)

// streamProtocol answers with the events of a thread that the body selects: those in the log, and
// those to come. It stays open between runs.
func streamProtocol(c *call) error {
	threadID, protocol, err := c.readProtocol()
	if err != nil {
		return err
	}
	s := c.openStream()
	defer s.close()
	err = c.follow(c.Context(), threadID, nil, func(e wire.Event) error {
		events, err := protocol.Project(e)
		for i := 0; i < len(events) && err == nil; i++ {
			err = s.send(events[i].Method, strconv.FormatUint(events[i].Seq, 10), events[i].Data)
		}
		return err
	})
	return c.endOf(s, err)
}

// readProtocol reads the request of a stream of the protocol.
func (c *call) readProtocol() (threadID string, p *wire.Protocol, err error) {
	data, err := c.read(c.server.limits.Body)
	if err != nil {
		return "", nil, err
	}
	t, err := c.protocolThread()
	if err != nil {
		return "", nil, err
	}
	sub, err := wire.ReadSubscription(data)
	if err != nil {
		return "", nil, err
	}
	return t.ThreadID, wire.NewProtocol(sub), nil
}

// endOf ends a stream of a thread. err is that of the log, or of a client that has gone.
func (c *call) endOf(s *eventStream, err error) error {
	if err == nil || errors.Is(err, work.ErrSlow) || c.Context().Err() != nil || s != nil && s.failed() {
		return nil
	}
	if s == nil { // it has not begun
		return err
	}
	c.server.log().ErrorContext(c.Context(), "server: the events of a thread", "request_id", c.id, "error", err)
	return s.send("error", "", []byte(`{"error":"`+wire.NameLost+`","message":"the events of the thread are lost"}`))
}

// The modes of the stream of a thread.
const (
	threadRuns      = "run_modes"
	threadLifecycle = "lifecycle"
	threadStates    = "state_update"
)

// threadModes reads the modes of the stream of a thread.
func threadModes(values []string) (o wire.ClassicOptions, err error) {
	modes, err := splitModes(values)
	if err != nil {
		return o, err
	}
	if len(modes) == 0 {
		modes = []string{threadRuns}
	}
	for _, mode := range modes {
		switch mode {
		case threadRuns:
			o.RunModes = true
		case threadLifecycle:
			o.Modes = append(o.Modes, wire.ModeNone)
		case threadStates:
			o.Modes = append(o.Modes, wire.ModeValues)
		default:
			return o, invalid("stream_mode must be %s, %s or %s (got %.100q)", threadRuns, threadLifecycle, threadStates, mode)
		}
	}
	return o, nil
}

// threadStream is a request for the events of all runs of a thread.
type threadStream struct {
	thread  string
	options wire.ClassicOptions
	seen    uint64 // Seq of the newest record that is left out
}

func (c *call) readThreadStream() (*threadStream, error) {
	r := new(threadStream)
	var err error
	if r.options, err = threadModes(c.URL.Query()["stream_mode"]); err != nil {
		return nil, err
	}
	t, err := c.thread("read")
	if err != nil {
		return nil, err
	}
	r.thread, r.options.Dialect, r.options.After = t.ThreadID, c.dialect, -1
	if text := c.Header.Get("Last-Event-ID"); text != "" {
		if r.options.After, err = wire.ParseEventID(text); err != nil {
			return nil, invalid("Last-Event-ID must be -1 or the id of an event (got %.100q)", text)
		}
	} else if r.seen, err = c.server.events().Last(c.Context(), r.thread); err != nil {
		return nil, err
	}
	return r, nil
}

// streamThread answers with the events of all runs of a thread: after the id in Last-Event-ID, or
// those to come.
func streamThread(c *call) error {
	r, err := c.readThreadStream()
	if err != nil {
		return err
	}
	var s *eventStream
	after, seen := r.options.After, r.seen
	ready := func(missed uint64) {
		if after >= 0 {
			missed -= min(missed, work.Position(uint64(after))) // the client has the events of the others
		}
		s = c.openAfter(missed)
	}
	defer func() {
		if s != nil {
			s.close()
		}
	}()
	if after < 0 {
		ready(0)
		ready = nil
	}
	classic := wire.NewClassic(r.options)
	err = c.follow(c.Context(), r.thread, ready, func(e wire.Event) error {
		events, err := classic.Project(e)
		for i := 0; i < len(events) && err == nil && e.Seq > seen; i++ {
			err = s.send(events[i].Name, strconv.FormatUint(events[i].ID, 10), events[i].Data)
		}
		return err
	})
	return c.endOf(s, err)
}
