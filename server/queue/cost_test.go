package queue_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/server/queue"
)

// countedDocuments notes the calls of a document.Store.
type countedDocuments struct {
	document.Store
	calls []string
}

func (d *countedDocuments) Get(ctx context.Context, p document.Place, id string) (document.Doc, error) {
	d.calls = append(d.calls, "get")
	return d.Store.Get(ctx, p, id)
}

func (d *countedDocuments) Set(ctx context.Context, p document.Place, c document.Change) (document.Doc, error) {
	d.calls = append(d.calls, "set")
	return d.Store.Set(ctx, p, c)
}

func (d *countedDocuments) Batch(ctx context.Context, p document.Place, all []document.Change) ([]document.Doc, error) {
	d.calls = append(d.calls, "batch")
	return d.Store.Batch(ctx, p, all)
}

func (d *countedDocuments) Query(ctx context.Context, q document.Query) ([]document.Doc, error) {
	d.calls = append(d.calls, "query")
	return d.Store.Query(ctx, q)
}

// Each call is a round trip to the store, and one that writes is a sync of a disk.
func TestQueue_ARunTakesFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // within one interval of passEvery
		docs := &countedDocuments{Store: new(document.Map)}
		q := storage{new(checkpoint.Memory), docs}.process(t)
		took := func(want string) {
			t.Helper()
			if got := strings.Join(docs.calls, " "); got != want {
				t.Errorf("calls %q, want %q", got, want)
			}
			docs.calls = nil
		}
		claim(t, q, 4)
		took("query query query") // the first two are for runs that processes left behind
		create(t, q, "own", "own", queue.Enqueue)
		took("set batch")
		c := claim(t, q, 4, "own")[0]
		took("query get get batch batch")
		finish(t, c)
		took("batch batch")
		create(t, q, "t1", "r1", queue.Enqueue)
		took("get set batch")
		c = claim(t, q, 4, "r1")[0]
		docs.calls = nil
		create(t, q, "t1", "r2", queue.Enqueue) // changes the line
		took("get batch")
		finish(t, c)
		took("batch get batch batch")
		claim(t, q, 4, "r2")
	})
}

// delayed is a bus whose events wait for flush.
type delayed struct {
	topic.Local
	events [][]byte
}

func (d *delayed) Publish(_ context.Context, _ string, data []byte) error {
	d.events = append(d.events, data)
	return nil
}

func (d *delayed) flush(t *testing.T) {
	t.Helper()
	for _, e := range d.events {
		if err := d.Local.Publish(t.Context(), "weft.work", e); err != nil {
			t.Fatal(err)
		}
	}
}

// A queue notices its own changes at once, and not again by the bus, as the others do.
func TestQueue_IsNotNotifiedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, bus := inMemory(), new(delayed)
		ctx, stop := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer stop()
		start := func() *queue.Queue {
			q, err := queue.New(queue.Config{Store: s.store, Documents: s.docs, Bus: bus})
			if err != nil {
				t.Fatal(err)
			}
			go func() { _ = q.Follow(ctx) }()
			return q
		}
		own, other := start(), start()
		synctest.Wait()
		first := own.Changed("t1")
		create(t, own, "t1", "r1", queue.Enqueue)
		select {
		case <-first:
		default:
			t.Error("the queue misses its own change")
		}
		again, news := own.Changed("t1"), other.Changed("t1")
		synctest.Wait()
		bus.flush(t)
		synctest.Wait()
		select {
		case <-again:
			t.Error("the queue gets its own change by the bus")
		default:
		}
		select {
		case <-news:
		default:
			t.Error("the other queue misses the change")
		}
	})
}

// answeredLate returns what is stored when meanwhile has returned, as a store does that repeats a
// batch whose reply was lost.
type answeredLate struct {
	document.Store
	meanwhile func()
}

