package work

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
)

const (
	// feedRecords and feedBytes are how much a feed has for readers that are not at its end.
	feedRecords = 256
	feedBytes   = 256 << 10
	// slowTime is how long a full feed waits for its readers before they lose records.
	slowTime = time.Second
	// mostStrikes is how often a reader may make the feed wait in vain.
	mostStrikes = 3
)

// ErrSlow is returned by a Reader that was too slow too often. Its client can read on with another.
var ErrSlow = errors.New("work: the reader is too slow")

// Hub reads the log of each thread once for all its readers in this process. It must not be copied
// after its first use.
type Hub struct {
	Log Log

	mu    sync.Mutex
	feeds map[string]*feed
	count hubCount
}

// HubStats counts what a Hub does. Readers and Threads are those of now, the others grow.
type HubStats struct {
	Readers, Threads int
	// Behind is how often a reader was too slow for the records that the hub has, and read the log
	// again.
	Behind uint64
	// Missed is how many batches of events were gone from a log before a reader had read them.
	Missed uint64
}

type hubCount struct {
	readers, threads atomic.Int64
	behind, missed   atomic.Uint64
}

// Stats returns the counts.
func (h *Hub) Stats() HubStats {
	c := &h.count
	return HubStats{Readers: int(c.readers.Load()), Threads: int(c.threads.Load()), Behind: c.behind.Load(), Missed: c.missed.Load()}
}

// feed reads the log of one thread. It has the records that a reader lacks, and none if all readers
// have all.
type feed struct {
	hub    *Hub
	thread string
	ctx    context.Context // ends when the last reader leaves
	stop   context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	readers map[*Reader]struct{}
	running bool
	records []wire.Event
	bytes   int
	floor   uint64        // Seq of the newest record that is gone from records
	news    uint64        // counts the calls of add
	slow    int           // readers for which the feed does not wait
	behind  int           // the others whose news are not those of the feed
	room    chan struct{} // closed when all of them have read all
	missed  uint64        // batches that were gone from the log
	err     error         // why there will be no more records
	more    chan struct{}
}

// OpenRun returns a reader for the records of one run. It may skip records of earlier runs. Close
// must be called.
func (h *Hub) OpenRun(r queue.Run) *Reader {
	reader := h.Open(r.Thread, 0)
	reader.run, reader.from = r.ID, r.LogStart
	return reader
}

// Open returns a reader of the records of a thread after a Seq. Close must be called.
func (h *Hub) Open(thread string, after uint64) *Reader {
	h.count.readers.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feeds[thread]
	if f == nil {
		f = &feed{hub: h, thread: thread, news: 1, readers: map[*Reader]struct{}{}, more: make(chan struct{}), room: make(chan struct{})}
		f.ctx, f.stop = context.WithCancel(context.Background())
		if h.feeds == nil {
			h.feeds = map[string]*feed{}
		}
		h.feeds[thread] = f
		h.count.threads.Add(1)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &Reader{feed: f, at: after, base: f.missed}
	f.readers[r] = struct{}{}
	f.behind++
	return r
}

// Close ends a reader.
func (r *Reader) Close() {
	f, h := r.feed, r.feed.hub
	h.count.readers.Add(-1)
	h.mu.Lock()
	f.mu.Lock()
	f.caughtUp(r)
	delete(f.readers, r)
	ends := len(f.readers) == 0
	if ends {
		h.remove(f)
		f.stop()
	}
	f.mu.Unlock()
	h.mu.Unlock()
	if ends {
		f.done.Wait()
	}
}

// remove makes sure that no further reader gets a feed. h.mu must be locked.
func (h *Hub) remove(f *feed) {
	if h.feeds[f.thread] == f {
		delete(h.feeds, f.thread)
		h.count.threads.Add(-1)
	}
}

// caughtUp notes that a reader has all records, or leaves. f.mu must be locked.
func (f *feed) caughtUp(r *Reader) {
	if r.news == f.news {
		return
	}
	r.news = f.news
	if r.slow {
		r.slow = false
		f.slow--
		return
	}
	if f.behind--; f.behind == 0 {
		f.trim()
		close(f.room)
		f.room = make(chan struct{})
	}
}

// giveUp makes all readers slow that have not read all records. f.mu must be locked.
func (f *feed) giveUp() {
	for r := range f.readers {
		if r.news != f.news && !r.slow {
			r.slow = true
			r.strikes++
			f.slow++
		}
	}
	f.behind = 0
}

// trim drops the records that all readers have read, or that are too many. f.mu must be locked.
func (f *feed) trim() {
	n := 0
	for n < len(f.records) && (f.behind == 0 || len(f.records)-n > feedRecords || f.bytes > feedBytes) {
		f.bytes -= len(f.records[n].Data)
		f.floor = f.records[n].Seq
		n++
	}
	switch {
	case n == len(f.records):
		f.records = nil
	case n > 0:
		f.records = slices.Clone(f.records[n:]) // readers have the old ones
	}
}

// run begins to follow the log from where a reader has come to, unless the feed follows it already.
// f.mu must be locked.
func (f *feed) run(from replayed) {
	if f.running {
		return
	}
	f.running, f.floor = true, from.seq
	f.done.Go(func() { f.follow(from) })
}

// follow adds the records of the log until the last reader leaves.
func (f *feed) follow(r replayed) {
	var err error
	for b, e := range (eventlog.Log{Bus: f.hub.Log.Bus}).Continue(f.ctx, f.thread, r.position, &r.seen) {
		var missed *topic.MissedError
		if errors.As(e, &missed) {
			f.gap(missed.Count)
			continue
		}
		if errors.Is(e, eventlog.ErrBatch) { // the others can be read
			f.hub.Log.unreadable(f.ctx, f.thread, e)
			f.gap(1)
			continue
		}
		var records []wire.Event
		if err = e; err == nil {
			err = r.add(b, func(e wire.Event) error {
				records = append(records, e)
				return nil
			})
		}
		if err != nil {
			break
		}
		if f.add(records) {
			f.await()
		}
	}
	if err != nil && f.ctx.Err() == nil {
		f.fail(err)
	}
}

// add adds records, and wakes the readers. It reports whether the feed has too many now, or none of
// its readers waits for them.
func (f *feed) add(records []wire.Event) (full bool) {
	if len(records) == 0 {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range records {
		f.bytes += len(e.Data)
	}
	f.records = append(f.records, records...)
	f.news++
	f.behind = len(f.readers) - f.slow
	f.wake()
	return f.behind == 0 || len(f.records) > feedRecords || f.bytes > feedBytes
}

// await waits until all readers have read all records, but not long for those that are slow. Then
// records go that are too many.
func (f *feed) await() {
	timer := time.NewTimer(slowTime)
	defer timer.Stop()
	f.mu.Lock()
	for start := f.news; f.behind > 0 && start == f.news; {
		room := f.room
		f.mu.Unlock()
		select {
		case <-room:
		case <-timer.C:
			f.mu.Lock()
			if f.behind < len(f.readers) { // else none has to wait for others
				f.giveUp()
			}
			timer.Reset(slowTime)
			f.mu.Unlock()
		case <-f.ctx.Done():
			return
		}
		f.mu.Lock()
	}
	f.trim()
	f.mu.Unlock()
}

func (f *feed) gap(n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.missed += n
	f.hub.count.missed.Add(n)
}

func (f *feed) fail(err error) {
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	f.hub.remove(f)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	f.wake()
}

// wake wakes the readers that wait. f.mu must be locked.
func (f *feed) wake() {
	close(f.more)
	f.more = make(chan struct{})
}
