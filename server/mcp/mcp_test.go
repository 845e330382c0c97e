package mcp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"
	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/sdktest"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type draft struct {
	Topic  state.Value[string] `json:"topic"`
	Review state.Value[bool]   `json:"review"`
	Text   state.Value[string] `json:"text"`
}

// drafts is a graph that writes a text, and asks about it if it has to.
func drafts(t testing.TB, store checkpoint.Store) graph.Untyped {
	t.Helper()
	b := graph.New[draft]("draft")
	b.Node("write", graph.Func(func(ctx context.Context, s *draft) error {
		if s.Topic.Get() == "wait" {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		s.Text.Set("about " + s.Topic.Get())
		return nil
	}))
	b.Node("review", graph.Func(func(ctx context.Context, s *draft) error {
		if !s.Review.Get() {
			return nil
		}
		ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Publish?"})
		if err == nil && !ok {
			s.Text.Set("")
		}
		return err
	}))
	b.Edge(graph.Start, "write")
	b.Edge("write", "review")
	b.Edge("review", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return g.Untyped()
}

// keys are the keys of two callers.
func keys() server.Auth {
	k := &server.Keys{}
	k.Add("ada", "key of ada")
	k.Add("bob", "key of bob")
	return server.Auth{Authenticate: k.Authenticate, Rules: server.Owners}
}

// start starts a server that works until the end of the test.
func start(t *testing.T, auth server.Auth) *server.Server {
	t.Helper()
	store := new(checkpoint.Memory)
	s, err := server.New(t.Context(), server.Config{
		Store: store, Graphs: map[string]graph.Untyped{"draft": drafts(t, store)}, Auth: auth, Version: "1.2.3", Limits: server.Limits{Body: 1 << 16},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Work(ctx, server.Workers{Slots: 4}) }()
	t.Cleanup(func() { stop(); <-ended })
	return s
}

type header struct{ name, value string }

// RoundTrip implements http.RoundTripper.
func (h header) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(h.name, h.value)
	return http.DefaultTransport.RoundTrip(r)
}

// session is a client that fails its test.
type session struct {
	*testing.T
	*sdk.ClientSession
}

func connect(t *testing.T, to sdk.Transport) session {
	t.Helper()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), to, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return session{t, c}
}

// overHTTP connects with a server, with a key.
func overHTTP(t *testing.T, url, key string) session {
	t.Helper()
	c := &http.Client{Transport: header{"X-Api-Key", key}}
	return connect(t, &sdk.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: c, DisableStandaloneSSE: true})
}

// overStreams connects with a server by two pipes.
func overStreams(t *testing.T, s *server.Server) session {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.ServeMCP(context.Background(), fromClient, toClient) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return connect(t, &sdk.IOTransport{Reader: fromServer, Writer: toServer})
}

// call calls a tool, and returns the texts of its result.
func (s session) call(tool string, arguments map[string]any, wantError bool) string {
	s.Helper()
	r, err := s.CallTool(s.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		s.Fatalf("%s: %v", tool, err)
	}
	var all []string
	for _, c := range r.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			all = append(all, text.Text)
		}
	}
	if r.IsError != wantError {
		s.Fatalf("%s: is an error: %v, want %v\n%s", tool, r.IsError, wantError, all)
	}
	return strings.Join(all, "\n")
}

// values fails the test unless a text has values, as "path=value".
func (s session) values(text string, want ...string) {
	s.Helper()
	for _, w := range want {
		path, value, _ := strings.Cut(w, "=")
		if got := gjson.Get(text, path).String(); got != value {
			s.Errorf("%s: got %q, want %q in %s", path, got, value, text)
		}
	}
}

// converse runs an assistant, and answers its question.
func converse(s session) {
	s.Helper()
	var tools []string
	for tool, err := range s.Tools(s.Context(), nil) {
		if err != nil {
			s.Fatal(err)
		}
		tools = append(tools, tool.Name)
		schema, _ := tool.InputSchema.(map[string]any)
		if tool.Name == "draft" && schema["properties"].(map[string]any)["topic"] == nil {
			s.Errorf("the schema of draft is %v", schema)
		}
	}
	if got := strings.Join(tools, " "); got != "answer_question draft list_questions" {
		s.Errorf("the tools are %q", got)
	}
	s.values(s.call("draft", map[string]any{"topic": "looms"}, false), "text=about looms")
	if got := s.call("draft", map[string]any{"topic": "looms", "color": "red"}, false); !strings.HasSuffix(got, "no input named color.") {
		s.Errorf("an unknown argument: got %q", got)
	}
	paused := s.call("draft", map[string]any{"topic": "weaving", "review": true}, true)
	text, data, _ := strings.Cut(paused, "\n")
	if !strings.Contains(text, "answer_question") || !strings.Contains(text, gjson.Get(data, "thread_id").String()) {
		s.Errorf("a run that asks: got %q", paused)
	}
	s.values(data, "questions.0.prompt=Publish?", "questions.0.schema.type=boolean")
	id, thread := gjson.Get(data, "questions.0.question_id").String(), gjson.Get(data, "thread_id").String()
	s.values(s.call("list_questions", nil, false), "questions.#=1", "questions.0.question_id="+id, "questions.0.thread_id="+thread)
	for uri, want := range map[string]string{"weft://questions": "questions.0.question_id=" + id, "weft://threads/" + thread: "values.text=about weaving"} {
		r, err := s.ReadResource(s.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			s.Fatal(err)
		}
		s.values(r.Contents[0].Text, want)
	}
	answer := map[string]any{"thread_id": thread, "question_id": id, "answer": "perhaps"}
	if got := s.call("answer_question", answer, true); !strings.Contains(got, "refused") {
		s.Errorf("an answer of another type: got %q", got)
	}
	answer["answer"] = true
	s.values(s.call("answer_question", answer, false), "text=about weaving")
	s.values(s.call("list_questions", nil, false), "questions.#=0")
	if got := s.call("answer_question", answer, true); !strings.Contains(got, "no open question") {
		s.Errorf("a question that was answered: got %q", got)
	}
}

