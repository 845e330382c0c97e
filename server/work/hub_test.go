package work_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/server/work"
)

// countedBus counts the followers of its topics.
type countedBus struct {
	topic.Local
	follows atomic.Int64
}

func (b *countedBus) Follow(ctx context.Context, name string, after uint64) iter.Seq2[topic.Event, error] {
	return func(yield func(topic.Event, error) bool) {
		b.follows.Add(1)
		defer b.follows.Add(-1)
		b.Local.Follow(ctx, name, after)(yield)
	}
}

// emit publishes a batch with n events of a run.
func emit(t testing.TB, bus topic.Bus, n int) {
	t.Helper()
	b := eventlog.Batch{Run: "r1"}
	for i := range n {
		b.Events = append(b.Events, graph.Event{Mode: graph.Custom, Payload: i})
	}
	if err := (eventlog.Log{Bus: bus}).Publish(t.Context(), "t1", b); err != nil {
		t.Error(err)
	}
}

// hubOf returns a hub on a bus.
func hubOf(t testing.TB, bus topic.Bus) *work.Hub {
	s := newSite(t)
	return &work.Hub{Log: work.Log{Bus: bus, Viewer: s.host}}
}

// logged returns the Seqs of the records in a log.
func logged(t testing.TB, h *work.Hub) (seqs []uint64) {
	t.Helper()
	records, err := h.Log.Read(t.Context(), "t1")
	if err != nil {
		t.Error(err)
	}
	for _, e := range records {
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

// reading is a reader with the Seqs that it has read.
type reading struct {
	*work.Reader
	seqs []uint64
}

func (r *reading) take(t testing.TB) {
	t.Helper()
	err := r.Read(t.Context(), func(e wire.Event) error {
		r.seqs = append(r.seqs, e.Seq)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A long conversation is not read again for each of its runs.
func TestHub_ReaderOfARunReadsItsPartOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := new(topic.Local)
		hub := hubOf(t, bus)
		for range 3 {
			emit(t, bus, 1)
		}
		all := logged(t, hub)
		first := reading{Reader: hub.OpenRun(queue.Run{Thread: "t1", LogStart: 2})}
		defer first.Close()
		first.take(t)
		whole := reading{Reader: hub.Open("t1", 0)} // reads the rest from the feed of the first
		defer whole.Close()
		whole.take(t)
		emit(t, bus, 1)
		synctest.Wait()
		last := (logged(t, hub))[3]
		for name, r := range map[string]struct {
			reading
			want []uint64
		}{"the run": {first, []uint64{all[2], last}}, "the thread": {whole, append(slices.Clone(all), last)}} {
			if r.take(t); !slices.Equal(r.seqs, r.want) {
				t.Errorf("the reader of %s has the records %v, want %v", name, r.seqs, r.want)
			}
		}

		// A log that was lost begins anew.
		lost := reading{Reader: hubOf(t, bus).OpenRun(queue.Run{Thread: "t1", LogStart: 99})}
		defer lost.Close()
		if lost.take(t); len(lost.seqs) != 4 {
			t.Errorf("a reader with a position behind the log has %d records, want 4", len(lost.seqs))
		}
	})
}

func TestHub_FollowsAThreadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := &countedBus{}
		h := hubOf(t, bus)
		emit(t, bus, 3)
		readers := make([]reading, 20)
		for i := range readers {
			readers[i].Reader = h.Open("t1", 0)
			readers[i].take(t)
		}
		synctest.Wait()
		if n := bus.follows.Load(); n != 1 {
			t.Errorf("the hub follows the thread %d times, want once", n)
		}
		more := readers[0].More()
		emit(t, bus, 2)
		<-more
		synctest.Wait()
		want := logged(t, h)
		for i := range readers {
			if readers[i].take(t); !slices.Equal(readers[i].seqs, want) || len(want) != 5 {
				t.Errorf("reader %d got %v, want %v", i, readers[i].seqs, want)
			}
		}
		if got, want := h.Stats(), (work.HubStats{Readers: 20, Threads: 1}); got != want {
			t.Errorf("the stats are %+v, want %+v", got, want)
		}
		for _, r := range readers {
			r.Close()
		}
		if n := bus.follows.Load(); n != 0 || h.Stats() != (work.HubStats{}) {
			t.Errorf("the hub without readers follows the thread %d times, and has the stats %+v", n, h.Stats())
		}
	})
}

func TestHub_SlowReaderReadsTheLogAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := &countedBus{}
		h := hubOf(t, bus)
		slow, quick := reading{Reader: h.Open("t1", 0)}, reading{Reader: h.Open("t1", 0)}
		defer slow.Close()
		defer quick.Close()
		slow.take(t)
		quick.take(t)
		began := time.Now()
		for range 40 {
			emit(t, bus, 50)
			time.Sleep(100 * time.Millisecond) // of fake time
			quick.take(t)
		}
		time.Sleep(time.Second)
		quick.take(t)
		want := logged(t, h)
		if !slices.Equal(quick.seqs, want) || len(want) != 2000 {
			t.Errorf("the quick reader got %d records in %v, want %d", len(quick.seqs), time.Since(began), len(want))
		}
		if slow.take(t); !slices.Equal(slow.seqs, want) {
			t.Errorf("the slow reader got %d records, want %d", len(slow.seqs), len(want))
		}
		if got := h.Stats(); got.Behind != 1 || got.Missed != 0 || slow.Missed() != 0 {
			t.Errorf("the stats are %+v, want that one reader was behind", got)
		}
		emit(t, bus, 5)
		synctest.Wait()
		if slow.take(t); len(slow.seqs) != 2005 || h.Stats().Behind != 1 {
			t.Errorf("the slow reader goes on with %d records and the stats %+v", len(slow.seqs), h.Stats())
		}
	})
}

