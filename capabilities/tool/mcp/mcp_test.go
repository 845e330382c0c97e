//go:build unix

package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/capabilities/tool/mcp"
	"github.com/weftrun/weft/state/message"
)

const asServer = "MCP_TEST_SERVER"

// TestMain is a server on standard input and output if asServer is set.
func TestMain(m *testing.M) {
	switch os.Getenv(asServer) {
	case "":
		os.Exit(m.Run())
	case "refuse":
		fmt.Fprintln(os.Stderr, "no license")
		os.Exit(3)
	}
	if mode, ok := strings.CutPrefix(os.Getenv(asServer), "hostile "); ok {
		hostile(mode)
		os.Exit(0)
	}
	if err := newServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

type text struct {
	Text string `json:"text"`
}

func said(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

func newServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ServerOptions{PageSize: 3})
	calls := 0
	sdk.AddTool(s, &sdk.Tool{Name: "echo.text", Description: "repeats", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *sdk.CallToolRequest, in text) (*sdk.CallToolResult, any, error) {
			calls++
			return said(fmt.Sprintf("%s %d", in.Text, calls)), nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "count", Description: "counts"},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, map[string]int, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{}}, map[string]int{"n": 7}, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "die", Description: "ends the server"},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			fmt.Fprintln(os.Stderr, "out of memory")
			os.Exit(3)
			return nil, nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "env", Description: "the environment"},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return said(strings.Join(os.Environ(), " ")), nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "fail", Description: "fails"},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return nil, nil, errors.New("no such order")
		})
	sdk.AddTool(s, &sdk.Tool{Name: "hang", Description: "does not answer"},
		func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		})
	sdk.AddTool(s, &sdk.Tool{Name: "picture", Description: "draws"},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{
				&sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")},
				&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "a:b", MIMEType: "application/zip", Blob: []byte("zip")}},
			}}, nil, nil
		})
	for i := range 5 {
		uri := fmt.Sprintf("note:%d", i)
		s.AddResource(&sdk.Resource{URI: uri, Name: fmt.Sprint("note ", i), MIMEType: "text/plain"},
			func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, Text: "text of " + uri}}}, nil
			})
	}
	s.AddPrompt(&sdk.Prompt{Name: "greet", Description: "greets", Arguments: []*sdk.PromptArgument{{Name: "who", Required: true}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
				{Role: "user", Content: &sdk.TextContent{Text: "I am " + r.Params.Arguments["who"]}},
				{Role: "assistant", Content: &sdk.TextContent{Text: "Hello"}},
			}}, nil
		})
	return s
}

func program(mode string) mcp.Server {
	return mcp.Server{Name: "test", Command: []string{os.Args[0]}, Env: []string{asServer + "=" + mode}}
}

func open(t *testing.T, s mcp.Server) *mcp.Client {
	t.Helper()
	c, err := mcp.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func setOf(t *testing.T, c *mcp.Client) *tool.Set {
	t.Helper()
	tools, err := c.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// ask calls a tool and returns its result as text.
func ask(t *testing.T, set *tool.Set, name, arguments string) string {
	t.Helper()
	r := set.Do(t.Context(), message.Call{ID: "1", Name: name, Arguments: []byte(arguments)}, "1", tool.Limits{})
	text := ""
	for _, p := range r.Content {
		text += fmt.Sprintf("[%s%s%s%s]", p.Type, p.Text, p.Data, p.Bytes)
	}
	if r.IsError {
		return "error " + text
	}
	return text
}

func TestClient_CallsTheToolsOfAProgram(t *testing.T) {
	t.Parallel()
	set := setOf(t, open(t, program("run")))
	if got, want := strings.Join(set.Names(), " "), "test_count test_die test_echo_text test_env test_fail test_hang test_picture"; got != want {
		t.Errorf("the tools are %s, want %s", got, want)
	}
	for _, tt := range []struct{ name, arguments, want string }{
		{"test_echo_text", `{"text": "a"}`, "[texta 1]"},
		{"test_echo_text", `{"text": 1}`, "error "}, // is not sent
		{"test_echo_text", `{"text": "b"}`, "[textb 2]"},
		{"test_count", `{}`, `[data{"n":7}]`},
		{"test_env", `{}`, "[text" + asServer + "=run]"},
		{"test_fail", `{}`, "error [textno such order]"},
		{"test_picture", `{}`, `[imagepng][data{"uri":"a:b","mimeType":"application/zip","blob":"emlw"}]`},
	} {
		if got := ask(t, set, tt.name, tt.arguments); got != tt.want && !(strings.HasSuffix(tt.want, " ") && strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s %s: got %s, want %s", tt.name, tt.arguments, got, tt.want)
		}
	}
}

// A server that ends during a call is not asked again, but by the next call.
func TestClient_StartsAServerThatHasEndedAgain(t *testing.T) {
	t.Parallel()
	set := setOf(t, open(t, program("run")))
	for range 3 {
		if got := ask(t, set, "test_echo_text", `{"text": "a"}`); got != "[texta 1]" {
			t.Errorf("got %s, want the first call of a server", got)
		}
		if got := ask(t, set, "test_die", `{}`); !strings.HasPrefix(got, "error ") || !strings.Contains(got, `mcp: server "test": tools/call die: `) || !strings.Contains(got, "out of memory") {
			t.Errorf("got %s, want the error of a server that has ended, with its standard error", got)
		}
	}
}

func TestClient_LimitsTheTime(t *testing.T) {
	t.Parallel()
	s := program("run")
	s.Timeout = 3 * time.Second // a busy machine needs some of it to start the server
	c := open(t, s)
	tools, err := c.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Info().Name == "test_hang" })
	_, err = tools[i].Call(t.Context(), tool.Input{Arguments: []byte(`{}`)})
	var failed *mcp.ServerError
	if !errors.As(err, &failed) || !errors.Is(err, context.DeadlineExceeded) || failed.Request != "tools/call hang" {
		t.Errorf("error %v, want that of the time limit", err)
	}
}