func TestHTTP_RunsAndAnswers(t *testing.T) {
	web := httptest.NewServer(start(t, keys()))
	defer web.Close()
	converse(overHTTP(t, web.URL, "key of ada"))
}

func TestStreams_RunAndAnswer(t *testing.T) {
	converse(overStreams(t, start(t, server.Auth{})))
}

func TestHTTP_SeparatesOwners(t *testing.T) {
	web := httptest.NewServer(start(t, keys()))
	defer web.Close()
	ada, bob := overHTTP(t, web.URL, "key of ada"), overHTTP(t, web.URL, "key of bob")
	_, data, _ := strings.Cut(ada.call("draft", map[string]any{"topic": "secrets", "review": true}, true), "\n")
	thread, id := gjson.Get(data, "thread_id").String(), gjson.Get(data, "questions.0.question_id").String()
	bob.values(bob.call("list_questions", nil, false), "questions.#=0")
	for tool, arguments := range map[string]map[string]any{
		"list_questions": {"thread_id": thread}, "answer_question": {"thread_id": thread, "question_id": id, "answer": true},
	} {
		if got := bob.call(tool, arguments, true); !strings.Contains(got, "not found") {
			t.Errorf("%s of another owner: got %q", tool, got)
		}
	}
	if _, err := bob.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "weft://threads/" + thread}); err == nil {
		t.Error("another owner reads the thread")
	}
	ada.values(ada.call("list_questions", map[string]any{"thread_id": thread}, false), "questions.#=1")
}

func TestHTTP_CancelsARunWithoutItsCaller(t *testing.T) {
	web := httptest.NewServer(start(t, keys()))
	defer web.Close()
	c := overHTTP(t, web.URL, "key of ada")
	ctx, cancel := context.WithCancel(t.Context())
	called := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "draft", Arguments: map[string]any{"topic": "wait"}})
		called <- err
	}()
	search := func(status string) string {
		return post(t, web.URL+"/threads/search", `{"status":"`+status+`"}`)
	}
	for gjson.Get(search("busy"), "#").Int() == 0 {
		if t.Context().Err() != nil {
			t.Fatal("the run does not begin")
		}
	}
	cancel()
	if err := <-called; err == nil {
		t.Error("the call has no error")
	}
	for gjson.Get(search("busy"), "#").Int() > 0 {
		if t.Context().Err() != nil {
			t.Fatal("the run goes on")
		}
	}
}

func post(t *testing.T, url, body string, headers ...header) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Api-Key", "key of ada")
	for _, h := range headers {
		r.Header.Set(h.name, h.value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.Status + " " + string(data)
}

func TestHTTP_RefusesWhatItMust(t *testing.T) {
	web := httptest.NewServer(start(t, keys()))
	defer web.Close()
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	both := header{"Accept", "application/json, text/event-stream"}
	for _, tt := range []struct {
		name, body, want string
		headers          []header
	}{
		{"a ping", ping, "200", []header{both}},
		{"no key", ping, "401", []header{both, {"X-Api-Key", "other"}}},
		{"text", ping, "415", []header{both, {"Content-Type", "text/plain"}}},
		{"no JSON", "{", "422", []header{both}},
		{"a deep body", strings.Repeat("[", 300) + strings.Repeat("]", 300), "422", []header{both}},
		{"a large body", `"` + strings.Repeat("x", 1<<17) + `"`, "413", []header{both}},
		{"one type", ping, "400", []header{{"Accept", "application/json"}}},
		{"another version", ping, "400", []header{both, {"Mcp-Protocol-Version", "1999-01-01"}}},
	} {
		if got := post(t, web.URL+"/mcp", tt.body, tt.headers...); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: got %.200s, want %s", tt.name, got, tt.want)
		}
	}
}

// Requirement: Public clients work unmodified
func TestSDK_JavaScript(t *testing.T) {
	web := httptest.NewServer(start(t, server.Auth{}))
	defer web.Close()
	sdktest.NodeWith(t, []string{"@modelcontextprotocol/sdk@1.32.2"}, "testdata/client.mjs", web.URL+"/mcp")
}
