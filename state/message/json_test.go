package message_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// oddities are strings of which encoding/json changes the bytes, and their neighbours.
var oddities = []string{"", "plain", `a "quote" and \`, "<b>&amp;", "\x00\x1f\x7f", "é 世界 \u2028\u2029", "\n"}

// full returns a message with every field, in which s is said everywhere.
func full(s string) message.Message {
	extra := map[string]json.RawMessage{"x" + s: json.RawMessage(`{"a": "<", "b":[1, 2]}`)}
	part := message.Part{Type: message.TypeText, Text: s, Extra: extra}
	return message.Message{
		ID: s, Role: message.RoleAssistant, Name: s,
		Content:  []message.Part{part, {Type: message.TypeData, Data: json.RawMessage(` {"k": "&"} `)}, message.ImageURL("u" + s)},
		Calls:    []message.Call{{ID: s, Name: s, Arguments: json.RawMessage(`{"q" : 1}`), Extra: extra}, {ID: "2", Name: s, Arguments: json.RawMessage(s + "{")}},
		Results:  []message.Result{message.ResultOf(s, s), {CallID: s, Content: []message.Part{part}, IsError: true, Extra: extra}},
		Metadata: extra, Usage: &message.Usage{Input: 1, Cached: 2, Extra: extra},
		Created: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Extra: extra,
	}
}

// What a message writes is what encoding/json makes of it: compact, with the same escapes. So ids,
// which are hashes of it, stay as they were.
func TestMessage_WritesWhatEncodingJSONWrites(t *testing.T) {
	for _, s := range oddities {
		m := full(s)
		got, err := m.MarshalJSON()
		want, wantErr := json.Marshal(m) // it checks and compacts what MarshalJSON returns
		if err != nil || wantErr != nil || string(got) != string(want) {
			t.Errorf("%q is written\n%s\nwant\n%s\n%v %v", s, got, want, err, wantErr)
		}
		var quoted struct{ Name string }
		if err := json.Unmarshal(got, &quoted); err != nil || quoted.Name != through(t, s) {
			t.Errorf("the name %q comes back as %q, %v", s, quoted.Name, err)
		}
	}
}

func through(t *testing.T, s string) (out string) {
	data, err := json.Marshal(s)
	if err = errors.Join(err, json.Unmarshal(data, &out)); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLog_GeneratedIDsAreStable(t *testing.T) {
	var l message.Log
	call := message.Call{ID: "c1", Name: "ask", Arguments: json.RawMessage(`{"q": "<é>"}`)}
	data, err := message.Data(map[string]any{"k": "&"})
	if err = errors.Join(err, l.Add(message.User("hi <you>\n"), message.Assistant("", call), message.Tool(message.ResultOf("c1", "é")), message.UserParts(data))); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"mf1cfb3b7adb9a295ccca", "mfb77460465586d929be2", "m405db0f478857b94478f", "m367f7d4e759acaee4da9"} {
		if got := l.At(i).ID; got != want {
			t.Errorf("message %d has the id %s, want %s: stored conversations would get others", i, got, want)
		}
	}
}

// A message that has no form in JSON is refused when it is added, wherever the fault is.
func TestMessage_WithoutAFormIsRefused(t *testing.T) {
	bad := map[string]json.RawMessage{"x": json.RawMessage("{")}
	part := message.Part{Type: message.TypeText, Text: "a", Extra: bad}
	for name, m := range map[string]message.Message{
		"metadata":              {Role: message.RoleUser, Content: []message.Part{message.Text("a")}, Metadata: bad},
		"extra":                 {Role: message.RoleUser, Content: []message.Part{message.Text("a")}, Extra: bad},
		"part":                  {Role: message.RoleUser, Content: []message.Part{message.Text("a"), part}},
		"call":                  {Role: message.RoleAssistant, Calls: []message.Call{{ID: "c", Name: "n", Extra: bad}}},
		"result":                {Role: message.RoleTool, Results: []message.Result{{CallID: "c", Extra: bad}}},
		"part of a result":      {Role: message.RoleTool, Results: []message.Result{{CallID: "c", Content: []message.Part{part}}}},
		"usage":                 {Role: message.RoleUser, Content: []message.Part{message.Text("a")}, Usage: &message.Usage{Extra: bad}},
		"the year ten thousand": {Role: message.RoleUser, Content: []message.Part{message.Text("a")}, Created: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		var l message.Log
		var invalid *message.InvalidError
		if err := l.Add(m); !errors.As(err, &invalid) || l.Len() != 0 {
			t.Errorf("%s: got %v and a log of %d, want an *InvalidError and nothing added", name, err, l.Len())
		}
	}
}

// noted embeds a message and has its own JSON form. The other type inherits the form of the
// message.
type (
	noted struct {
		message.Message
		Note string
	}
	plain struct {
		message.Message
		Note string
	}
)

func (n noted) MarshalJSON() ([]byte, error) { return json.Marshal(n.Note + n.ID) }

func TestMessage_InsideATypeOfTheUserKeepsItsForm(t *testing.T) {
	for _, s := range oddities {
		m := full(s)
		writesAs(t, noted{m, s})
		writesAs(t, plain{m, s})
		writesAs(t, m)
		writesAs(t, &m)
	}
}

// writesAs checks that channels write v as encoding/json does.
func writesAs[T any](t *testing.T, v T) {
	t.Helper()
	var list state.List[T]
	list.Append(v, v)
	var stack state.Stack[T]
	stack.Prepend(v)
	var byName state.Map[string, T]
	byName.Put("<a>", v)
	value := state.Of(v)
	for _, c := range []struct {
		channel json.Marshaler
		holds   any
	}{{list, []T{v, v}}, {stack, []T{v}}, {byName, map[string]T{"<a>": v}}, {value, v}, {state.Of([]T{v}), []T{v}}, {state.Of(map[string]T{"a": v}), map[string]T{"a": v}}} {
		got, err := c.channel.MarshalJSON()
		want, wantErr := json.Marshal(c.holds)
		if err != nil || wantErr != nil || string(got) != string(want) {
			t.Errorf("%T is written\n%s\nwant\n%s\n%v %v", c.channel, got, want, err, wantErr)
		}
	}
}

// The JSON of messages in other systems keeps its meaning: timestamp, args, result, messageId.
func TestMessageJSON_ForeignNames(t *testing.T) {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 5e6, time.UTC)
	for given, want := range map[string]string{
		`{"id":"1","timestamp":"2026-05-01T12:00:00.005Z","role":"user","content":"hi"}`:                                                                                                                                                    `{"id":"1","role":"user","content":"hi","created":"2026-05-01T12:00:00.005Z"}`,
		`{"messageId":"1","timestamp":1777636800005,"role":"USER","content":"hi"}`:                                                                                                                                                          `{"id":"1","role":"user","content":"hi","created":"2026-05-01T12:00:00.005Z"}`,
		`{"id":"1","messageId":"1","timestamp":1777636800005,"role":"AI","content":"hi","threadId":"t"}`:                                                                                                                                    `{"id":"1","role":"assistant","content":"hi","created":"2026-05-01T12:00:00.005Z","threadId":"t"}`,
		`{"id":"1","timestamp":"2026-05-01T12:00:00.005Z","role":"assistant","content":null,"tool_calls":[{"id":"c","name":"f","args":{"n":1}}]}`:                                                                                           `{"id":"1","role":"assistant","tool_calls":[{"id":"c","name":"f","arguments":{"n":1}}],"created":"2026-05-01T12:00:00.005Z"}`,
		`{"id":"1","timestamp":"2026-05-01T12:00:00.005Z","role":"tool","tool_results":[{"tool_call_id":"c","result":"four","is_error":false},{"tool_call_id":"d","result":{"n":[4]},"is_error":true},{"tool_call_id":"e","result":null}]}`: `{"id":"1","role":"tool","tool_results":[{"tool_call_id":"c","content":"four"},{"tool_call_id":"d","content":[{"type":"data","data":{"n":[4]}}],"is_error":true},{"tool_call_id":"e"}],"created":"2026-05-01T12:00:00.005Z"}`,
	} {
		var m message.Message
		if err := json.Unmarshal([]byte(given), &m); err != nil {
			t.Errorf("%s: %v", given, err)
			continue
		}
		if !m.Created.Equal(noon) {
			t.Errorf("%s: created is %v, want %v", given, m.Created, noon)
		}
		if got, err := json.Marshal(m); err != nil || string(got) != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", given, got, err, want)
		}
		var log message.Log
		if err := log.Add(m); err != nil {
			t.Errorf("%s: %v", given, err)
		}
	}
}

// What cannot be read is refused when it is added, with the name that it should have. A stored
// message is still read.
func TestMessageJSON_ForeignNameThatCannotBeRead(t *testing.T) {
	for given, field := range map[string]string{
		`{"id":"1","role":"user","content":"hi","timestamp":"noon"}`: "created",
		`{"id":"1","role":"user","content":"hi","timestamp":null}`:   "created",
		`{"id":"1","role":"user","content":"hi","messageId":7}`:      "id",
		`{"id":"1","role":"user","content":"hi","messageId":"2"}`:    "id",
	} {
		var m message.Message
		if err := json.Unmarshal([]byte(given), &m); err != nil {
			t.Errorf("%s: %v", given, err)
		}
		var invalid *message.InvalidError
		if err := new(message.Log).Add(m); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "must be written as "+field) {
			t.Errorf("%s: got %v, want it refused with the name %s", given, err, field)
		}
	}
	both := `{"id":"1","role":"assistant","tool_calls":[{"id":"c","name":"f","arguments":{"n":1},"args":{"n":2}}],"created":"2026-05-01T12:00:00Z","timestamp":"noon"}`
	var m message.Message
	if err := json.Unmarshal([]byte(both), &m); err != nil {
		t.Fatal(err)
	}
	if err := new(message.Log).Add(m); err != nil {
		t.Errorf("got %v for a member that has another name of a known field", err)
	}
	if got, err := json.Marshal(m); err != nil || string(got) != both {
		t.Errorf("got %s, %v\nwant %s", got, err, both)
	}
}
