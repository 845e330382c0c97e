package chat_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/server/chat"
	"github.com/weftrun/weft/server/wire"
)

// record returns a record of the run r.
func record(t *testing.T, kind wire.Kind, data any) wire.Event {
	t.Helper()
	raw, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Event{Run: "r", Kind: kind, Node: "n", Data: raw}
}

var kinds = map[chat.Kind]string{
	chat.Begin: "begin", chat.StepStart: "step", chat.StepEnd: "stepend", chat.Start: "start", chat.Text: "text", chat.Reasoning: "reasoning",
	chat.Call: "call", chat.Arguments: "args", chat.CallEnd: "callend", chat.End: "end", chat.Result: "result", chat.State: "state",
	chat.Custom: "custom", chat.Asked: "asked", chat.Ended: "ended",
}

func TestReader_ReadsConversations(t *testing.T) {
	start := record(t, wire.KindRun, wire.RunStart{})
	token := func(index int, text string, final bool) wire.Event {
		return record(t, wire.KindToken, wire.Token{ID: "m", Role: "ai", Index: index, Text: text, Final: final})
	}
	piece := func(p wire.CallPiece) wire.Event {
		return record(t, wire.KindToken, wire.Token{ID: "m", Role: "ai", Index: 1, Call: &p})
	}
	messages := func(text string) wire.Event {
		return record(t, wire.KindResult, wire.TaskResult{Result: json.RawMessage(`{"messages":[` + text + `]}`), Messages: []string{"messages"}})
	}
	state := record(t, wire.KindState, wire.StateAt{
		Phase: 1, Quiet: true, Values: json.RawMessage(`{"messages":[{"type":"ai","id":"old","content":"x"},{"type":"tool","id":"t","tool_call_id":"c","content":"y"}]}`), Messages: []string{"messages"},
	})
	other, child := token(0, "x", false), messages(`{"type":"ai","id":"i","content":"inner"}`)
	other.Run, child.NS = "another", "sub:1"
	for _, tt := range []struct {
		name    string
		records []wire.Event
		want    string
	}{
		{"a stream", []wire.Event{start, token(0, "Wo", false), token(1, "ol", false), token(2, "", true)}, "begin start:m text:Wo text:ol end:m"},
		{"a stream that begins again", []wire.Event{token(0, "Wo", false), token(0, "Hi", false), token(1, "", true)}, "start:m text:Wo end:m start:m#2 text:Hi end:m#2"},
		{"another attempt", []wire.Event{start, token(0, "Wo", false), start}, "begin start:m text:Wo end:m"},
		{"a stream that is handed over", []wire.Event{token(0, "Wo", false), record(t, wire.KindEnd, wire.RunEnd{Handed: true})}, "start:m text:Wo end:m"},
		{"a call in pieces", []wire.Event{piece(wire.CallPiece{ID: "c", Args: "{"}), piece(wire.CallPiece{Name: "f", Args: "}"}), token(2, "", true)},
			"start:m call:f args:{} callend:f end:m"},
		{"a whole message", []wire.Event{messages(`{"type":"ai","id":"w","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`)}, "start:w text:ab end:w stepend:n"},
		{"a streamed message in the state", []wire.Event{token(0, "Wo", true), messages(`{"type":"ai","id":"m","content":"Wo"}`)}, "start:m text:Wo end:m stepend:n"},
		{"messages of earlier runs", []wire.Event{state, messages(`{"type":"ai","id":"old","content":"x"},{"type":"tool","tool_call_id":"c","content":"y"},{"type":"ai","id":"new","content":"z"}`)},
			"start:new text:z end:new stepend:n"},
		{"a result", []wire.Event{messages(`{"type":"tool","id":"t","tool_call_id":"c","content":"y","status":"error"}`)}, "result:y! stepend:n"},
		{"a person", []wire.Event{messages(`{"type":"human","id":"h","content":"x"}`)}, "stepend:n"},
		{"a subgraph, and another run", []wire.Event{child, other}, ""},
		{"a failure", []wire.Event{token(0, "Wo", false), record(t, wire.KindEnd, wire.RunEnd{Status: wire.RunFailed, Error: &wire.RunError{Error: "E"}})}, "start:m text:Wo end:m ended:E"},
		{"a cancel", []wire.Event{record(t, wire.KindEnd, wire.RunEnd{Status: wire.RunInterrupted, Error: &wire.RunError{Error: "E"}})}, "ended:cancelled"},
	} {
		r, got := chat.NewReader("r"), []string{}
		for _, e := range tt.records {
			events, err := r.Read(e)
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			for _, e := range events {
				got = append(got, strings.TrimSuffix(fmt.Sprintf("%s:%s", kinds[e.Kind], detail(e)), ":"))
			}
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, text, tt.want)
		}
	}
}

// detail returns what a table shows of an event.
func detail(e chat.Event) string {
	switch {
	case e.Cancelled:
		return "cancelled"
	case e.Error != nil:
		return e.Error.Error
	case e.Failed:
		return e.Delta + "!"
	case e.Delta != "":
		return e.Delta
	case e.Name != "":
		return e.Name
	}
	return e.Message
}
