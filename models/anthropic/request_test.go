package anthropic_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/modeltest"
	"github.com/weftrun/weft/internal/recordedhttp"
	"github.com/weftrun/weft/models/anthropic"
	"github.com/weftrun/weft/state/message"
)

// sentBody sends r to a server, and returns the body that it received.
func sentBody(t *testing.T, cfg anthropic.Config, r model.Request) (body map[string]any) {
	t.Helper()
	m, s := connect(t, cfg, modeltest.Prepared(t, "as-it-should-be"))
	if _, err := model.Generate(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(s.Requests()[0], &body); err != nil {
		t.Fatal(err)
	}
	return body
}

func parse(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRequest_IsEncodedForTheAPI(t *testing.T) {
	r := model.Request{
		Model: "m-2",
		Messages: []message.Message{
			message.System("be short"),
			message.UserParts(message.Text("what is this?"), message.ImageBytes("image/png", []byte("png")), message.ImageURL("https://x.test/a.png")),
			message.Assistant("Let me see.", message.Call{ID: "run/1:0", Name: "see", Arguments: json.RawMessage(`{"at":1}`)}, message.Call{ID: "b", Name: "see", Arguments: json.RawMessage(`{"at`)}),
			message.Tool(message.ResultOf("run/1:0", "a cat")),
			message.Tool(message.Failed("b", "the arguments are no JSON")),
			message.User("sure?"),
			message.User(" "),
		},
		Tools: []model.Tool{
			{Name: "see", Description: "looks", Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"integer"}},"required":["at"],"additionalProperties":false}`)},
			{Name: "now"},
		},
		Choice: model.Required, Temperature: new(0.5), MaxTokens: 99, StopAt: []string{"END"},
		Options: map[string]json.RawMessage{"top_k": json.RawMessage(`7`), "thinking": json.RawMessage(`{"type":"enabled","budget_tokens":2048}`)},
	}
	got := sentBody(t, anthropic.Config{}, r)
	id := got["messages"].([]any)[1].(map[string]any)["content"].([]any)[1].(map[string]any)["id"].(string)
	if len(id) > 64 || strings.ContainsAny(id, "/:") {
		t.Errorf("the ID of a call is %q", id)
	}
	want := parse(t, strings.ReplaceAll(`{"model":"m-2","stream":true,"max_tokens":99,"temperature":0.5,"stop_sequences":["END"],"top_k":7,
	"thinking":{"type":"enabled","budget_tokens":2048},
	"system":[{"type":"text","text":"be short"}],"tool_choice":{"type":"any"},"tools":[
		{"name":"see","description":"looks","input_schema":{"type":"object","properties":{"at":{"type":"integer"}},"required":["at"],"additionalProperties":false}},
		{"name":"now","input_schema":{"type":"object","properties":{}}}],
	"messages":[
		{"role":"user","content":[{"type":"text","text":"what is this?"},
			{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}},
			{"type":"image","source":{"type":"url","url":"https://x.test/a.png"}}]},
		{"role":"assistant","content":[{"type":"text","text":"Let me see."},
			{"type":"tool_use","id":"ID","name":"see","input":{"at":1}},{"type":"tool_use","id":"b","name":"see","input":{}}]},
		{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"ID","content":[{"type":"text","text":"a cat"}]},
			{"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"the arguments are no JSON"}]},
			{"type":"text","text":"sure?"}]}]}`, "ID", id))
	if d := cmp.Diff(want, any(got)); d != "" {
		t.Error(d)
	}
}

func TestThoughts_AreSentBackWithTheirSignature(t *testing.T) {
	m, s := connect(t, anthropic.Config{}, modeltest.Prepared(t, "thinking-then-call"), modeltest.Prepared(t, "redacted-thinking"), modeltest.Prepared(t, "as-it-should-be"))
	r := hello()
	r.Tools = []model.Tool{{Name: "find"}}
	for range 2 {
		answer, err := model.Generate(t.Context(), m, r)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(answer.Message) // as a log stores it
		if err != nil {
			t.Fatal(err)
		}
		var stored message.Message
		if err := json.Unmarshal(data, &stored); err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, stored)
		if len(stored.Calls) > 0 {
			if answer.Reasoning != "I must look." {
				t.Errorf("got the reasoning %q", answer.Reasoning)
			}
			r.Messages = append(r.Messages, message.Tool(message.ResultOf(stored.Calls[0].ID, "found")))
		}
	}
	r.Messages = append(r.Messages, message.User("thanks"))
	if _, err := model.Generate(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	body := parse(t, string(s.Requests()[2])).(map[string]any)
	messages := body["messages"].([]any)
	want := parse(t, `[{"type":"thinking","thinking":"I must look.","signature":"sig1"},{"type":"tool_use","id":"toolu_1","name":"find","input":{}}]`)
	if d := cmp.Diff(want, messages[1].(map[string]any)["content"]); d != "" {
		t.Error(d)
	}
	want = parse(t, `[{"type":"redacted_thinking","data":"AAAA"},{"type":"text","text":"Four."}]`)
	if d := cmp.Diff(want, messages[3].(map[string]any)["content"]); d != "" {
		t.Error(d)
	}
}

func TestSchema_IsSentIfTheAPIEnforcesIt(t *testing.T) {
	exact := `{"type":"object","properties":{"fits":{"type":"boolean"}},"required":["fits"],"additionalProperties":false}`
	for name, tt := range map[string]struct {
		form     anthropic.Form
		schema   string
		enforced bool
	}{
		"a closed object":    {anthropic.FormSchema, exact, true},
		"an open object":     {anthropic.FormSchema, `{"type":"object","properties":{"fits":{"type":"boolean"}}}`, false},
		"an open one within": {anthropic.FormSchema, `{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},"additionalProperties":false}`, false},
		"another keyword":    {anthropic.FormSchema, `{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"additionalProperties":false}`, false},
		"words":              {anthropic.FormPrompt, exact, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := hello()
			r.Output = &model.Schema{JSON: json.RawMessage(tt.schema)}
			got := sentBody(t, anthropic.Config{Form: tt.form}, r)
			format, enforced := got["output_config"]
			if _, words := got["system"]; enforced != tt.enforced || words == tt.enforced {
				t.Errorf("got %v and the system prompt %v", format, got["system"])
			}
			if want := parse(t, `{"format":{"type":"json_schema","schema":`+tt.schema+`}}`); enforced && !cmp.Equal(format, want) {
				t.Error(cmp.Diff(want, format))
			}
		})
	}
}

func TestChoice_IsEncoded(t *testing.T) {
	for choice, want := range map[model.Choice]string{
		model.Use("see"): `{"type":"tool","name":"see"}`, model.None: `{"type":"none"}`, model.Auto: `null`,
	} {
		r := hello()
		r.Tools, r.Choice = []model.Tool{{Name: "see"}}, choice
		if d := cmp.Diff(parse(t, want), sentBody(t, anthropic.Config{}, r)["tool_choice"]); d != "" {
			t.Errorf("%q: %s", choice, d)
		}
	}
}

func TestKey_IsSentAndNeverReported(t *testing.T) {
	echo := recordedhttp.Case{Raw: []byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n{\"error\":{\"message\":\"you sent " + key + " and team-token-9\"}}")}
	m, s := connect(t, anthropic.Config{Header: http.Header{"X-Team": {"team-token-9"}}}, echo)
	_, err := model.Generate(t.Context(), m, hello())
	h := s.Headers()[0]
	if h.Get("X-Api-Key") != key || h.Get("X-Team") != "team-token-9" || h.Get("Anthropic-Version") == "" {
		t.Errorf("the server got %v, want the key, X-Team and a version", h)
	}
	if err == nil || strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "team-token-9") {
		t.Errorf("got %v", err)
	}
}

func TestKey_OfTheEnvironmentIsNotSentToAnotherServer(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-of-the-environment")
	s := recordedhttp.NewServer(modeltest.Prepared(t, "as-it-should-be"))
	url, stop, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	url = strings.TrimSuffix(url, "/v1")
	ask := func(cfg anthropic.Config) string {
		t.Helper()
		cfg.Model, cfg.Client = "m", &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		m, err := anthropic.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := model.Generate(t.Context(), m, hello()); err != nil {
			t.Fatal(err)
		}
		all := s.Headers()
		return all[len(all)-1].Get("X-Api-Key")
	}
	if got := ask(anthropic.Config{BaseURL: url}); got != "" {
		t.Errorf("a server of Config.BaseURL got the key %q, want none", got)
	}
	t.Setenv("ANTHROPIC_BASE_URL", url)
	if got := ask(anthropic.Config{}); got != "sk-of-the-environment" {
		t.Errorf("the server of the environment got the key %q, want that of the environment", got)
	}
}

func TestNew_RefusesInvalidConfigurations(t *testing.T) {
	for name, cfg := range map[string]anthropic.Config{
		"a URL without a scheme":  {BaseURL: "localhost:1"},
		"a key with a line break": {BaseURL: "http://server.test", Key: "a\nb"},
		"negative MaxTokens":      {BaseURL: "http://server.test", MaxTokens: -1},
		"an unknown form":         {BaseURL: "http://server.test", Form: "xml"},
	} {
		if _, err := anthropic.New(cfg); !errors.Is(err, anthropic.ErrConfig) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRequest_InvalidIsAnError(t *testing.T) {
	m, s := connect(t, anthropic.Config{}, modeltest.Prepared(t, "as-it-should-be"))
	for want, r := range map[string]model.Request{
		`message 1: part 0`: {Messages: []message.Message{message.User("a"), message.UserParts(message.Part{Type: "video"})}},
		`no role "judge"`:   {Messages: []message.Message{{Role: "judge"}}},
		`tool "f"`:          {Tools: []model.Tool{{Name: "f", Schema: json.RawMessage(`[`)}}},
	} {
		_, err := model.Generate(t.Context(), m, r)
		if model.KindOf(err) != model.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if len(s.Requests()) != 0 {
		t.Errorf("the server got %d invalid requests, want none", len(s.Requests()))
	}
}

func TestStream_IsNotRetried(t *testing.T) {
	m, s := connect(t, anthropic.Config{}, modeltest.Prepared(t, "529"))
	if _, err := model.Generate(t.Context(), m, hello()); model.KindOf(err) != model.Overloaded || len(s.Requests()) != 1 {
		t.Errorf("got %v after %d requests, want overloaded after one", err, len(s.Requests()))
	}
}

func TestStream_LeavingTheLoopEndsTheRequest(t *testing.T) {
	m, _ := connect(t, anthropic.Config{}, modeltest.Prepared(t, "no-end-of-text"))
	n := 0
	for _, err := range m.Stream(t.Context(), hello()) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("got %d chunks, want 3", n)
	}
	// The server sends until the client has disconnected; the cleanup of connect waits for that.
}
