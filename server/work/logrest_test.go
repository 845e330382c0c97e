package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
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