func TestClient_ToolsThatPeoplePermit(t *testing.T) {
	t.Parallel()
	s := program("run")
	s.Tools = []string{"echo.text", "count"}
	s.Permit = func(_ string, h mcp.Hints) bool { return !h.ReadOnly && h.Destructive && h.OpenWorld && !h.Idempotent }
	set := setOf(t, open(t, s))
	if got := strings.Join(set.Names(), " "); got != "test_count test_echo_text" {
		t.Errorf("the tools are %s", got)
	}
	for name, want := range map[string]tool.Mode{"test_count": tool.Permit, "test_echo_text": tool.Free} {
		if info, _ := set.Info(name); info.Mode != want {
			t.Errorf("%s has the mode %q, want %q", name, info.Mode, want)
		}
	}
	s.Tools = []string{"count", "nothing"}
	if _, err := open(t, s).Tools(t.Context()); !errors.Is(err, mcp.ErrConfig) || !strings.Contains(err.Error(), `has no tool "nothing"`) {
		t.Errorf("error %v, want ErrConfig for an unknown tool", err)
	}
}

func TestClient_ResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	c := open(t, program("run"))
	resources, err := c.Resources(t.Context())
	if err != nil || len(resources) != 5 || resources[4] != (mcp.Resource{URI: "note:4", Name: "note 4", MIME: "text/plain"}) {
		t.Errorf("the resources are %+v, %v", resources, err)
	}
	parts, err := c.Read(t.Context(), "note:2")
	if err != nil || len(parts) != 1 || parts[0].Text != "text of note:2" {
		t.Errorf("the resource has %+v, %v", parts, err)
	}
	var failed *mcp.ServerError
	if _, err := c.Read(t.Context(), "note:9"); !errors.As(err, &failed) {
		t.Errorf("error %v, want a ServerError for an unknown resource", err)
	}
	prompts, err := c.Prompts(t.Context())
	if err != nil || len(prompts) != 1 || prompts[0].Name != "greet" || len(prompts[0].Arguments) != 1 || !prompts[0].Arguments[0].Required {
		t.Errorf("the prompts are %+v, %v", prompts, err)
	}
	ms, err := c.Prompt(t.Context(), "greet", map[string]string{"who": "Ada"})
	if err != nil || len(ms) != 2 || ms[0].Role != message.RoleUser || ms[0].Content[0].Text != "I am Ada" || ms[1].Role != message.RoleAssistant {
		t.Errorf("the messages are %+v, %v", ms, err)
	}
}

