package server

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/server/work"
)

// errGone ends the projection of events whose client has gone.
var errGone = errors.New("server: the client has gone")

// errEnded ends the records of a run that has ended.
var errEnded = errors.New("server: the run has ended")

const (
	// lateTime is how long a stream waits for the last event of a run that has ended, before it
	// goes on without.
	lateTime = time.Second
	// endEvery is how often a stream looks whether its run has ended, beside the news of the queue.
	endEvery = time.Second
)

// openAfter begins an answer of events, and reports to the client how many batches of events are
// gone that it has not got.
func (c *call) openAfter(missed uint64) *eventStream {
	if missed > 0 {
		c.w.Header().Set("X-Weft-Missed", strconv.FormatUint(missed, 10))
	}
	return c.openStream()
}

// follow yields the records of a thread until ctx ends. ready, unless it is nil, is called before
// the first, when the log was read, with the number of batches that are gone from its front.
func (c *call) follow(ctx context.Context, threadID string, ready func(missed uint64), yield func(wire.Event) error) error {
	reader := c.server.hub.Open(threadID, 0)
	defer reader.Close()
	return c.server.counts.slow(followReader(ctx, reader, ready, yield))
}

func followReader(ctx context.Context, reader *work.Reader, ready func(missed uint64), yield func(wire.Event) error) error {
	begin := func() {
		if ready != nil {
			ready(reader.Missed())
			ready = nil
		}
	}
	for {
		more := reader.More()
		err := reader.Read(ctx, func(e wire.Event) error {
			begin()
			return yield(e)
		})
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		begin()
		select {
		case <-more:
		case <-ctx.Done():
			return nil
		}
	}
}

// runRecords passes on the records of a run.
type runRecords struct {
	c      *call
	run    queue.Run
	reader *work.Reader
	ready  func(missed uint64) // nil once it was called
	yield  func(wire.Event) error
}

// followRun yields the records of a run until its end, which is the last and can be read when yield
// gets it. If the log lacks the end, yield gets one without a Seq. ready, unless it is nil, is
// called before the first record. Its argument is the number of batches that are gone from the
// front of the log, if some of them were those of the run. followRun returns the error of yield, or
// of a log that has lost the run.
func (c *call) followRun(r queue.Run, ready func(missed uint64), yield func(wire.Event) error) error {
	f := runRecords{c, r, c.server.hub.OpenRun(r), ready, yield}
	defer f.reader.Close()
	err := f.follow(c.Context())
	if errors.Is(err, errEnded) {
		return nil
	}
	return c.server.counts.slow(err)
}

func (f *runRecords) follow(ctx context.Context) error {
	again := time.NewTicker(endEvery)
	defer again.Stop()
	look := true
	var final queue.Run
	var late <-chan time.Time // the run has ended
	for {
		changed, more := f.c.server.queue.Changed(f.run.Thread), f.reader.More()
		if err := f.reader.Read(ctx, f.add); err != nil {
			return err
		}
		if look && late == nil {
			var ended bool
			if final, ended = f.ended(ctx); ended {
				timer := time.NewTimer(lateTime)
				defer timer.Stop()
				late = timer.C
			}
		}
		f.begin(late != nil) // then the log lacks all of it
		look = false
		select {
		case <-more:
		case <-changed:
			look = true
		case <-again.C:
			look = true
		case <-late:
			return f.rest(ctx, final)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ended returns the run as it ended, the zero Run if it was removed. If that is not known, the run
// has not ended.
func (f *runRecords) ended(ctx context.Context) (final queue.Run, ended bool) {
	final, err := f.c.server.queue.Get(ctx, f.run.Thread, f.run.ID)
	if errors.Is(err, queue.ErrNotFound) {
		return queue.Run{}, true
	}
	return final, err == nil && final.Status.Ended()
}

// begin calls ready. cut is true if the log lacks records of the run.
func (f *runRecords) begin(cut bool) {
	if f.ready == nil {
		return
	}
	missed := uint64(0)
	if cut {
		missed = f.reader.Missed()
	}
	f.ready(missed)
	f.ready = nil
}

// add passes a record on. After the end of the run it returns errEnded.
func (f *runRecords) add(e wire.Event) error {
	if e.Run != f.run.ID {
		return nil
	}
	f.begin(e.Cut)
	var end wire.RunEnd
	last := e.Kind == wire.KindEnd && json.Unmarshal(e.Data, &end) == nil && !end.Handed
	if last { // the end of the run is stored after its events
		_, _ = f.c.server.queue.Wait(f.c.Context(), f.run.Thread, f.run.ID)
	}
	if err := f.yield(e); err != nil || !last {
		return err
	}
	return errEnded
}

// rest passes on what is in the log of a run that has ended: the reader may not have had it in
// time.
func (f *runRecords) rest(ctx context.Context, final queue.Run) error {
	if err := f.reader.ReadLog(ctx, f.add); err != nil {
		return err
	}
	data, err := encode(endOf(final))
	if err != nil {
		return err
	}
	return f.yield(wire.Event{Run: f.run.ID, Kind: wire.KindEnd, Data: data})
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
