package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/internal/recordedhttp"
	"github.com/weftrun/weft/state/message"
)

func chunk(delta, finish string) string {
	return `{"id":"x","object":"chat.completion.chunk","model":"m-1","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`
}

// fine is an answer with the text ok.
func fine() recordedhttp.Case { return recordedhttp.Stream(chunk(`{"content":"ok"}`, `"stop"`)) }

// sent returns the request that a server got, as compact JSON.
func sent(t *testing.T, cfg openai.Config, r model.Request) string {
	t.Helper()
	m, s := connect(t, cfg, fine())
	if _, err := model.Generate(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	return string(s.Requests()[0])
}

func TestRequest_HasTheFormOfTheWire(t *testing.T) {
	image := message.ImageBytes("image/png", []byte("png"))
	long := strings.Repeat("long-", 20)
	r := model.Request{
		Model: "m-2",
		Messages: []message.Message{
			message.System("be short"),
			message.UserParts(message.Text("what is this?"), image),
			message.Assistant("", message.Call{ID: long, Name: "see", Arguments: json.RawMessage(`{"at":1}`)}, message.Call{ID: "b", Name: "see", Arguments: json.RawMessage(`{"at`)}),
			message.Tool(message.ResultOf(long, "a cat"), message.Failed("b", "the arguments are no JSON")),
			message.Assistant("A cat."),
			message.User("sure?"),
		},
		Tools: []model.Tool{
			{Name: "see", Description: "looks", Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"integer"}}}`)},
			{Name: "now"},
		},
		Choice: model.Required, Temperature: new(0.0), MaxTokens: 99, StopAt: []string{"END"},
		Options: map[string]json.RawMessage{"seed": json.RawMessage(`7`), "x.y": json.RawMessage(`{"a":1}`)},
	}
	var got, want any
	if err := json.Unmarshal([]byte(sent(t, openai.Config{}, r)), &got); err != nil {
		t.Fatal(err)
	}
	id := got.(map[string]any)["messages"].([]any)[3].(map[string]any)["tool_call_id"].(string)
	if len(id) > 40 || id == "" {
		t.Errorf("the id of a call is %q", id)
	}
	text := strings.ReplaceAll(`{"model":"m-2","stream":true,"stream_options":{"include_usage":true},"temperature":0,"max_tokens":99,"stop":["END"],"seed":7,"x.y":{"a":1},
	"tool_choice":"required","tools":[
		{"type":"function","function":{"name":"see","description":"looks","parameters":{"type":"object","properties":{"at":{"type":"integer"}}}}},
		{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}],
	"messages":[
		{"role":"system","content":"be short"},
		{"role":"user","content":[{"type":"text","text":"what is this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]},
		{"role":"assistant","tool_calls":[
			{"id":"LONG","type":"function","function":{"name":"see","arguments":"{\"at\":1}"}},
			{"id":"b","type":"function","function":{"name":"see","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"LONG","content":"a cat"},
		{"role":"tool","tool_call_id":"b","content":"the arguments are no JSON"},
		{"role":"assistant","content":"A cat."},
		{"role":"user","content":"sure?"}]}`, "LONG", id)
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestRequest_NamesTheToolToUse(t *testing.T) {
	r := hello()
	r.Tools, r.Choice = []model.Tool{{Name: "see"}}, model.Use("see")
	if got := sent(t, openai.Config{}, r); !strings.Contains(got, `"tool_choice":{"function":{"name":"see"},"type":"function"}`) {
		t.Error(got)
	}
}

func TestForm_IsRequestedAsConfigured(t *testing.T) {
	exact := `{"type":"object","properties":{"fits":{"type":"boolean"}},"required":["fits"],"additionalProperties":false}`
	loose := `{"type":"object","properties":{"fits":{"type":"boolean"}}}`
	for name, tt := range map[string]struct {
		form    openai.Form
		schema  string
		with    []string
		without []string
	}{
		"a schema that can be forced": {openai.FormSchema, exact, []string{`"json_schema"`, `"strict":true`, `"name":"verdict"`, `"additionalProperties":false`}, []string{"role\":\"system"}},
		"one that cannot":             {openai.FormSchema, loose, []string{`"json_schema"`}, []string{`"strict"`}},
		"an object":                   {openai.FormObject, exact, []string{`"json_object"`, `"role":"system"`, `JSON Schema`}, []string{`"json_schema"`}},
		"words":                       {openai.FormPrompt, exact, []string{`"role":"system"`, `JSON Schema`}, []string{`response_format`}},
	} {
		t.Run(name, func(t *testing.T) {
			r := hello()
			r.Output = &model.Schema{Name: "verdict", JSON: json.RawMessage(tt.schema)}
			got := sent(t, openai.Config{Form: tt.form}, r)
			for _, part := range tt.with {
				if !strings.Contains(got, part) {
					t.Errorf("%s is not in %s", part, got)
				}
			}
			for _, part := range tt.without {
				if strings.Contains(got, part) {
					t.Errorf("%s is in %s", part, got)
				}
			}
		})
	}
}

func TestRequest_ForcesTheSchemaOfAType(t *testing.T) {
	m, s := connect(t, openai.Config{}, recordedhttp.Stream(chunk(`{"content":"{\"name\":\"a\",\"tags\":[\"b\"]}"}`, `"stop"`)))
	type item struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
	}
	got, err := model.Decode[item](t.Context(), m, hello())
	if d := cmp.Diff(item{"a", []string{"b"}}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	if body := string(s.Requests()[0]); !strings.Contains(body, `"strict":true`) {
		t.Errorf("it was not forced: %s", body)
	}
}

func TestKey_IsSentAndNeverReported(t *testing.T) {
	cfg := openai.Config{Header: http.Header{"X-Team": {"team-token-9"}}}
	echo := recordedhttp.Case{Raw: []byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n{\"error\":{\"message\":\"you sent Bearer " + key + " and team-token-9\"}}")}
	m, s := connect(t, cfg, echo)
	_, err := model.Generate(t.Context(), m, hello())
	if got := s.Headers()[0].Get("Authorization"); got != "Bearer "+key {
		t.Errorf("the server was sent %q", got)
	}
	if got := s.Headers()[0].Get("X-Team"); got != "team-token-9" {
		t.Errorf("the server was sent %q", got)
	}
	if err == nil || strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "team-token-9") {
		t.Errorf("got %v", err)
	}
}

func TestKey_OfTheEnvironmentIsForItsServer(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-the-environment")
	s := recordedhttp.NewServer(fine())
	url, closed, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	defer closed()
	ask := func(cfg openai.Config) string {
		t.Helper()
		cfg.Model, cfg.Client = "m", &http.Client{Transport: transport}
		m, err := openai.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := model.Generate(t.Context(), m, hello()); err != nil {
			t.Fatal(err)
		}
		all := s.Headers()
		return all[len(all)-1].Get("Authorization")
	}
	if got := ask(openai.Config{BaseURL: url}); got != "" {
		t.Errorf("another server was sent %q", got)
	}
	t.Setenv("OPENAI_BASE_URL", url)
	if got := ask(openai.Config{}); got != "Bearer sk-of-the-environment" {
		t.Errorf("the server was sent %q", got)
	}
}

func TestServer_NotThereIsUnreachable(t *testing.T) {
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("connection refused") }
	m, err := openai.New(openai.Config{
		Model: "m", BaseURL: "http://user:pass-word@server.test/v1?key=query-key", Key: key,
		Client: &http.Client{Transport: &http.Transport{DialContext: refuse}},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = model.Generate(t.Context(), m, hello())
	if model.KindOf(err) != model.Unreachable || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
	for _, secret := range []string{"pass-word", "query-key", key} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%q is in the error: %v", secret, err)
		}
	}
}

func TestNew_RefusesInvalidConfigurations(t *testing.T) {
	for name, cfg := range map[string]openai.Config{
		"no address":       {BaseURL: "localhost:11434"},
		"another protocol": {BaseURL: "ftp://server.test"},
		"a broken key":     {BaseURL: "http://server.test", Key: "a\nb"},
		"negative":         {BaseURL: "http://server.test", Idle: -1},
		"no such form":     {BaseURL: "http://server.test", Form: "xml"},
	} {
		if _, err := openai.New(cfg); !errors.Is(err, openai.ErrConfig) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRequest_InvalidIsAnError(t *testing.T) {
	m, s := connect(t, openai.Config{}, fine())
	odd := message.UserParts(message.Part{Type: "video"})
	for name, tt := range map[string]struct {
		r    model.Request
		want string
	}{
		"a part":   {model.Request{Messages: []message.Message{message.User("a"), odd}}, `message 1: part 0`},
		"a role":   {model.Request{Messages: []message.Message{{Role: "judge"}}}, `no role "judge"`},
		"a schema": {model.Request{Tools: []model.Tool{{Name: "f", Schema: json.RawMessage(`[`)}}}, `tool "f"`},
	} {
		_, err := model.Generate(t.Context(), m, tt.r)
		if model.KindOf(err) != model.Invalid || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if len(s.Requests()) != 0 {
		t.Error("the server was asked all the same")
	}
}

func TestServer_ThatTakesTooLongIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drip := recordedhttp.Case{Raw: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: " + chunk(`{"content":"a"}`, "null") + "\n\n"), Then: "hang"}
		m, _ := connectInside(t, openai.Config{Idle: time.Hour, Timeout: time.Minute}, drip)
		begun := time.Now()
		_, err := model.Generate(t.Context(), m, hello())
		if model.KindOf(err) != model.Timeout || !strings.Contains(err.Error(), "too long") || time.Since(begun) != time.Minute {
			t.Errorf("got %v after %s", err, time.Since(begun))
		}
	})
}

func TestStream_SlowReaderIsNotASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := connectInside(t, openai.Config{Idle: time.Second}, recordedhttp.Stream(chunk(`{"content":"a"}`, "null"), chunk(`{"content":"b"}`, `"stop"`)))
		text := ""
		for c, err := range m.Stream(t.Context(), hello()) {
			if err != nil {
				t.Fatal(err)
			}
			text += c.Text
			time.Sleep(time.Minute)
		}
		if text != "ab" {
			t.Errorf("got %q", text)
		}
	})
}

func TestStream_EndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := connectInside(t, openai.Config{}, recordedhttp.Case{Then: "hang"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := model.Generate(ctx, m, hello())
		if !errors.Is(err, context.DeadlineExceeded) || model.KindOf(err) != "" {
			t.Errorf("got %v", err)
		}
	})
}

func TestStream_ReaderThatLeavesEndsTheRequest(t *testing.T) {
	endless := recordedhttp.Case{Raw: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: " + chunk(`{"content":"a"}`, "null") + "\n\n"), Then: "flood"}
	m, _ := connect(t, openai.Config{}, endless)
	n := 0
	for range m.Stream(t.Context(), hello()) {
		if n++; n == 3 {
			break
		}
	}
	// The server ends when the client has disconnected; the cleanup waits for it.
}

func TestStream_RetriesNothing(t *testing.T) {
	busy := recordedhttp.Case{Raw: []byte("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nX-Should-Retry: true\r\n\r\n")}
	m, s := connect(t, openai.Config{}, busy)
	if _, err := model.Generate(t.Context(), m, hello()); model.KindOf(err) != model.Overloaded || len(s.Requests()) != 1 {
		t.Errorf("got %v after %d requests", err, len(s.Requests()))
	}
}
