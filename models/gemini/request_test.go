package gemini_test

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
	"github.com/weftrun/weft/models/gemini"
	"github.com/weftrun/weft/state/message"
)

// sent returns the request that a server got.
func sent(t *testing.T, cfg gemini.Config, r model.Request) (body map[string]any) {
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

func TestRequest_HasTheFormOfTheWire(t *testing.T) {
	r := model.Request{
		Model: "m-2",
		Messages: []message.Message{
			message.System("be short"),
			message.UserParts(message.Text("what is this?"), message.ImageBytes("image/png", []byte("png")), message.ImageURL("https://x.test/a.png?v=1")),
			message.Assistant("Let me see.", message.Call{ID: "a", Name: "see", Arguments: json.RawMessage(`{"at":1}`)}, message.Call{ID: "b", Name: "look", Arguments: json.RawMessage(`{"at`)}),
			message.Tool(message.ResultOf("a", "a cat")),
			message.Tool(message.Failed("b", "the arguments are no JSON")),
			message.User("sure?"),
		},
		Tools: []model.Tool{
			{Name: "see", Description: "looks", Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"integer"}},"required":["at"]}`)},
			{Name: "now"},
		},
		Choice: model.Required, Temperature: new(0.5), MaxTokens: 99, StopAt: []string{"END"},
		Options: map[string]json.RawMessage{"generationConfig": json.RawMessage(`{"thinkingConfig":{"includeThoughts":true}}`)},
	}
	want := parse(t, `{
	"systemInstruction":{"parts":[{"text":"be short"}],"role":"user"},
	"generationConfig":{"temperature":0.5,"maxOutputTokens":99,"stopSequences":["END"],"thinkingConfig":{"includeThoughts":true}},
	"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},
	"tools":[{"functionDeclarations":[
		{"name":"see","description":"looks","parametersJsonSchema":{"type":"object","properties":{"at":{"type":"integer"}},"required":["at"]}},
		{"name":"now"}]}],
	"contents":[
		{"role":"user","parts":[{"text":"what is this?"},{"inlineData":{"mimeType":"image/png","data":"cG5n"}},{"fileData":{"mimeType":"image/png","fileUri":"https://x.test/a.png?v=1"}}]},
		{"role":"model","parts":[{"text":"Let me see."},{"functionCall":{"id":"a","name":"see","args":{"at":1}}},{"functionCall":{"id":"b","name":"look"}}]},
		{"role":"user","parts":[
			{"functionResponse":{"id":"a","name":"see","response":{"output":"a cat"}}},
			{"functionResponse":{"id":"b","name":"look","response":{"error":"the arguments are no JSON"}}},
			{"text":"sure?"}]}]}`)
	if d := cmp.Diff(want, any(sent(t, gemini.Config{}, r))); d != "" {
		t.Error(d)
	}
}

func TestSignatures_AreSentBack(t *testing.T) {
	m, s := connect(t, gemini.Config{}, modeltest.Prepared(t, "a-call-with-a-signature"), modeltest.Prepared(t, "signature-at-the-end"), modeltest.Prepared(t, "as-it-should-be"))
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
			r.Messages = append(r.Messages, message.Tool(message.ResultOf(stored.Calls[0].ID, "found")))
		}
	}
	r.Messages = append(r.Messages, message.User("thanks"))
	if _, err := model.Generate(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	contents := parse(t, string(s.Requests()[2])).(map[string]any)["contents"].([]any)
	want := parse(t, `[{"functionCall":{"id":"c1","name":"find"},"thoughtSignature":"c2ln"}]`)
	if d := cmp.Diff(want, contents[1].(map[string]any)["parts"]); d != "" {
		t.Error(d)
	}
	want = parse(t, `[{"text":"Four."},{"thoughtSignature":"c2ln"}]`)
	if d := cmp.Diff(want, contents[3].(map[string]any)["parts"]); d != "" {
		t.Error(d)
	}
}

func TestThoughts_AreReasoning(t *testing.T) {
	m, _ := connect(t, gemini.Config{}, modeltest.Prepared(t, "thought"))
	r, err := model.Generate(t.Context(), m, hello())
	if err != nil || r.Reasoning != "2+2 is 4" || r.Message.Text() != "Four." || r.Model != "gemini-m-1" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestSchema_IsRequestedAsConfigured(t *testing.T) {
	schema := `{"type":"object","properties":{"fits":{"type":"boolean"}}}`
	for form, want := range map[gemini.Form]string{
		gemini.FormSchema: `{"responseMimeType":"application/json","responseJsonSchema":` + schema + `}`,
		gemini.FormObject: `{"responseMimeType":"application/json"}`,
		gemini.FormPrompt: `{}`,
	} {
		r := hello()
		r.Output = &model.Schema{JSON: json.RawMessage(schema)}
		got := sent(t, gemini.Config{Form: form}, r)
		if d := cmp.Diff(parse(t, want), got["generationConfig"]); d != "" {
			t.Errorf("%q: %s", form, d)
		}
		if _, words := got["systemInstruction"]; words != (form != gemini.FormSchema) {
			t.Errorf("%q: got the system instruction %v", form, got["systemInstruction"])
		}
	}
}

func TestChoice_NamesTheToolToUse(t *testing.T) {
	for choice, want := range map[model.Choice]string{
		model.Use("see"): `{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["see"]}}`,
		model.None:       `{"functionCallingConfig":{"mode":"NONE"}}`, model.Auto: `null`,
	} {
		r := hello()
		r.Tools, r.Choice = []model.Tool{{Name: "see"}}, choice
		if d := cmp.Diff(parse(t, want), sent(t, gemini.Config{}, r)["toolConfig"]); d != "" {
			t.Errorf("%q: %s", choice, d)
		}
	}
}

func TestKey_IsSentAndNeverReported(t *testing.T) {
	echo := recordedhttp.Case{Raw: []byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n{\"error\":{\"message\":\"you sent " + key + " and team-token-9\"}}")}
	m, s := connect(t, gemini.Config{Header: http.Header{"X-Team": {"team-token-9"}}}, echo)
	_, err := model.Generate(t.Context(), m, hello())
	if h := s.Headers()[0]; h.Get("X-Goog-Api-Key") != key || h.Get("X-Team") != "team-token-9" {
		t.Errorf("the server was sent %v", h)
	}
	if err == nil || strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "team-token-9") {
		t.Errorf("got %v", err)
	}
}

func TestNew_RefusesInvalidConfigurations(t *testing.T) {
	t.Setenv("GEMINI_API_KEY", "")
	t.Setenv("GOOGLE_API_KEY", "")
	for name, cfg := range map[string]gemini.Config{
		"no key":       {},
		"no address":   {BaseURL: "localhost:1"},
		"a broken key": {BaseURL: "http://server.test", Key: "a\nb"},
		"no such form": {BaseURL: "http://server.test", Form: "xml"},
	} {
		if _, err := gemini.New(cfg); !errors.Is(err, gemini.ErrConfig) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRequest_InvalidIsAnError(t *testing.T) {
	m, s := connect(t, gemini.Config{}, modeltest.Prepared(t, "as-it-should-be"))
	for want, r := range map[string]model.Request{
		`message 1: part 0`:   {Messages: []message.Message{message.User("a"), message.UserParts(message.Part{Type: "video"})}},
		`no role "judge"`:     {Messages: []message.Message{{Role: "judge"}}},
		`tool "f"`:            {Tools: []model.Tool{{Name: "f", Schema: json.RawMessage(`[`)}}},
		`option "x"`:          {Messages: []message.Message{message.User("a")}, Options: map[string]json.RawMessage{"x": json.RawMessage(`{`)}},
		`has the call "gone"`: {Messages: []message.Message{message.Tool(message.ResultOf("gone", "x"))}},
	} {
		_, err := model.Generate(t.Context(), m, r)
		if model.KindOf(err) != model.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if len(s.Requests()) != 0 {
		t.Error("the server was asked all the same")
	}
}

func TestStream_RetriesNothing(t *testing.T) {
	m, s := connect(t, gemini.Config{}, modeltest.Prepared(t, "503"))
	if _, err := model.Generate(t.Context(), m, hello()); model.KindOf(err) != model.Overloaded || len(s.Requests()) != 1 {
		t.Errorf("got %v after %d requests", err, len(s.Requests()))
	}
}

func TestStream_ReaderThatLeavesEndsTheRequest(t *testing.T) {
	m, _ := connect(t, gemini.Config{}, modeltest.Prepared(t, "no-end-of-text"))
	n := 0
	for range m.Stream(t.Context(), hello()) {
		if n++; n == 3 {
			break
		}
	}
	// The server ends when the client has disconnected; the cleanup waits for it.
}