// Agents read resources and prompts by tools.
func TestTools_ThatReadResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	s := program("run")
	s.Tools, s.Resources, s.Prompts = []string{"count"}, true, true
	s.Permit = func(name string, h mcp.Hints) bool { return name == "get_prompt" && h.ReadOnly }
	c := open(t, s)
	set := setOf(t, c)
	if got, want := strings.Join(set.Names(), " "), "test_count test_list_resources test_read_resource test_list_prompts test_get_prompt"; got != want {
		t.Errorf("the tools are %s, want %s", got, want)
	}
	for _, tt := range []struct{ name, arguments, want string }{
		{"test_list_resources", `{}`, `[data[{"uri":"note:0","name":"note 0","mimeType":"text/plain"}`},
		{"test_read_resource", `{"uri": "note:2"}`, "[texttext of note:2]"},
		{"test_read_resource", `{"uri": "note:9"}`, "error "},
		{"test_read_resource", `{}`, "error "}, // is not sent
		{"test_list_prompts", `{}`, `[data[{"name":"greet",`},
	} {
		if got := ask(t, set, tt.name, tt.arguments); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s %s: got %s, want %s", tt.name, tt.arguments, got, tt.want)
		}
	}
	tools, err := c.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Info().Name == "test_get_prompt" })
	if tools[i].Info().Mode != tool.Permit {
		t.Error("rule: Permit decides about tools that read, too")
	}
	out, err := tools[i].Call(t.Context(), tool.Input{Arguments: []byte(`{"name": "greet", "arguments": {"who": "Ada"}}`)})
	if err != nil || len(out) != 4 || out[0].Text != "user:" || out[1].Text != "I am Ada" || out[2].Text != "assistant:" {
		t.Errorf("the prompt is %+v, %v", out, err)
	}
}

func TestTools_ReadingToolOfTheServersOwn(t *testing.T) {
	t.Parallel()
	own := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	sdk.AddTool(own, &sdk.Tool{Name: "read_resource"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{}, nil, nil
	})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return own }, nil))
	defer web.Close()
	c := open(t, mcp.Server{Name: "test", URL: web.URL, Resources: true})
	if _, err := c.Tools(t.Context()); !errors.Is(err, mcp.ErrConfig) || !strings.Contains(err.Error(), "test_read_resource") {
		t.Errorf("rule: two tools of one name are a mistake\n got: %v\nwant: ErrConfig", err)
	}
}

func TestClient_OfAURL(t *testing.T) {
	t.Parallel()
	var life atomic.Pointer[sdk.StreamableHTTPHandler]
	restart := func() {
		server := newServer()
		life.Store(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	}
	restart()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer key" {
			http.Error(w, "no key", http.StatusUnauthorized)
			return
		}
		life.Load().ServeHTTP(w, r)
	}))
	defer web.Close()
	s := mcp.Server{URL: web.URL, Timeout: time.Minute}
	var failed *mcp.ServerError
	if _, err := mcp.Open(t.Context(), s); !errors.As(err, &failed) || failed.Server != web.URL {
		t.Errorf("error %v, want a ServerError of a server that refuses", err)
	}
	s.Header = http.Header{"Authorization": {"Bearer key"}}
	set := setOf(t, open(t, s))
	for range 3 {
		if got := ask(t, set, "echo_text", `{"text": "a"}`); got != "[texta 1]" {
			t.Errorf("got %s, want the first call of a server", got)
		}
		restart() // the server has forgotten the session
	}
}

func TestOpen_Mistakes(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]mcp.Server{
		"nothing": {},
		"both":    {Command: []string{"x"}, URL: "http://127.0.0.1:1"},
		"no name": {Command: []string{""}},
		"timeout": {Command: []string{"x"}, Timeout: -1},
	} {
		if _, err := mcp.Open(t.Context(), s); !errors.Is(err, mcp.ErrConfig) {
			t.Errorf("%s: error %v, want ErrConfig", name, err)
		}
	}
	for name, want := range map[string]struct {
		mcp.Server
		text string
	}{
		"unknown program":         {mcp.Server{Command: []string{"weft-test-nothing"}}, "executable file not found"},
		"program that refuses":    {program("refuse"), "no license"},
		"program of another kind": {mcp.Server{Command: []string{"true"}}, `mcp: server "true": initialize: `},
	} {
		var failed *mcp.ServerError
		if _, err := mcp.Open(t.Context(), want.Server); !errors.As(err, &failed) || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: error %v, want a ServerError with %q", name, err, want.text)
		}
	}
	c := open(t, program("run"))
	tools, err := c.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if _, err := tools[0].Call(t.Context(), tool.Input{Arguments: []byte(`{}`)}); !errors.Is(err, mcp.ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
}
