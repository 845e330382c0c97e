package work

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/server/wire"
)

type plainViewer struct{}

func (plainViewer) View(context.Context, wire.RunStart, string) *wire.View { return &wire.View{} }
func (plainViewer) Start(context.Context, string, string) (wire.RunStart, bool) {
	return wire.RunStart{}, false
}

// A reader of a thread may stay for many runs.
func TestProjector_KeepsNoStateOfRunsThatHaveEnded(t *testing.T) {
	log := Log{Bus: new(topic.Local), Viewer: plainViewer{}}
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
