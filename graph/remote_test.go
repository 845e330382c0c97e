package graph_test

import (
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
)

// elsewhere is a run in another process.
type elsewhere struct{ calls []string }

func (e *elsewhere) ID() string { return "run-1" }

func (e *elsewhere) Join(r graph.Reader) iter.Seq2[graph.Event, error] {
	return func(yield func(graph.Event, error) bool) { yield(graph.Event{Mode: r.Modes}, nil) }
}

func (e *elsewhere) Wait() (graph.Result[world], error) {
	return graph.Result[world]{Status: graph.Done}, errCause
}

func (e *elsewhere) Drain(reason string) { e.calls = append(e.calls, "drain "+reason) }
func (e *elsewhere) Cancel(cause error)  { e.calls = append(e.calls, "cancel "+cause.Error()) }

var errCause = errors.New("the cause")

func TestRemoteHandle_PassesOn(t *testing.T) {
	e := new(elsewhere)
	h := graph.RemoteHandle[world](e)
	if h.ID() != "run-1" {
		t.Errorf("ID = %q, want %q", h.ID(), "run-1")
	}
	for ev, err := range h.Events(graph.Custom) {
		if ev.Mode != graph.Custom || err != nil {
			t.Errorf("the event is %v, %v; want that of the run", ev.Mode, err)
		}
	}
	if res, err := h.Wait(); res.Status != graph.Done || !errors.Is(err, errCause) {
		t.Errorf("Wait = %q, %v; want the end of the run", res.Status, err)
	}
	h.Drain("late")
	h.Cancel(errCause)
	h.Cancel(nil)
	if got, want := strings.Join(e.calls, ", "), "drain late, cancel the cause, cancel context canceled"; got != want {
		t.Errorf("the calls are %q, want %q", got, want)
	}
}
