package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

var noQuery checkpoint.Query

// wire returns the events of a run as JSON, a line each, with ids and hashes made short.
func wire(t *testing.T, g *graph.Graph[world], modes graph.Mode) string {
	t.Helper()
	var b strings.Builder
	for ev, err := range g.Stream(ctx, world{}, graph.RunOptions{Thread: "t1", Modes: modes}) {
		is(t, err, nil)
		data, err := json.Marshal(ev)
		is(t, err, nil)
		b.Write(append(data, '\n'))
	}
	return regexp.MustCompile(`"(task|program|input|id)":"[0-9a-f]+"`).ReplaceAllString(b.String(), `"$1":"…"`)
}

// Requirement: events: JSON
func TestEvents_AsJSON(t *testing.T) {
	cfg := stored()
	cfg.Now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	cfg.NewID = func() string { return "run-1" }
	b := graph.New[world]("wire")
	b.Node("a", speaks("a"))
	b.Node("b", graph.Router(func(context.Context, *world) (graph.Command, error) { return graph.Send("w", "p"), nil }, "w"))
	b.Node("w", graph.Worker(func(ctx context.Context, _ *world, _ string) error {
		if err := graph.EmitMessage(ctx, graph.Token{ID: "m", Delta: "hi"}); err != nil {
			return err
		}
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "ok?"})
		return err
	}))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("w", graph.End)
	want, err := os.ReadFile("testdata/events.jsonl")
	is(t, err, nil)
	got := wire(t, build(t, b, cfg), graph.Debug|graph.Custom|graph.Messages)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the events differ from testdata/events.jsonl (-want +got):\n%s", diff)
	}
}

func TestEventJSON_OmitsEmptyFields(t *testing.T) {
	for want, ev := range map[string]graph.Event{
		`{"seq":0,"mode":""}`: {},
		`{"seq":3,"mode":"tasks","phase":"failed","error":"boom"}`: {Seq: 3, Mode: graph.Tasks, Phase: graph.Failing, Err: errBoom},
		`{"seq":0,"mode":"custom","payload":null}`:                 {Mode: graph.Custom},
		`{"seq":9,"mode":"missed","missed":4}`:                     {Seq: 9, Mode: graph.Missed, Missed: 4},
		`{"seq":0,"mode":"ended","status":"pending","drained":"deploy","starved":["j"]}`: {
			Mode: graph.Ended, Status: graph.Pending, Drained: "deploy", Starved: []string{"j"}},
		`{"seq":0,"mode":"values","state":{"a":1}}`: {Mode: graph.Values, State: map[string]int{"a": 1}},
	} {
		got, err := json.Marshal(ev)
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
	_, err := json.Marshal(graph.Event{Mode: graph.Custom, Payload: make(chan int)})
	if e := (*json.MarshalerError)(nil); !errors.As(err, &e) {
		t.Errorf("a payload that cannot be JSON gives %v", err)
	}
}

// Requirement: events: JSON
func TestModes_AreReadAndWrittenByName(t *testing.T) {
	for text, want := range map[string]graph.Mode{
		"":                  0,
		" ":                 0,
		"updates":           graph.Updates,
		"updates,custom":    graph.Updates | graph.Custom,
		" custom , updates": graph.Updates | graph.Custom,
		"debug":             graph.Debug,
		"debug,messages":    graph.Debug | graph.Messages,
		"updates,values,tasks,custom,checkpoints,messages,missed,ended,decisions": graph.Debug | graph.Custom | graph.Messages | graph.Missed | graph.Ended,
	} {
		got, err := graph.ParseModes(text)
		if err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
		if again, err := graph.ParseModes(got.String()); err != nil || again != want {
			t.Errorf("%v is read as %v, %v", got, again, err)
		}
	}
	for text, bad := range map[string]string{"update": `"update"`, "updates,": `""`, "Updates": `"Updates"`, "Mode(0x400)": "Mode"} {
		_, err := graph.ParseModes(text)
		is(t, err, graph.ErrMode, bad, "checkpoints")
	}
	if got := (graph.Tasks | 1<<30).String(); got != "tasks,Mode(0x40000000)" {
		t.Errorf("an unknown mode is %q", got)
	}
}

// An event that arrives in another process is written there as it was.
//
// Requirement: events: JSON
func TestEvent_UnmarshalsWhatItMarshals(t *testing.T) {
	all, err := os.ReadFile("testdata/events.jsonl")
	is(t, err, nil)
	for line := range strings.Lines(string(all)) {
		line = strings.TrimSpace(line)
		var ev graph.Event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		data, err := json.Marshal(ev)
		if is(t, err, nil); string(data) != line {
			t.Errorf("written again:\n got: %s\nwant: %s", data, line)
		}
	}
	var ev graph.Event
	if err := json.Unmarshal([]byte(`{"mode":"tasks","error":"oh"}`), &ev); err != nil || ev.Err == nil || ev.Err.Error() != "oh" {
		t.Errorf("an event with an error has %v, %v; want its text", ev.Err, err)
	}
	if err := json.Unmarshal([]byte(`{"mode":"dreams"}`), &ev); !errors.Is(err, graph.ErrMode) {
		t.Errorf("an unknown mode: %v, want ErrMode", err)
	}
}
