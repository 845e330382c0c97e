package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// Wait waits for a duration, until a time, or for an event.
//
//	pause:
//	  wait: {for: 30s}
//	  next: again
//
// A wait for a duration or until a time is a [graph.Sleep]. If it takes longer than a minute and
// the store keeps timers, the run pauses and needs no process. Then weft wake, a worker or a server
// goes on with it. Otherwise the wait blocks the run. If the process ends, the resumed run waits
// for the rest, because the start of the wait is stored with its task.
//
// An event is a question of the run that a program answers instead of a person. The run pauses, the
// Data of its [graph.Interrupt] is {"event": name}, and the answer is the node's result. Like other
// questions, events have IDs, are listed by weft inbox and are answered by weft resume.
type Wait struct {
	// For is the duration, such as 500ms, 30s or 1h30m.
	For Duration `json:"for,omitempty"`
	// Until is a time such as 2026-11-21T09:30:00Z; a time in the past ends the wait at once.
	Until Time `json:"until,omitempty"`
	// Event is the name of the event.
	Event EventName `json:"event,omitempty"`
	// Expires limits the wait for an event; after that the node fails with the code expired.
	Expires PositiveDuration `json:"expires,omitempty"`
}

// Check requires exactly one of the parameters.
func (w *Wait) Check(given func(string) bool) error {
	ways := 0
	for _, way := range []string{"for", "until", "event"} {
		if given(way) {
			ways++
		}
	}
	_, err := time.Parse(time.RFC3339, string(w.Until))
	switch {
	case ways != 1:
		return &refusal{"give one of for, until and event"}
	case w.For < 0:
		return &refusal{"for must not be negative"}
	case w.Until != "" && err != nil: // set in Go; a Time of a file is one
		return &refusal{fmt.Sprintf("until is a time such as 2026-11-21T09:30:00Z, not %q", w.Until)}
	case given("expires") && !given("event"):
		return &refusal{"expires goes with event"}
	case w.Expires < 0:
		return &refusal{"expires must not be negative"}
	}
	return nil
}

// Asks reports whether the wait is a question of the run.
func (w *Wait) Asks(given func(string) bool) bool { return given("event") }

// given reports whether a run has a parameter; one that was not given is zero.
func (w *Wait) given(name string) bool {
	switch name {
	case "for":
		return w.Until == "" && w.Event == ""
	case "until":
		return w.Until != ""
	case "event":
		return w.Event != ""
	}
	return w.Expires != 0
}

// EventName is the name of an event. It must not be empty.
type EventName string

// UnmarshalJSON reads the text.
func (e *EventName) UnmarshalJSON(data []byte) error {
	s, err := textOf(data)
	if err != nil || s == "" {
		return fmt.Errorf("the name of the event must be a text that is not empty (got %s)", data)
	}
	*e = EventName(s)
	return nil
}

// ParamSchema implements [workflow.Described].
func (EventName) ParamSchema() map[string]any {
	return map[string]any{"type": "string", "minLength": 1, "$comment": "text"}
}

// Run waits, or returns why the context ended.
func (w *Wait) Run(ctx context.Context, _ workflow.Env) (any, error) {
	if err := w.Check(w.given); err != nil { // the parameters may be expressions
		return nil, err
	}
	if event := string(w.Event); event != "" {
		return graph.Ask[json.RawMessage](ctx, graph.Question{
			Prompt: "waits for the event " + event, Data: map[string]string{"event": event}, Key: event, Timeout: time.Duration(w.Expires),
			Schema: json.RawMessage("{}"), // anything
		})
	}
	if w.Until == "" {
		return nil, graph.Sleep(ctx, "", time.Duration(w.For))
	}
	at, err := time.Parse(time.RFC3339, string(w.Until))
	if err != nil {
		return nil, err
	}
	return nil, graph.SleepUntil(ctx, "", at)
}
