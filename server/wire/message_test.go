package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/state/message"
)

// counted returns ids new-1, new-2 and so on.
func counted() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("new-%d", n) }
}

func with(m message.Message, id string) message.Message {
	m.ID = id
	return m
}

func TestMessages_HaveExactlyTheKeysOfTheWire(t *testing.T) {
	const sides = `"additional_kwargs":{},"response_metadata":{}`
	used := with(message.Assistant("hi"), "a2")
	used.Usage = &message.Usage{Input: 3, Output: 4}
	named := with(message.User("x"), "u2")
	named.Name = "anna"
	stamped, _ := with(message.User("x"), "u3").With("k", 1)
	stamped.Created = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for _, c := range []struct {
		name string
		m    message.Message
		want string
	}{
		{"user", with(message.User("hi"), "u1"), `[{"type":"human","content":"hi",` + sides + `,"id":"u1"}]`},
		{"line separator", with(message.User("a\u2028b"), "u1"), `[{"type":"human","content":"a\u2028b",` + sides + `,"id":"u1"}]`},
		{"system", with(message.System("s"), "s1"), `[{"type":"system","content":"s",` + sides + `,"id":"s1"}]`},
		{"assistant", with(message.Assistant("hi"), "a1"), `[{"type":"ai","content":"hi",` + sides + `,"id":"a1","tool_calls":[],"invalid_tool_calls":[]}]`},
		{"usage", used, `[{"type":"ai","content":"hi",` + sides + `,"id":"a2","tool_calls":[],"invalid_tool_calls":[],` +
			`"usage_metadata":{"input_tokens":3,"output_tokens":4,"total_tokens":7}}]`},
		{"call", with(message.Assistant("", message.Call{ID: "c1", Name: "search", Arguments: json.RawMessage(`{"q":1}`)}), "a3"),
			`[{"type":"ai","content":"",` + sides + `,"id":"a3","tool_calls":[{"id":"c1","name":"search","args":{"q":1},"type":"tool_call"}],"invalid_tool_calls":[]}]`},
		{"invalid call", with(message.Assistant("", message.Call{ID: "c1", Name: "search", Arguments: json.RawMessage(`{"q":`)}), "a3"),
			`[{"type":"ai","content":"",` + sides + `,"id":"a3","tool_calls":[],"invalid_tool_calls":[{"id":"c1","name":"search","args":"{\"q\":",` +
				`"error":"the arguments must be a JSON object","type":"invalid_tool_call"}]}]`},
		{"tool", with(message.Tool(message.ResultOf("c1", "r")), "t1"),
			`[{"type":"tool","content":"r","tool_call_id":"c1","status":"success",` + sides + `,"id":"t1"}]`},
		{"several results", with(message.Tool(message.ResultOf("c1", "r"), message.Failed("c2", "no")), "t1"),
			`[{"type":"tool","content":"r","tool_call_id":"c1","status":"success",` + sides + `,"id":"t1"},` +
				`{"type":"tool","content":"no","tool_call_id":"c2","status":"error",` + sides + `,"id":"t1#1"}]`},
		{"name", named, `[{"type":"human","content":"x","name":"anna",` + sides + `,"id":"u2"}]`},
		{"metadata", stamped, `[{"type":"human","content":"x","additional_kwargs":{"weft_metadata":{"k":1}},` +
			`"response_metadata":{"created":"2026-01-02T03:04:05.000000006Z"},"id":"u3"}]`},
		{"image", with(message.UserParts(message.Text("see"), message.ImageURL("http://x/y")), "u4"),
			`[{"type":"human","content":[{"type":"text","text":"see"},{"image_url":{"url":"http://x/y"},"type":"image_url"}],` + sides + `,"id":"u4"}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := wire.Messages([]message.Message{c.m})
			if err != nil || string(got) != c.want {
				t.Errorf("Messages: %v\n got %s\nwant %s", err, got, c.want)
			}
		})
	}
}

func TestReadMessages_TakesEveryForm(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"null", `null`, `null`},
		{"none", `[]`, `[]`},
		{"string", `"hi"`, `[{"id":"new-1","role":"user","content":"hi"}]`},
		{"strings", `["a","b"]`, `[{"id":"new-1","role":"user","content":"a"},{"id":"new-2","role":"user","content":"b"}]`},
		{"pair", `[["assistant","hi"]]`, `[{"id":"new-1","role":"assistant","content":"hi"}]`},
		{"role", `{"role":"developer","content":"s","id":"x"}`, `[{"id":"x","role":"system","content":"s"}]`},
		{"type", `[{"type":"human","content":"q","id":null,"name":null,"additional_kwargs":null}]`, `[{"id":"new-1","role":"user","content":"q"}]`},
		{"chunk", `[{"type":"AIMessageChunk","content":"q","id":"c","tool_call_chunks":[]}]`, `[{"id":"c","role":"assistant","content":"q"}]`},
		{"constructor", `{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"q","id":"k","additional_kwargs":{}}}`,
			`[{"id":"k","role":"user","content":"q"}]`},
		{"remove", `[{"type":"remove","id":"m1"},{"lc":1,"type":"constructor","id":["RemoveMessage"],"kwargs":{"id":"__remove_all__"}}]`,
			`[{"remove":"m1"},{"remove_all":true}]`},
		{"results", `[{"type":"tool","content":"r","tool_call_id":"c1","id":"t"},{"type":"tool","content":"s","tool_call_id":"c2","id":"t#1","status":"error"}]`,
			`[{"id":"t","role":"tool","tool_results":[{"tool_call_id":"c1","content":"r"},{"tool_call_id":"c2","content":"s","is_error":true}]}]`},
		{"results apart", `[{"type":"tool","content":"r","tool_call_id":"c1","id":"t"},{"type":"tool","content":"s","tool_call_id":"c2","id":"u"}]`,
			`[{"id":"t","role":"tool","tool_results":[{"tool_call_id":"c1","content":"r"}]},{"id":"u","role":"tool","tool_results":[{"tool_call_id":"c2","content":"s"}]}]`},
		{"calls of OpenAI", `{"role":"assistant","content":null,"id":"a","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}`,
			`[{"id":"a","role":"assistant","tool_calls":[{"id":"c","name":"f","arguments":{"x":1}}]}]`},
		{"call without an id", `{"type":"ai","content":"","id":"a","tool_calls":[{"name":"f","args":{},"type":"tool_call","id":null}]}`,
			`[{"id":"a","role":"assistant","tool_calls":[{"id":"new-1","name":"f","arguments":{}}]}]`},
		{"image", `{"role":"user","id":"u","content":["see",{"type":"image_url","image_url":{"url":"http://x","detail":"low"}},{"type":"file","file":{"id":1}}]}`,
			`[{"id":"u","role":"user","content":[{"type":"text","text":"see"},{"type":"image","url":"http://x","image_url":{"detail":"low"}},{"type":"file","file":{"id":1}}]}]`},
		{"of Weft", `{"remove_all":true}`, `[{"remove_all":true}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := wire.ReadMessages(json.RawMessage(c.in), counted())
			if err != nil || string(got) != c.want {
				t.Errorf("ReadMessages: %v\n got %s\nwant %s", err, got, c.want)
			}
		})
	}
}

func TestReadMessages_NamesTheMistake(t *testing.T) {
	for in, want := range map[string]string{
		`5`:                                      "message 0: it must be a string",
		`[{"content":"x"}]`:                      "message 0: the type must be",
		`["a",{"type":"chat","content":"x"}]`:    "message 1: the type must be",
		`{"type":"tool","content":"x"}`:          "a tool message must have a tool_call_id",
		`{"type":"human","content":{"a":1}}`:     "content must be a string",
		`{"type":"human","content":[{}]}`:        "block 0: it must be",
		`{"type":"ai","tool_calls":[{}]}`:        "call 0: it must have a name",
		`{"type":"ai","tool_calls":3}`:           "tool_calls must be a list",
		`[`:                                      "message 0",
		`{"role":"user","content":[{"type":1}]}`: "block 0",
	} {
		_, err := wire.ReadMessages(json.RawMessage(in), counted())
		var bad *wire.MessageError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadMessages(%s): %v; want a MessageError with %q", in, err, want)
		}
	}
}

func TestMessagesField_ShowsWrites(t *testing.T) {
	in := `[{"append":{"id":"m1","role":"user","content":"a"}},{"remove":"m0"},{"remove_all":true},{"replace":"m2","with":{"role":"user","content":"b"}},` +
		`{"replace_call":"m3","with":{"id":"c","name":"f"}}]`
	const sides = `"additional_kwargs":{},"response_metadata":{}`
	want := `[{"type":"human","content":"a",` + sides + `,"id":"m1"},{"type":"remove","content":"",` + sides + `,"id":"m0"},` +
		`{"type":"remove","content":"",` + sides + `,"id":"__remove_all__"},{"type":"human","content":"b",` + sides + `,"id":"m2"}]`
	if got, err := wire.MessagesField(json.RawMessage(in)); err != nil || string(got) != want {
		t.Errorf("MessagesField: %v\n got %s\nwant %s", err, got, want)
	}
}

// drawMessage draws a message that a log accepts.
func drawMessage(t *rapid.T, i int) message.Message {
	text := rapid.StringMatching(`[a-c\x{2028}#"]{1,4}`)
	raw := rapid.SampledFrom([]string{`1`, `"x"`, `{"a":[1]}`, `null`, `[]`, `1e3`})
	extra := func(label string) map[string]json.RawMessage {
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "type", "args", "artifact", "status", "additional_kwargs", "text2", "error"}), 0, 2, rapid.ID).Draw(t, label)
		if len(names) == 0 || rapid.Bool().Draw(t, label+"?") {
			return nil
		}
		all := map[string]json.RawMessage{}
		for _, n := range names {
			all[n] = json.RawMessage(raw.Draw(t, label+n))
		}
		return all
	}
	parts := func() (all []message.Part) {
		for range rapid.IntRange(1, 3).Draw(t, "parts") {
			var p message.Part
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				p = message.Text(text.Draw(t, "text"))
			case 1:
				p = message.ImageURL("http://" + text.Draw(t, "url"))
			case 2:
				p = message.ImageBytes("image/png", []byte{1, 2, byte(rapid.IntRange(0, 9).Draw(t, "byte"))})
			case 3:
				p = message.Part{Type: message.TypeData, Data: json.RawMessage(raw.Draw(t, "data"))}
			case 4:
				p = message.Part{Type: "thought", Extra: map[string]json.RawMessage{"signature": json.RawMessage(`"s"`)}}
			}
			if e := extra("part extra"); e != nil && p.Type != "thought" {
				delete(e, "type")
				p.Extra = e
			}
			all = append(all, p)
		}
		return all
	}
	m := message.Message{ID: fmt.Sprintf("m%d", i), Extra: extra("extra")}
	switch rapid.IntRange(0, 3).Draw(t, "role") {
	case 0:
		m.Role, m.Content = message.RoleUser, parts()
	case 1:
		m.Role, m.Content = message.RoleSystem, []message.Part{message.Text(text.Draw(t, "system"))}
	case 2:
		m.Role = message.RoleAssistant
		if rapid.Bool().Draw(t, "talks") {
			m.Content = parts()
		}
		for j := range rapid.IntRange(0, 3).Draw(t, "calls") {
			c := message.Call{ID: fmt.Sprintf("c%d", j), Name: "f", Extra: extra("call extra")}
			c.Arguments = json.RawMessage(rapid.SampledFrom([]string{``, `{}`, `{"a":1}`, `[1]`, `{"a`, `"{}"`}).Draw(t, "args"))
			if len(c.Arguments) == 0 {
				delete(c.Extra, "args") // which means arguments in the JSON of a call
			}
			if rapid.IntRange(0, 4).Draw(t, "edited") == 0 {
				c.Edited = &message.Edit{By: "anna", Arguments: json.RawMessage(`{"a":2}`)}
			}
			m.Calls = append(m.Calls, c)
		}
		if rapid.Bool().Draw(t, "usage") {
			m.Usage = &message.Usage{Input: 1, Output: 2, Cached: rapid.IntRange(0, 1).Draw(t, "cached")}
		}
	case 3:
		m.Role = message.RoleTool
		for j := range rapid.IntRange(1, 3).Draw(t, "results") {
			m.Results = append(m.Results, message.Result{CallID: fmt.Sprintf("c%d", j), Content: parts(), IsError: rapid.Bool().Draw(t, "error"), Extra: extra("result extra")})
		}
	}
	if rapid.Bool().Draw(t, "named") {
		m.Name = "n"
	}
	if rapid.Bool().Draw(t, "metadata") {
		m.Metadata = map[string]json.RawMessage{"k": json.RawMessage(raw.Draw(t, "meta"))}
	}
	if rapid.Bool().Draw(t, "created") {
		m.Created = time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	}
	return m
}