func (s *answeredLate) Batch(ctx context.Context, p document.Place, all []document.Change) ([]document.Doc, error) {
	docs, err := s.Store.Batch(ctx, p, all)
	if s.meanwhile == nil || p.Collection != "weft.runs" || err != nil {
		return docs, err
	}
	meanwhile := s.meanwhile
	s.meanwhile = nil
	meanwhile()
	for i, c := range all {
		if docs[i], err = s.Get(ctx, p, c.ID); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

func TestClaim_KeepsRunsThatComeBeforeItsReply(t *testing.T) {
	s := inMemory()
	other := s.process(t)
	late := &answeredLate{Store: s.docs}
	q := storage{s.store, late}.process(t)
	create(t, q, "t1", "r1", queue.Enqueue)
	late.meanwhile = func() { create(t, other, "t1", "r2", queue.Enqueue) }
	finish(t, claim(t, q, 4, "r1")[0])
	finish(t, claim(t, q, 4, "r2")[0])
}

// A thread may have the id of a run that is due later.
func TestCreate_DelaysNoOtherRun(t *testing.T) {
	q := inMemory().process(t)
	create(t, q, "t1", "r1", queue.Enqueue)
	if _, err := q.Create(t.Context(), queue.Run{ID: "t1", Thread: "t1", Due: time.Now().Add(time.Hour)}, queue.Enqueue); err != nil {
		t.Fatal(err)
	}
	claim(t, q, 4, "r1")
}

// slow is a bus whose events wait until they are received from it.
type slow struct {
	topic.Local
	events chan string
}

func (s *slow) Publish(ctx context.Context, _ string, data []byte) error {
	select {
	case s.events <- string(data):
	case <-ctx.Done():
	}
	return ctx.Err()
}

func TestQueue_AnnouncesManyChangesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, bus := inMemory(), &slow{events: make(chan string)}
		q, err := queue.New(queue.Config{Store: s.store, Documents: s.docs, Bus: bus})
		if err != nil {
			t.Fatal(err)
		}
		q.Announced(t.Context()) // there is nothing to wait for
		create(t, q, "t1", "r1", queue.Enqueue)
		synctest.Wait() // the first is on its way
		for i, thread := range []string{"t3", "t2", "t2"} {
			create(t, q, thread, fmt.Sprint("r", i), queue.Enqueue)
		}
		announced := make(chan struct{})
		go func() { q.Announced(t.Context()); close(announced) }()
		for _, want := range []string{`"threads":["t1"]}`, `"threads":["t2","t3"]}`} {
			synctest.Wait()
			select {
			case <-announced:
				t.Errorf("%s is not announced", want)
			default:
			}
			if got := <-bus.events; !strings.HasSuffix(got, want) {
				t.Errorf("got %s, want %s at its end", got, want)
			}
		}
		<-announced
		create(t, q, "t1", "r2", queue.Enqueue)
		begun := time.Now()
		q.Announced(t.Context()) // the bus is away
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("waited %v for a bus that is away, want 5s", took)
		}
	})
}

// The announcements of an older process have one thread, a zero byte and the id of its queue.
func TestQueue_ReadsAnnouncementsOfOlderProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, bus := inMemory(), new(topic.Local)
		ctx, stop := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer stop()
		q, err := queue.New(queue.Config{Store: s.store, Documents: s.docs, Bus: bus})
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = q.Follow(ctx) }()
		synctest.Wait()
		for _, thread := range []string{"t1", "a\x00b", ""} {
			news := q.Changed(thread)
			if err := bus.Publish(ctx, "weft.work", []byte(thread+"\x00other")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			select {
			case <-news:
			default:
				t.Errorf("the queue misses the change of thread %q", thread)
			}
		}
	})
}

// slowLeases is a store that needs a tenth of a second for a lease.
type slowLeases struct{ *checkpoint.Memory }

func (s slowLeases) Acquire(ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	time.Sleep(100 * time.Millisecond)
	return s.Memory.Acquire(ctx, r)
}

func TestClaim_ClaimsThreadsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := storage{slowLeases{new(checkpoint.Memory)}, new(document.Map)}.process(t)
		for _, id := range []string{"r1", "r2", "r3", "r4", "r5"} {
			create(t, q, "of "+id, id, queue.Enqueue)
			time.Sleep(time.Millisecond)
		}
		began := time.Now()
		claims := claim(t, q, 4, "r1", "r2", "r3", "r4")
		if passed := time.Since(began); passed != 100*time.Millisecond {
			t.Errorf("four claims took %v, want 100ms as one does", passed)
		}
		for _, c := range append(claims, claim(t, q, 4, "r5")...) {
			finish(t, c)
		}
	})
}
