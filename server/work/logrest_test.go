package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
)

// plainViewer is the viewer of a store that may be away.
type plainViewer struct{ err error }

func (*plainViewer) View(context.Context, wire.RunStart, string) *wire.View { return &wire.View{} }
func (v *plainViewer) Start(_ context.Context, thread, _ string) (wire.RunStart, bool, error) {
	return wire.RunStart{Thread: thread}, true, v.err
}

// A reader of a thread may stay for many runs.
func TestProjector_KeepsNoStateOfRunsThatHaveEnded(t *testing.T) {
	log := Log{Bus: new(topic.Local), Viewer: new(plainViewer)}
	p := log.projector(t.Context(), "t")
	state := json.RawMessage(`{"text":"` + strings.Repeat("x", 1000) + `"}`)
	position := uint64(0)
	add := func(run string, n *note, events ...graph.Event) (kinds []string, last wire.Event) {
		t.Helper()
		position++
		b := eventlog.Batch{Position: position, Run: run, Attempt: 1, Events: events}
		if n != nil {
			n.At = time.Now()
			b.Note, _ = json.Marshal(n)
		}
		records, err := p.project(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range records {
			kinds, last = append(kinds, string(e.Kind)), e
		}
		return kinds, last
	}
	for i := range 3 {
		run := fmt.Sprint("run ", i)
		start := &wire.RunStart{Run: run, Attempt: 1}
		add(run, &note{Begin: start, Step: -2}, graph.Event{Mode: graph.Values, State: state})
		_, end := add(run, &note{End: &wire.RunEnd{Status: wire.RunSuccess}})
		add(run, nil) // the engine closes the log later
		if r := p.runs[run]; r.recorder != nil || r.ended == nil {
			t.Errorf("the recorder of %s stays", run)
		}
		// The process died before it had stored the end: another attempt goes on counting.
		again := *start
		again.Attempt = 2
		_, begin := add(run, &note{Begin: &again, Step: -2})
		if want := end.NextDense(); begin.D != want || begin.Cut {
			t.Errorf("the next attempt of %s begins with D %d and Cut %v, want %d and false", run, begin.D, begin.Cut, want)
		}
		add(run, &note{End: &wire.RunEnd{Status: wire.RunSuccess}})
		if kinds, _ := add(run, nil, graph.Event{Mode: graph.Custom, Payload: json.RawMessage(`{"a":1}`)}); len(kinds) != 1 {
			t.Errorf("a late event of %s gives the records %v, want its own", run, kinds)
		}
	}
	for run, r := range p.runs {
		if r.recorder != nil {
			t.Errorf("the recorder of %s stays", run)
		}
	}
}

// A run whose start cannot be read now is not left out of the log for as long as it is followed.
func TestHub_StartThatCannotBeRead(t *testing.T) {
	viewer := &plainViewer{err: checkpoint.ErrUnavailable}
	hub := Hub{Log: Log{Bus: new(topic.Local), Viewer: viewer}}
	log := eventlog.Log{Bus: hub.Log.Bus}
	custom := []graph.Event{{Mode: graph.Custom, Payload: json.RawMessage(`{"a":1}`)}}
	read := func() (n int, err error) {
		r := hub.Open("t", 0)
		defer r.Close()
		err = r.Read(t.Context(), func(wire.Event) error { n++; return nil })
		return n, err
	}
	if err := log.Publish(t.Context(), "t", eventlog.Batch{Run: "run", Attempt: 1, Events: custom}); err != nil {
		t.Fatal(err)
	}
	if n, err := read(); n != 0 || !errors.Is(err, checkpoint.ErrUnavailable) {
		t.Errorf("%d records with error %v; want none, and the error of the store", n, err)
	}
	viewer.err = nil
	if n, err := read(); n != 1 || err != nil {
		t.Errorf("%d records with error %v, want 1", n, err)
	}
}

func TestHub_BatchThatCannotBeRead(t *testing.T) {
	hub := Hub{Log: Log{Bus: new(topic.Local), Viewer: new(plainViewer), Log: slog.New(slog.DiscardHandler)}}
	log := eventlog.Log{Bus: hub.Log.Bus}
	custom := []graph.Event{{Mode: graph.Custom, Payload: json.RawMessage(`{"a":1}`)}}
	add := func() {
		t.Helper()
		err := log.Bus.Publish(t.Context(), eventlog.Topic("t"), []byte("noise"))
		if err = errors.Join(err, log.Publish(t.Context(), "t", eventlog.Batch{Run: "run", Attempt: 1, Events: custom})); err != nil {
			t.Fatal(err)
		}
	}
	add()
	r := hub.Open("t", 0)
	defer r.Close()
	for n := range 2 { // from the log, and then from the feed
		records := 0
		for records == 0 {
			more := r.More()
			if err := r.Read(t.Context(), func(wire.Event) error { records++; return nil }); err != nil {
				t.Fatal(err)
			}
			if records == 0 {
				<-more
			}
		}
		if missed := r.Missed(); records != 1 || missed != uint64(n+1) {
			t.Errorf("look %d: %d records and %d batches missed, want 1 and %d", n+1, records, missed, n+1)
		}
		add()
	}
}

// conversation is a log of which a reader of a run reads the end.
type conversation struct {
	*testing.T
	hub *Hub
}

func newConversation(t *testing.T) conversation {
	return conversation{t, &Hub{Log: Log{Bus: new(topic.Local), Viewer: new(plainViewer)}}}
}

// add publishes a batch of a run; with begin, its first.
func (c conversation) add(run string, n note, events ...graph.Event) {
	c.Helper()
	data, err := json.Marshal(n)
	if err == nil {
		err = eventlog.Log{Bus: c.hub.Log.Bus}.Publish(c.Context(), "t", eventlog.Batch{Run: run, Attempt: 1, Note: data, Events: events})
	}
	if err != nil {
		c.Fatal(err)
	}
}

// read appends the records that a reader has not read yet.
func (c conversation) read(r *Reader, records []wire.Event) []wire.Event {
	c.Helper()
	if err := r.Read(c.Context(), func(e wire.Event) error { records = append(records, e); return nil }); err != nil {
		c.Fatal(err)
	}
	return records
}

// same compares records with the last n of the log.
func (c conversation) same(name string, got []wire.Event, n int) {
	c.Helper()
	all, err := c.hub.Log.Read(c.Context(), "t")
	if err != nil {
		c.Fatal(err)
	}
	if want := all[len(all)-n:]; !reflect.DeepEqual(got, want) {
		c.Errorf("the reader of %s has the records\n%+v, want\n%+v", name, got, want)
	}
}

func begin(run string) note {
	return note{At: time.Unix(1, 0), Begin: &wire.RunStart{Run: run, Thread: "t", Attempt: 1}, Step: -2}
}

func end() note {
	return note{At: time.Unix(2, 0), Step: -2, End: &wire.RunEnd{Status: wire.RunSuccess}}
}

func custom(n int) graph.Event {
	return graph.Event{Mode: graph.Custom, Payload: json.RawMessage(strconv.Itoa(n))}
}

// The reader of a run begins the feed behind a run that then has more events.
func TestHub_FeedKnowsRunsOfTheLogBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConversation(t)
		c.add("r1", begin("r1"), custom(1), custom(2))
		r := c.hub.OpenRun(queue.Run{Thread: "t", LogStart: 1})
		defer r.Close()
		c.read(r, nil)
		c.add("r1", note{}, custom(3))
		c.add("r1", end())
		c.add("r2", begin("r2"), custom(4))
		synctest.Wait()
		got := c.read(r, nil)
		c.same("the run", got, len(got))
		if len(got) < 4 {
			t.Errorf("%d records", len(got))
		}
	})
}