func TestMessages_AreReadAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ms []message.Message
		for i := range rapid.IntRange(1, 3).Draw(t, "messages") {
			ms = append(ms, drawMessage(t, i))
		}
		want, err := json.Marshal(ms)
		if err != nil {
			t.Fatal(err)
		}
		written, err := wire.Messages(ms)
		if err != nil {
			t.Fatal(err)
		}
		got, err := wire.ReadMessages(written, counted())
		if err != nil || string(got) != string(want) {
			t.Fatalf("reading %s: %v\n got %s\nwant %s", written, err, got, want)
		}
	})
}

func FuzzReadMessages(f *testing.F) {
	for _, s := range []string{
		`"hi"`, `[["user","x"]]`, `{"type":"ai","content":[{"type":"image","url":"x"}],"tool_calls":[{"id":"c","name":"f","args":{}}]}`,
		`[{"type":"tool","tool_call_id":"c","content":"x","id":"a"},{"type":"tool","tool_call_id":"d","content":"","id":"a#1"}]`,
		`{"lc":1,"type":"constructor","id":["AIMessage"],"kwargs":{"content":"x","usage_metadata":{"input_tokens":1,"output_tokens":2}}}`,
		`{"type":"human","content":"x","additional_kwargs":{"weft_message":{"role":"user","content":"y"},"k":1},"response_metadata":{"created":"2026-01-01T00:00:00Z"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := wire.ReadMessages(data, counted())
		if err != nil {
			return
		}
		shown, err := wire.MessagesField(first)
		if err != nil {
			return // an operation of Weft that is refused when it is written
		}
		again, err := wire.ReadMessages(shown, counted())
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, shown)
		}
		twice, err := wire.MessagesField(again)
		if err != nil || string(twice) != string(shown) {
			t.Fatalf("not stable: %v\nfirst  %s\nsecond %s", err, shown, twice)
		}
	})
}
