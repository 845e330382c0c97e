package work

import (
	"context"
	"fmt"
	"slices"

	"github.com/weftrun/weft/server/wire"
)

// Reader reads the log of a thread. It is for one goroutine.
type Reader struct {
	feed    *feed
	run     string // whose records are wanted; "" for those of all runs
	from    uint64 // the position in the log behind which it reads
	at      uint64 // Seq of the newest record that was read
	news    uint64 // those of the feed when the reader had all records; guarded by feed.mu
	current bool   // the reader has read the log
	slow    bool   // the feed does not wait for it; guarded by feed.mu
	strikes int    // how often it became slow; guarded by feed.mu
	missed  uint64 // batches that were gone from the log before the reader had read them
	base    uint64 // the missed of the feed that are counted in missed
}

// More returns a channel that is closed when there are more records than at this time.
func (r *Reader) More() <-chan struct{} {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	return r.feed.more
}

// Missed returns how many batches of events were gone from the log before the reader could read
// them.
func (r *Reader) Missed() uint64 { return r.missed }

// Read yields the records that there are now and were not read before. It returns the error of
// yield, or that of a log that cannot be read. The first Read reads what is in the log.
func (r *Reader) Read(ctx context.Context, yield func(wire.Event) error) error {
	for {
		records, behind, err := r.take()
		if behind {
			if err := r.ReadLog(ctx, yield); err != nil {
				return err
			}
			continue
		}
		if err != nil || len(records) == 0 {
			return err
		}
		for _, e := range records {
			if err := yield(e); err != nil {
				return err
			}
		}
	}
}

// take returns the records of the feed that were not read. behind is true if the reader has to read
// the log first.
func (r *Reader) take() (records []wire.Event, behind bool, err error) {
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case r.strikes > mostStrikes:
		return nil, false, fmt.Errorf("%w: thread %.100q", ErrSlow, f.thread)
	case !r.current:
		return nil, true, nil
	case r.at < f.floor:
		f.hub.count.behind.Add(1)
		return nil, true, nil
	}
	r.missed += f.missed - r.base
	r.base = f.missed
	i, _ := slices.BinarySearchFunc(f.records, r.at+1, func(e wire.Event, seq uint64) int {
		if e.Seq < seq {
			return -1
		}
		return 1
	})
	if records = f.records[i:len(f.records):len(f.records)]; len(records) > 0 {
		r.at = records[len(records)-1].Seq
	}
	f.caughtUp(r)
	if len(records) == 0 {
		err = f.err
	}
	return records, false, err
}

// ReadLog is Read for a reader that does not rely on the feed: it reads what is in the log.
func (r *Reader) ReadLog(ctx context.Context, yield func(wire.Event) error) error {
	f := r.feed
	f.mu.Lock()
	floor := f.floor
	f.mu.Unlock()
	to, missed := replayed{projector: f.hub.Log.projector(f.ctx, f.thread), position: r.from}, r.missed
	to.projector.only = r.run
	err := f.hub.Log.replay(ctx, &to, func(e wire.Event) error {
		if !r.current { // what is gone from the front counts once
			r.missed = missed + to.missed
		}
		if e.Seq <= r.at {
			return nil
		}
		r.at = e.Seq
		return yield(e)
	})
	if err != nil {
		return err
	}
	if !r.current {
		r.missed = missed + to.missed
		f.hub.count.missed.Add(to.missed)
	}
	to.projector.only = ""                           // the feed goes on for all readers
	r.at, r.current = max(r.at, floor, to.seq), true // what is not in the log is gone
	f.mu.Lock()
	defer f.mu.Unlock()
	f.run(to)
	return nil
}
