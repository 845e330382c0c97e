package wire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

type note struct {
	Text state.Value[string] `json:"text"`
}

// streamGraph compiles chat → sub (a subgraph of one node) → ask, which asks or fails by the topic.
func streamGraph(t *testing.T, store checkpoint.Store) *graph.Graph[talk] {
	t.Helper()
	inner := graph.New[note]("child")
	inner.Node("in", graph.Func(func(ctx context.Context, s *note) error {
		s.Text.Set("noted")
		return graph.Emit(ctx, map[string]any{"name": "progress", "inner": true})
	}))
	inner.Edge(graph.Start, "in")
	inner.Edge("in", graph.End)
	child, err := inner.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	b := graph.New[talk]("talk")
	b.Node("chat", graph.Func(func(ctx context.Context, s *talk) error {
		for _, tok := range []graph.Token{{ID: "m1", Role: "assistant", Delta: "Ye"}, {ID: "m1", Role: "assistant", Delta: "s"}, {ID: "m1", Role: "assistant", Final: true, Text: "Yes"}} {
			if err := graph.EmitMessage(ctx, tok); err != nil {
				return err
			}
		}
		streamed, added := message.Assistant("Yes"), message.Assistant("more")
		streamed.ID, added.ID = "m1", "m2"
		return s.Messages.Add(streamed, added)
	}))
	b.Node("sub", graph.Subgraph(child, func(*talk) (note, error) { return note{}, nil }, func(s *talk, end *note) error {
		s.Log.Append(end.Text.Get())
		return nil
	}))
	b.Node("ask", graph.Func(func(ctx context.Context, s *talk) error {
		switch s.Topic.Get() {
		case "fail":
			return customError{}
		case "ask":
			_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Go on?"})
			return err
		}
		return nil
	}))
	b.Edge(graph.Start, "chat")
	b.Edge("chat", "sub")
	b.Edge("sub", "ask")
	b.Edge("ask", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// record runs a graph and returns the records of the run.
func record(t *testing.T, g *graph.Graph[talk], topic string, durability graph.Durability) []wire.Event {
	t.Helper()
	in := input("u0", topic)
	h := g.Start(t.Context(), in, graph.RunOptions{Thread: "t1", Hold: true, Durability: durability})
	start := wire.RunStart{Attempt: 1, Thread: wire.ThreadUUID("t1"), Graph: "talk", Assistant: wire.AssistantUUID("talk")}
	r := wire.NewRecorder(wire.RecorderOptions{Run: "r1", Start: start, Step: -2, View: func(ns string) *wire.View {
		if ns != "" {
			return &wire.View{Thread: start.Thread, Graph: "child"}
		}
		return &wire.View{Thread: start.Thread, Graph: "talk", Assistant: start.Assistant, Messages: []string{"messages"}}
	}})
	log := r.Begin(time.UnixMilli(1))
	end := wire.RunEnd{Status: wire.RunSuccess}
	for ev, err := range h.Join(graph.Reader{Modes: graph.Debug | graph.Custom | graph.Messages}) {
		if err != nil {
			end.Status, end.Error = wire.RunFailed, wire.RunErrorOf(err, 25)
			break
		}
		records, err := r.Record(ev)
		if err != nil {
			t.Fatal(err)
		}
		if ev.Mode == graph.Ended {
			end.Waiting = ev.Status == graph.Interrupted
		}
		log = append(log, records...)
	}
	log = append(log, r.End(time.UnixMilli(2), end)...)
	for i := range log {
		log[i].Seq = uint64(i + 1)
		if i > 0 && log[i].N < log[i-1].Next() {
			t.Errorf("record %d: its ids must follow those of the one before", i)
		}
	}
	return log
}

var (
	uuids    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	anyTimes = regexp.MustCompile(`20\d\d-\d\d-\d\dT[0-9:.]+Z`)
)

// classic returns the names of the events of a classic stream; with data also that.
func classic(t *testing.T, log []wire.Event, o wire.ClassicOptions, data bool) (lines []string) {
	t.Helper()
	o.Run = "r1"
	c := wire.NewClassic(o)
	last := int64(-1)
	for _, e := range log {
		events, err := c.Project(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			if int64(ev.ID) <= last {
				t.Errorf("event %s has id %d after %d", ev.Name, ev.ID, last)
			}
			last = int64(ev.ID)
			if !json.Valid(ev.Data) || bytes.ContainsAny(ev.Data, "\n\r") {
				t.Errorf("event %s: the data must be one line of JSON (got %s)", ev.Name, ev.Data)
			}
			line := uuids.ReplaceAllString(ev.Name, "ID")
			if data {
				line += " " + anyTimes.ReplaceAllString(uuids.ReplaceAllString(string(ev.Data), "ID"), "TIME")
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

const (
	sides   = `"additional_kwargs":{},"response_metadata":{}`
	human   = `{"type":"human","content":"hi",` + sides + `,"id":"u0"}`
	aiOne   = `{"type":"ai","content":"Yes",` + sides + `,"id":"m1","tool_calls":[],"invalid_tool_calls":[]}`
	aiTwo   = `{"type":"ai","content":"more",` + sides + `,"id":"m2","tool_calls":[],"invalid_tool_calls":[]}`
	atInput = `{"messages":[` + human + `],"topic":"ask","log":[]}`
	atChat  = `{"messages":[` + human + `,` + aiOne + `,` + aiTwo + `],"topic":"ask","log":[]}`
	atSub   = `{"messages":[` + human + `,` + aiOne + `,` + aiTwo + `],"topic":"ask","log":["noted"]}`
)

func TestClassic_ShowsEveryMode(t *testing.T) {
	log := record(t, streamGraph(t, &checkpoint.Memory{}), "ask", graph.Sync)
	const question = `{"id":"Q","value":"Go on?"}`
	var asked string
	for _, e := range log {
		if e.Kind == wire.KindAsked {
			var a wire.Asked
			if err := json.Unmarshal(e.Data, &a); err != nil {
				t.Fatal(err)
			}
			asked = a.Interrupt.ID
		}
	}
	show := func(o wire.ClassicOptions) []string {
		lines := classic(t, log, o, true)
		for i := range lines {
			lines[i] = strings.ReplaceAll(lines[i], asked, "Q")
		}
		return lines
	}
	const metadata = `metadata {"run_id":"r1","attempt":1}`
	t.Run("values in JavaScript", func(t *testing.T) {
		compare(t, show(wire.ClassicOptions{Dialect: wire.JavaScript, After: -1}), []string{
			metadata, "values " + atInput, "values " + atChat, "values " + atSub, `values {"__interrupt__":[` + question + `]}`,
		})
	})
	t.Run("values in Python", func(t *testing.T) {
		lines := show(wire.ClassicOptions{Dialect: wire.Python, After: -1})
		if got, want := lines[len(lines)-1], "values "+strings.TrimSuffix(atSub, "}")+`,"__interrupt__":[`+question+`]}`; got != want {
			t.Errorf("at the pause\n got %s\nwant %s", got, want)
		}
	})
	t.Run("updates", func(t *testing.T) {
		compare(t, show(wire.ClassicOptions{Modes: []string{"updates"}, After: -1}), []string{
			metadata, `updates {"chat":{"messages":[` + aiOne + `,` + aiTwo + `]}}`, `updates {"sub":{"log":["noted"]}}`, `updates {"__interrupt__":[` + question + `]}`,
		})
	})
	t.Run("subgraphs", func(t *testing.T) {
		compare(t, show(wire.ClassicOptions{Modes: []string{"updates", "custom"}, Subgraphs: true, After: -1}), []string{
			metadata, `updates {"chat":{"messages":[` + aiOne + `,` + aiTwo + `]}}`, `custom|sub:ID {"inner":true,"name":"progress"}`,
			`updates|sub:ID {"in":{"text":"noted"}}`, `updates {"sub":{"log":["noted"]}}`, `updates {"__interrupt__":[` + question + `]}`,
		})
	})
	t.Run("custom of a subgraph", func(t *testing.T) {
		compare(t, show(wire.ClassicOptions{Modes: []string{"custom"}, After: -1}), []string{metadata, `custom {"inner":true,"name":"progress"}`})
	})
	t.Run("order in a step", func(t *testing.T) {
		names := classic(t, log, wire.ClassicOptions{Modes: []string{"values", "updates", "tasks", "checkpoints"}, After: -1}, false)
		compare(t, names, []string{
			"metadata", "checkpoints", "checkpoints", "values", "tasks", "updates", "tasks", "checkpoints", "values",
			"tasks", "updates", "tasks", "checkpoints", "values", "tasks", "tasks", "updates", "values",
		})
	})
	t.Run("messages-tuple", func(t *testing.T) {
		const chunk = `[{"type":"ai","content":%q,` + sides + `,"id":"m1","tool_calls":[],"invalid_tool_calls":[],"tool_call_chunks":[]},`
		lines := show(wire.ClassicOptions{Modes: []string{"messages-tuple"}, After: -1})
		want := []string{metadata, "messages " + fmt.Sprintf(chunk, "Ye"), "messages " + fmt.Sprintf(chunk, "s"), "messages [" + aiTwo + ","}
		for i := range lines {
			if i >= len(want) || !strings.HasPrefix(lines[i], want[i]) {
				t.Fatalf("event %d is %s\nwant %s", i, lines[i], want)
			}
		}
		if len(lines) != len(want) || !strings.Contains(lines[1], `"langgraph_node":"chat"`) || !strings.Contains(lines[1], `"checkpoint_ns":"chat:ID"`) {
			t.Errorf("want %d events whose metadata names the node (got %s)", len(want), lines)
		}
	})
	t.Run("messages", func(t *testing.T) {
		lines := show(wire.ClassicOptions{Modes: []string{"messages"}, After: -1})
		var names []string
		for _, l := range lines {
			names = append(names, strings.Split(l, " ")[0])
		}
		compare(t, names, []string{"metadata", "messages/complete", "messages/metadata", "messages/partial", "messages/partial", "messages/complete"})
		if got, want := lines[5], "messages/complete ["+aiOne+","+aiTwo+"]"; got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	})
	t.Run("debug", func(t *testing.T) {
		var kinds []string
		for _, l := range show(wire.ClassicOptions{Modes: []string{"debug"}, After: -1})[1:] {
			var d struct {
				Step int
				Type string
			}
			if err := json.Unmarshal([]byte(strings.TrimPrefix(l, "debug ")), &d); err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, fmt.Sprint(d.Step, " ", d.Type))
		}
		compare(t, kinds, []string{
			"-1 checkpoint", "0 checkpoint", "1 task", "1 task_result", "1 checkpoint", "2 task", "2 task_result", "2 checkpoint", "3 task", "3 task_result",
		})
	})
	t.Run("after an id", func(t *testing.T) {
		all := []string{"values", "updates", "tasks", "messages-tuple"}
		o := wire.ClassicOptions{Run: "r1", Modes: all, After: -1}
		whole := classic(t, log, o, true)
		c := wire.NewClassic(o)
		seen := 0
		for _, e := range log {
			events, _ := c.Project(e)
			for _, ev := range events {
				seen++
				again := o
				again.After = int64(ev.ID)
				compare(t, classic(t, log, again, true), whole[seen:])
			}
		}
	})
}

func TestClassic_EndsWithTheError(t *testing.T) {
	log := record(t, streamGraph(t, &checkpoint.Memory{}), "fail", graph.Sync)
	lines := classic(t, log, wire.ClassicOptions{Modes: []string{"updates"}, After: -1}, true)
	if got, want := lines[len(lines)-1], `error {"error":"CustomError","message":"Boo!","weft":{"node":"ask","step":3}}`; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestClassic_ShowsTheRunsOfAThread(t *testing.T) {
	log := record(t, streamGraph(t, &checkpoint.Memory{}), "", graph.Sync)
	c := wire.NewClassic(wire.ClassicOptions{Modes: []string{"custom"}, After: 1})
	var lines []string
	for _, e := range log {
		events, err := c.Project(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			if ev.ID != e.Seq {
				t.Errorf("the id must be the number of the record (got %d, want %d)", ev.ID, e.Seq)
			}
			lines = append(lines, ev.Name+" "+string(ev.Data))
		}
	}
	compare(t, lines, []string{`custom {"inner":true,"name":"progress"}`, `metadata {"status":"run_done","run_id":"r1"}`})
}

func TestRecorder_ShowsTheStatesOfEveryDurability(t *testing.T) {
	want := classic(t, record(t, streamGraph(t, &checkpoint.Memory{}), "", graph.Sync), wire.ClassicOptions{After: -1}, true)
	for _, d := range []graph.Durability{graph.Async, graph.Exit} {
		compare(t, classic(t, record(t, streamGraph(t, &checkpoint.Memory{}), "", d), wire.ClassicOptions{After: -1}, true), want)
	}
}

// protocol returns the methods and data of the events of a subscription.
func protocol(t *testing.T, log []wire.Event, sub wire.Subscription) (lines []string, last uint64) {
	t.Helper()
	p := wire.NewProtocol(sub)
	for _, e := range log {
		events, err := p.Project(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			if ev.Seq <= last {
				t.Errorf("%s has number %d after %d", ev.Method, ev.Seq, last)
			}
			last = ev.Seq
			var frame struct {
				Params struct {
					Namespace []string
					Data      json.RawMessage
				}
			}
			if err := json.Unmarshal(ev.Data, &frame); err != nil {
				t.Fatal(err)
			}
			path := ""
			if ns := frame.Params.Namespace; len(ns) > 0 {
				path = "|" + strings.Join(ns, "|")
			}
			lines = append(lines, uuids.ReplaceAllString(ev.Method+path+" "+string(frame.Params.Data), "ID"))
		}
	}
	return lines, last
}

func TestProtocol_ShowsChannels(t *testing.T) {
	log := record(t, streamGraph(t, &checkpoint.Memory{}), "", graph.Sync)
	for _, c := range []struct {
		name string
		sub  wire.Subscription
		want []string
	}{
		{"lifecycle", wire.Subscription{Channels: []string{"lifecycle"}}, []string{
			`lifecycle {"event":"running","graph_name":"talk"}`, `lifecycle|sub:ID {"event":"started","graph_name":"child"}`,
			`lifecycle|sub:ID {"event":"completed","graph_name":"child"}`, `lifecycle {"event":"completed","graph_name":"talk"}`,
		}},
		{"messages", wire.Subscription{Channels: []string{"messages"}}, []string{
			`messages {"event":"message-start","id":"m1","role":"ai","metadata":{"langgraph_node":"chat"}}`,
			`messages {"event":"content-block-start","index":0,"content":{"text":"","type":"text"}}`,
			`messages {"event":"content-block-delta","index":0,"delta":{"text":"Ye","type":"text-delta"}}`,
			`messages {"event":"content-block-delta","index":0,"delta":{"text":"s","type":"text-delta"}}`,
			`messages {"event":"content-block-finish","index":0,"content":{"text":"Yes","type":"text"}}`,
			`messages {"event":"message-finish","reason":"stop"}`,
		}},
		{"custom by name", wire.Subscription{Channels: []string{"custom:progress"}}, []string{
			`custom|sub:ID {"inner":true,"name":"progress","payload":{"inner":true,"name":"progress"}}`}},
		{"custom of another name", wire.Subscription{Channels: []string{"custom:other"}}, nil},
		{"node", wire.Subscription{Channels: []string{"updates"}, Namespaces: [][]string{{"sub"}}}, []string{`updates|sub:ID {"text":"noted"}`}},
		{"depth", wire.Subscription{Channels: []string{"updates"}, Depth: new(int)}, []string{
			`updates {"messages":[` + aiOne + `,` + aiTwo + `]}`, `updates {"log":["noted"]}`, `updates {}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := protocol(t, log, c.sub)
			compare(t, got, c.want)
		})
	}
	all, last := protocol(t, log, wire.Subscription{})
	rest, _ := protocol(t, log, wire.Subscription{Since: last / 2})
	if n := len(all) - len(rest); n <= 0 || !slices.Equal(all[n:], rest) {
		t.Errorf("since an event the rest must follow (got %d of %d)", len(rest), len(all))
	}
}

func TestProtocol_AsksBeforeItIsInterrupted(t *testing.T) {
	log := record(t, streamGraph(t, &checkpoint.Memory{}), "ask", graph.Sync)
	lines, _ := protocol(t, log, wire.Subscription{Channels: []string{"input", "lifecycle"}, Namespaces: [][]string{{}}, Depth: new(int)})
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "input.requested ") || !strings.HasSuffix(lines[1], `"payload":"Go on?","value":"Go on?"}`) ||
		lines[2] != `lifecycle {"event":"interrupted","graph_name":"talk"}` {
		t.Errorf("got %s", strings.Join(lines, "\n"))
	}
	log[len(log)-1].Data = json.RawMessage(`{"status":"interrupted","graph":"talk","error":{"error":"UserInterrupt","message":"m"}}`)
	lines, _ = protocol(t, log, wire.Subscription{Channels: []string{"lifecycle"}})
	if got := lines[len(lines)-1]; got != `lifecycle {"event":"completed","graph_name":"talk","cancelled":true}` {
		t.Errorf("a cancelled run must be completed (got %s)", got)
	}
}

// The log may have lost the start of a run.
func TestProtocol_EndHasTheGraphOfItsRun(t *testing.T) {
	log := record(t, streamGraph(t, &checkpoint.Memory{}), "", graph.Sync)
	lines, _ := protocol(t, log[1:], wire.Subscription{Channels: []string{"lifecycle"}, Depth: new(int)})
	compare(t, lines, []string{`lifecycle {"event":"completed","graph_name":"talk"}`})
}

func TestSubscription_RefusesUnknownChannels(t *testing.T) {
	minus := -1
	for _, s := range []wire.Subscription{{Channels: []string{"x"}}, {Depth: &minus}} {
		var bad *wire.Error
		if err := s.Check(); !errors.As(err, &bad) || bad.Code != wire.CodeInvalidRequest {
			t.Errorf("Check(%v) = %v, want invalid_request", s, err)
		}
	}
	if err := (wire.Subscription{Channels: []string{"values", "custom:x"}}).Check(); err != nil {
		t.Error(err)
	}
	if err := wire.CheckModes([]string{"values", "nothing"}); err == nil {
		t.Error("an unknown stream mode must be refused")
	}
	for s, ok := range map[string]bool{"-1": true, "0": true, "17": true, "-2": false, "x": false, "": false, "1.5": false} {
		if _, err := wire.ParseEventID(s); (err == nil) != ok {
			t.Errorf("ParseEventID(%q): %v", s, err)
		}
	}
}

// Two states ask for the commit before an input, and each load of it asks the store.
func TestRecorder_ReadsTheCommitBeforeAnInputOnce(t *testing.T) {
	reads := 0
	view := &wire.View{Thread: "t1", Graph: "talk", Commit: func(number uint64) (wire.Snapshot, bool) {
		reads++
		return wire.Snapshot{Info: graph.CommitInfo{Checkpoint: number}, State: json.RawMessage(`{"n":1}`)}, true
	}}
	r := wire.NewRecorder(wire.RecorderOptions{Run: "r1", Step: -2, View: func(string) *wire.View { return view }})
	for turn := range 2 {
		commit := graph.CommitInfo{Checkpoint: uint64(5 * (turn + 1)), Source: checkpoint.Input}
		for _, ev := range []graph.Event{
			{Mode: graph.Checkpoints, Checkpoint: commit.Checkpoint, Commit: &commit},
			{Mode: graph.Values, State: json.RawMessage(`{"n":2}`)},
		} {
			if _, err := r.Record(ev); err != nil {
				t.Fatal(err)
			}
		}
		if want := turn + 1; reads != want {
			t.Errorf("after %d inputs, commits were read %d times", want, reads)
		}
	}
}
