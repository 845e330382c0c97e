package message_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/state/message"
)

type jsonRaw = json.RawMessage

var noon = time.Date(2026, 1, 2, 12, 0, 0, 1, time.UTC)

func TestJSON_FormIsStable(t *testing.T) {
	m := message.Assistant("hi", message.Call{ID: "c1", Name: "add", Arguments: jsonRaw(`{"b": 2, "a": 1}`)})
	m.ID, m.Name, m.Created = "m1", "Ada", noon
	m.Usage = &message.Usage{Input: 10, Output: 2, Extra: map[string]jsonRaw{"tier": jsonRaw(`"fast"`)}}
	m, err := m.With("k", 1)
	if err != nil {
		t.Fatal(err)
	}
	m.Extra = map[string]jsonRaw{"z": jsonRaw("1"), "a": jsonRaw("[2]")}
	want := `{"id":"m1","role":"assistant","name":"Ada","content":"hi","tool_calls":[{"id":"c1","name":"add","arguments":{"b":2,"a":1}}],` +
		`"metadata":{"k":1},"usage":{"input_tokens":10,"output_tokens":2,"tier":"fast"},"created":"2026-01-02T12:00:00.000000001Z","a":[2],"z":1}`
	if got := asJSON(t, m); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestJSON_UnknownFieldsAreStored(t *testing.T) {
	for _, data := range []string{
		`{"id":"a","role":"user","content":"x","ROLE":"y","big":12345678901234567890}`,
		`{"role":"assistant","content":[{"type":"thinking","signature":"s","thinking":"…"},{"type":"text","text":"x","cache":{"t":1}}]}`,
		`{"role":"tool","tool_results":[{"tool_call_id":"c","content":[{"type":"data","data":{"n":1e400}},{"type":"image","bytes":"AQI=","mime":"image/png"}],"is_error":true,"x":1}]}`,
		`{"role":"assistant","tool_calls":[{"id":"c","name":"t","arguments_text":"{oops","index":0}],"usage":{"input_tokens":1,"output_tokens":0,"cached_tokens":1,"x":[]}}`,
		`{"role":"assistant","tool_calls":[{"id":"c","name":"t","arguments":null}]}`,
	} {
		var m message.Message
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		if got := asJSON(t, m); got != data {
			t.Errorf("got  %s\nwant %s", got, data)
		}
		if got := asJSON(t, m.Clone()); got != data {
			t.Errorf("the clone is %s", got)
		}
	}
}

func TestRole_ReadsNamesOfOtherSystems(t *testing.T) {
	for in, want := range map[string]message.Role{
		"human": message.RoleUser, "AI": message.RoleAssistant, "USER": message.RoleUser, "System": message.RoleSystem, "tool": message.RoleTool,
	} {
		var m message.Message
		if err := json.Unmarshal([]byte(`{"role":"`+in+`"}`), &m); err != nil || m.Role != want {
			t.Errorf("%s: got %q, %v, want %q", in, m.Role, err, want)
		}
	}
	if _, err := message.ParseRole("boss"); err == nil || !strings.Contains(err.Error(), `"boss"`) {
		t.Errorf("got %v, want an error that names the role", err)
	}
}

func TestJSON_MistakesNameTheField(t *testing.T) {
	for data, want := range map[string]string{
		`{"id":1,"role":"user"}`: "id: ", `{"role":"x"}`: "role: ", `{"role":null}`: "role is missing", `7`: "want a JSON object", `null`: "null",
		`{"role":"user","content":7}`: "content: ", `{"role":"user","created":"x"}`: "created: ", `{"role":"user","content":[{}]}`: "type is missing",
		`{"role":"assistant","tool_calls":[{"id":"c","arguments":{},"arguments_text":"x"}]}`: "both",
	} {
		var m message.Message
		if err := m.UnmarshalJSON([]byte(data)); err == nil || !strings.Contains(err.Error(), want) || m.Role != "" {
			t.Errorf("%s: got %v, want %q", data, err, want)
		}
	}
}

func TestLogAdd_NamesTheBrokenRule(t *testing.T) {
	calls, results := []message.Call{{ID: "c", Name: "t"}}, []message.Result{message.ResultOf("c", "x")}
	text := []message.Part{message.Text("x")}
	for _, tt := range []struct {
		m    message.Message
		rule message.Rule
	}{
		{message.Message{Role: "user", Content: text, Calls: calls}, message.RuleMix},
		{message.Message{Role: "user", Content: text, Results: results}, message.RuleMix},
		{message.Message{Role: "assistant", Results: results}, message.RuleMix},
		{message.Message{Role: "tool", Results: results, Content: text}, message.RuleMix},
		{message.Message{Role: "tool"}, message.RuleMix},
		{message.Message{Role: "system"}, message.RuleMix},
		{message.Message{Role: "system", Content: []message.Part{message.ImageURL("u")}}, message.RuleMix},
		{message.Message{Role: "assistant", Calls: []message.Call{{ID: "c"}}}, message.RuleMix},
		{message.Message{Role: "assistant", Calls: []message.Call{{Name: "t"}}}, message.RuleID},
		{message.Message{Role: "assistant", Calls: append(calls, calls...)}, message.RuleDuplicate},
		{message.Message{Role: "tool", Results: []message.Result{{}}}, message.RuleID},
		{message.Message{Role: "USER", Content: text}, message.RuleRole},
		{message.Message{Role: "user", Name: "\xff", Content: text}, message.RuleID},
		{message.User("\xff"), message.RuleText},
		{message.Message{Role: "user", Content: text, Metadata: map[string]jsonRaw{"\xff": jsonRaw("1")}}, message.RuleText},
		{message.Message{Role: "assistant", Calls: []message.Call{{ID: "c", Name: "\xff"}}}, message.RuleText},
		{message.Message{Role: "assistant", Calls: []message.Call{{ID: "c", Name: "t", Arguments: jsonRaw("\xff")}}}, message.RuleText},
		{message.Tool(message.ResultOf("c", "\xff")), message.RuleText},
		{message.Tool(message.ResultOf("\xff", "x")), message.RuleText},
		{message.UserParts(message.Part{Type: "data", Data: jsonRaw("\"\xff\"")}), message.RuleText},
		{message.UserParts(message.Part{}), message.RulePart},
		{message.UserParts(message.Part{Type: "text", Text: "x", URL: "u"}), message.RulePart},
		{message.UserParts(message.Part{Type: "data", Data: jsonRaw("{")}), message.RulePart},
		{message.UserParts(message.Part{Type: "data", Data: jsonRaw("{}"), Text: "x"}), message.RulePart},
		{message.UserParts(message.Part{Type: "image"}), message.RulePart},
		{message.UserParts(message.Part{Type: "image", URL: "u", Text: "x"}), message.RulePart},
		{message.UserParts(message.ImageBytes("", []byte{1})), message.RulePart},
		{message.UserParts(message.Part{Type: "thinking", Text: "x"}), message.RulePart},
		{message.UserParts(message.Part{Type: "text", Text: "x", Extra: map[string]jsonRaw{"text": jsonRaw("1")}}), message.RuleForm},
		{message.Message{Role: "user", Content: text, Extra: map[string]jsonRaw{"role": jsonRaw("1")}}, message.RuleForm},
	} {
		var l message.Log
		var invalid *message.InvalidError
		if err := l.Add(tt.m); !errors.As(err, &invalid) || len(invalid.Problems) != 1 || invalid.Problems[0].Rule != tt.rule {
			t.Errorf("%+v: got %v, want one problem of rule %q", tt.m, err, tt.rule)
		}
	}
}

func TestValidate_ReportsAllMismatches(t *testing.T) {
	ms := []message.Message{
		user("u", "x"), call("a", "c1", "c2"), answer("t1", "c1"), answer("t2", "c1"), answer("t3", "lost"),
		user("u", "next"), call("b", "c1"), message.Assistant("no id"),
	}
	var invalid *message.InvalidError
	if err := message.Validate(ms); !errors.As(err, &invalid) {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, p := range invalid.Problems {
		got = append(got, p.ID+": "+string(p.Rule))
	}
	want := "a: unanswered, t2: second result, t3: unknown call, u: duplicate, b: duplicate, b: unanswered, : id"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s\n%v", strings.Join(got, ", "), want, invalid)
	}
}

func TestValidate_PairsResultsInAnyOrder(t *testing.T) {
	ms := []message.Message{user("u", "x"), call("a", "c1", "c2", "c3"), answer("t1", "c3", "c1"), answer("t2", "c2")}
	if err := message.Validate(ms); err != nil {
		t.Error(err)
	}
	for i, want := range []int{2, 3, 2} {
		if p := message.Pairs(ms)[i]; p.ResultAt != want || p.At != 1 || !p.Answered() || p.Result.CallID != p.Call.ID {
			t.Errorf("pair %d: got %+v", i, p)
		}
	}
	calls, results := message.Orphans(append(ms[:3:3], answer("t9", "c9")))
	if len(calls) != 1 || calls[0] != (message.Ref{Index: 1, ID: "a", CallID: "c2"}) || len(results) != 1 || results[0].CallID != "c9" {
		t.Errorf("got %v and %v", calls, results)
	}
}

func TestArguments_AreDecodedOrNamed(t *testing.T) {
	var args struct{ N int }
	c := message.Call{ID: "c", Name: "add", Arguments: jsonRaw(`{"n":3}`)}
	if err := c.Decode(&args); err != nil || args.N != 3 {
		t.Errorf("got %v, %v", args, err)
	}
	c.Arguments = nil
	if err := c.Decode(&args); err != nil {
		t.Error(err)
	}
	c.Arguments = jsonRaw(`{oops`)
	var bad *message.ArgumentsError
	if err := c.Decode(&args); !errors.As(err, &bad) || bad.ID != "c" || bad.Name != "add" || errors.Unwrap(bad) == nil {
		t.Errorf("got %v", err)
	}
}

func TestMetadata_IsDecodedOrNamed(t *testing.T) {
	m, err := user("a", "x").With("n", 1)
	other, _ := m.With("n", 2)
	var n int
	if ok, err2 := m.Meta("n", &n); err != nil || err2 != nil || !ok || n != 1 {
		t.Errorf("got %d, %v, %v; %v", n, err, err2, other)
	}
	if ok, err := m.Meta("none", &n); ok || err != nil {
		t.Errorf("got %t, %v", ok, err)
	}
	var s string
	if ok, err := m.Meta("n", &s); !ok || err == nil {
		t.Errorf("got %t, %v", ok, err)
	}
	if _, err := m.With("f", func() {}); err == nil {
		t.Error("a function is taken for metadata")
	}
}

func TestTexts_AreJoined(t *testing.T) {
	r := message.Failed("c", "no")
	if got := message.Tool(r, message.ResultOf("d", "yes")).Text(); got != "noyes" || !r.IsError {
		t.Errorf("got %q", got)
	}
	data, err := message.Data(map[string]int{"n": 1})
	if m := message.UserParts(message.Text("a"), data, message.Text("b")); err != nil || m.Text() != "ab" {
		t.Errorf("got %q, %v", m.Text(), err)
	}
}