// startsBus notes where the followers of its topics begin.
type startsBus struct {
	topic.Local
	mu    sync.Mutex
	after []uint64
}

func (b *startsBus) Follow(ctx context.Context, name string, after uint64) iter.Seq2[topic.Event, error] {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.after = append(b.after, after)
	return b.Local.Follow(ctx, name, after)
}

// began returns where the followers begin since the last call.
func (b *startsBus) began() []uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	after := b.after
	b.after = nil
	return after
}

// The last batch of r1 comes behind the LogStart of r2. The reader of r2 skips it, and does not
// read the log from its beginning. A reader of the thread gets it.
func TestHub_ReaderOfARunLeavesOutTheRunBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := new(startsBus)
		c := conversation{t, &Hub{Log: Log{Bus: bus, Viewer: new(plainViewer)}}}
		c.add("r1", begin("r1"), custom(1))
		c.add("r1", note{}, custom(2))
		whole := c.hub.Open("t", 0)
		defer whole.Close()
		var records []wire.Event
		var run *Reader
		err := whole.Read(t.Context(), func(e wire.Event) error {
			if records = append(records, e); len(records) == 3 { // this reader pauses here, and another run begins
				c.add("r1", end())
				bus.began()
				run = c.hub.OpenRun(queue.Run{ID: "r2", Thread: "t", LogStart: 1})
				c.read(run, nil)
				if slices.Contains(bus.began(), 0) {
					t.Error("the reader of a run reads the log from its beginning")
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		c.add("r1", note{}, custom(3)) // late: the feed has to know the run
		c.add("r2", begin("r2"), custom(4))
		synctest.Wait()
		c.same("the run", c.read(run, nil), 3)
		c.same("the thread", c.read(whole, records), 7)
	})
}

// A reader of the thread that has read less than where the feed begins reads the log again.
func TestHub_FeedThatBeginsBehindAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConversation(t)
		c.add("r1", begin("r1"), custom(1))
		whole := c.hub.Open("t", 0)
		defer whole.Close()
		// It is suspended in its first Read, and another run begins meanwhile.
		var records []wire.Event
		var run *Reader
		err := whole.Read(t.Context(), func(e wire.Event) error {
			if records = append(records, e); run == nil {
				c.add("r1", end())
				run = c.hub.OpenRun(queue.Run{Thread: "t", LogStart: 2})
				c.read(run, nil)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		c.add("r2", begin("r2"))
		synctest.Wait()
		records = c.read(whole, records)
		c.same("the thread", records, len(records))
		if last := records[len(records)-1]; last.Run != "r2" || len(records) < 4 {
			t.Errorf("%d records, the last of %s", len(records), last.Run)
		}
	})
}

// A process that was suspended, and whose run another one has meanwhile, publishes its events late.
func TestProjector_EventsOfAnEarlierAttempt(t *testing.T) {
	for engine, want := range map[bool]int{false: 2, true: 3} {
		log := Log{Bus: new(topic.Local), Viewer: new(plainViewer)}
		p := log.projector(t.Context(), "t")
		n := 0
		add := func(attempt int, note note, events ...graph.Event) {
			t.Helper()
			n++
			b := eventlog.Batch{Position: uint64(n), Run: "r", Attempt: attempt, Events: events}
			var err error
			if note.Begin != nil {
				note.Engine = engine
				b.Note, err = json.Marshal(note)
			}
			records, err2 := p.project(b)
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			if want -= len(records); note.Begin != nil {
				want++ // its own record
			}
		}
		add(1, begin("r"), custom(1))
		again := begin("r")
		again.Begin.Attempt = 2
		add(2, again, custom(2))
		add(1, note{}, custom(3)) // an engine counts attempts of its own
		if want != 0 {
			t.Errorf("engine %v: %d records are missing", engine, want)
		}
	}
}

// The bus has a batch twice: before and after the place where a reader goes on from the log to what
// is added.
func TestHub_BatchThatIsThereTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConversation(t)
		w := eventlog.Log{Bus: c.hub.Log.Bus}.Writer("t", "r1", 1)
		w.Write(custom(1))
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := c.hub.Open("t", 0)
		defer r.Close()
		first := c.read(r, nil)
		for e, err := range c.hub.Log.Bus.Follow(t.Context(), eventlog.Topic("t"), 0) {
			if err == nil {
				err = c.hub.Log.Bus.Publish(t.Context(), eventlog.Topic("t"), e.Data)
			}
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		synctest.Wait()
		if got := c.read(r, first); len(got) != 1 {
			t.Errorf("the event has %d records, want 1", len(got))
		}
	})
}