func TestHub_ReaderLearnsWhatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := &topic.Local{Keep: 4}
		h := hubOf(t, bus)
		for range 6 {
			emit(t, bus, 1)
		}
		early := reading{Reader: h.Open("t1", 0)}
		defer early.Close()
		if early.take(t); early.Missed() != 2 || len(early.seqs) != 4 {
			t.Errorf("a reader got %d records and missed %d batches, want 4 and 2", len(early.seqs), early.Missed())
		}
		late := reading{Reader: h.Open("t1", early.seqs[3])}
		defer late.Close()
		if late.take(t); len(late.seqs) != 0 {
			t.Errorf("a reader after the newest record got %v", late.seqs)
		}
		emit(t, bus, 1)
		synctest.Wait()
		if late.take(t); len(late.seqs) != 1 {
			t.Errorf("a reader after the newest record got %v, want the one after", late.seqs)
		}
	})
}

// brokenBus fails its followers when it is broken.
type brokenBus struct {
	topic.Local
	broken chan struct{}
}

var errBroken = errors.New("the bus is broken")

func (b *brokenBus) Follow(ctx context.Context, name string, after uint64) iter.Seq2[topic.Event, error] {
	return func(yield func(topic.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(ctx, func() {})()
		go func() {
			select {
			case <-b.broken:
				cancel()
			case <-ctx.Done():
			}
		}()
		for e, err := range b.Local.Follow(ctx, name, after) {
			if !yield(e, err) {
				return
			}
		}
		select {
		case <-b.broken:
			yield(topic.Event{}, errBroken)
		default:
		}
	}
}

func TestHub_ReadersLearnOfAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := &brokenBus{broken: make(chan struct{})}
		h := hubOf(t, bus)
		emit(t, bus, 1)
		r := reading{Reader: h.Open("t1", 0)}
		defer r.Close()
		r.take(t)
		more := r.More()
		close(bus.broken)
		<-more
		err := r.Read(t.Context(), func(wire.Event) error { return nil })
		if !errors.Is(err, errBroken) {
			t.Errorf("a reader of a log that fails gets %v, want %v", err, errBroken)
		}
		if h.Stats().Threads != 0 {
			t.Error("the feed that failed gets further readers")
		}
	})
}

// Readers come and go while events are added. Each gets the records from its place on, in order and
// without a gap.
func TestHub_ReadersComeAndGo(t *testing.T) {
	bus := &topic.Local{Keep: 10_000}
	h := hubOf(t, bus)
	var all sync.WaitGroup
	const batches = 40
	got := make([][]uint64, 16)
	for i := range got {
		all.Go(func() {
			for len(got[i]) == 0 || work.Position(got[i][len(got[i])-1]) < batches {
				after := uint64(0)
				if n := len(got[i]); n > 0 {
					after = got[i][n-1]
				}
				r := h.Open("t1", after)
				for n := 0; n < 7*(i+1); { // then it comes again
					more := r.More()
					err := r.Read(t.Context(), func(e wire.Event) error {
						got[i] = append(got[i], e.Seq)
						n++
						return nil
					})
					if err != nil {
						t.Error(err)
					}
					if k := len(got[i]); k > 0 && work.Position(got[i][k-1]) == batches {
						break
					}
					<-more
				}
				r.Close()
			}
		})
	}
	for range batches {
		emit(t, bus, 3)
	}
	all.Wait()
	want := logged(t, h)
	for i, seqs := range got {
		if !slices.Equal(seqs, want) {
			t.Errorf("reader %d got %d records, want %d", i, len(seqs), len(want))
		}
	}
	if s := h.Stats(); s.Readers != 0 || s.Threads != 0 || s.Missed != 0 {
		t.Errorf("the stats at the end are %+v", s)
	}
}

func TestHub_HoldsNoMoreThanItsReadersLack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := &topic.Local{}
		h := hubOf(t, bus)
		r := reading{Reader: h.Open("t1", 0)}
		defer r.Close()
		r.take(t)
		large := eventlog.Batch{Run: "r1", Events: []graph.Event{{Mode: graph.Custom, Payload: strings.Repeat("x", 1<<20)}}}
		for range 3 {
			if err := (eventlog.Log{Bus: bus}).Publish(t.Context(), "t1", large); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			r.take(t)
		}
		if len(r.seqs) != 3 || h.Stats().Behind != 0 {
			t.Errorf("a reader of large records got %d of 3, and the stats are %+v", len(r.seqs), h.Stats())
		}
	})
}
