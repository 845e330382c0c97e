package nodes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/mcptest"
	"github.com/weftrun/weft/nodes"
	"github.com/weftrun/weft/state/message"
)

// callsTool is a model that calls a tool, and then answers with the result.
func callsTool(name, arguments string) model.Model {
	return model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == message.RoleTool {
			return model.Say(last.Text())
		}
		i := slices.IndexFunc(r.Tools, func(t model.Tool) bool { return t.Name == name })
		if i < 0 {
			return model.Say(fmt.Sprintf("no %s among %d tools", name, len(r.Tools)))
		}
		return model.Ask(message.Call{ID: "c1", Name: name, Arguments: json.RawMessage(arguments)})
	})
}

func mcpOptions(m model.Model, env map[string]string) workflow.Options {
	p := nodes.Program{Models: map[string]model.Model{"m": m}}
	return workflow.Options{
		Kinds: p.Kinds(), Sections: p.Sections(), AllowExec: true,
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}
}

const usesServer = `version: 1
name: shop
secrets: {shop: "${env:SHOP}"}
state: {answer: string}
tools:
  shop: {mcp: %s}
nodes:
  ask: {agent: {prompt: hello, tools: [%s]}, output: {answer: "${{ result.text }}"}, next: END}
`

// compiled returns the graph of a workflow, as another process has it.
func compiled(t *testing.T, w *workflow.Workflow, store checkpoint.Store) graph.Untyped {
	t.Helper()
	g, err := w.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return g.Untyped()
}

func parseShop(t *testing.T, opts workflow.Options, server, tools string) *workflow.Workflow {
	t.Helper()
	w, err := workflow.Parse("shop.yaml", fmt.Appendf(nil, usesServer, server, tools), opts)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func answerOf(t *testing.T, out json.RawMessage) string {
	t.Helper()
	var state struct{ Answer string }
	if err := json.Unmarshal(out, &state); err != nil {
		t.Fatal(err)
	}
	return state.Answer
}

// programOf is the entry of this test as a server.
func programOf(log string) (entry string, env map[string]string) {
	return fmt.Sprintf(`{command: [%q], env: [MCP_TEST_SERVER, SHOP_KEY]}`, os.Args[0]), map[string]string{"MCP_TEST_SERVER": log, "SHOP_KEY": "k-1", "SHOP": "s-3cret"}
}

func TestMCP_AgentUsesTheToolsOfAProgram(t *testing.T) {
	t.Parallel()
	entry, env := programOf("none")
	for tools, want := range map[string]string{"shop": "hi k-1", "shop_echo": "hi k-1", "shop_pay": "no shop_echo among 1 tools"} {
		w := parseShop(t, mcpOptions(callsTool("shop_echo", `{"text":"hi"}`), env), entry, tools)
		if err := w.CheckEnv(); err != nil {
			t.Fatal(err)
		}
		g, err := w.Compile(graph.Config{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := g.Invoke(t.Context(), w.NewState(), graph.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := res.State.Get("answer"); got != want {
			t.Errorf("%s: got %q, want %q", tools, got, want)
		}
	}
}

func TestMCP_AgentUsesAServerAtAnAddress(t *testing.T) {
	t.Parallel()
	var keys []string
	s := httptest.NewServer(mcptest.Handler(func(r *http.Request) { keys = append(keys, r.Header.Get("Authorization")) }))
	defer s.Close()
	entry := `{url: "${env:URL}", headers: {authorization: "Bearer ${secret:shop}"}, allow_private: true}`
	opts := mcpOptions(callsTool("shop_echo", `{"text":"hi s-3cret"}`), map[string]string{"URL": s.URL, "SHOP": "s-3cret"})
	w := parseShop(t, opts, entry, "shop")
	g, err := w.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), w.NewState(), graph.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := res.State.Get("answer")
	if text := fmt.Sprint(got); !strings.HasPrefix(text, "hi ") || strings.Contains(text, "s-3cret") {
		t.Errorf("got %q, want the text without the secret", text)
	}
	if len(keys) == 0 || keys[0] != "Bearer s-3cret" {
		t.Errorf("the server got the keys %q", keys)
	}
}

func TestMCP_AgentReadsResources(t *testing.T) {
	t.Parallel()
	entry, env := programOf("none")
	entry = strings.TrimSuffix(entry, "}") + ", resources: true}"
	for tools, want := range map[string]string{"shop": "text of shop:menu", "shop_read_resource": "text of shop:menu", "shop_echo": "no shop_read_resource among 1 tools"} {
		g := compiled(t, parseShop(t, mcpOptions(callsTool("shop_read_resource", `{"uri":"shop:menu"}`), env), entry, tools), nil)
		res, err := g.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := answerOf(t, res.State); got != want {
			t.Errorf("%s: got %q, want %q", tools, got, want)
		}
	}
}

func TestMCP_QuestionOfTheServerIsOneOfTheRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		resume func(id string) graph.Answers
		want   string
		paid   bool
	}{
		"answered": {func(id string) graph.Answers { return graph.Answer(id, map[string]any{"amount": 7}) }, "accept 7", true},
		"declined": {func(id string) graph.Answers { return graph.Decline(id, "no") }, "decline <nil>", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := filepath.Join(t.TempDir(), "log")
			entry, env := programOf(log)
			store := new(checkpoint.Memory)
			opts := mcpOptions(callsTool("shop_pay", `{}`), env)
			g := compiled(t, parseShop(t, opts, entry, "shop"), store)
			res, err := g.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t"})
			if err != nil || res.Status != graph.Interrupted || len(res.Interrupts) != 1 {
				t.Fatalf("got %v, %v", res, err)
			}
			q := res.Interrupts[0]
			if q.Prompt != "How much?" || q.Detail != "In euros." || !strings.Contains(string(q.Schema), `"amount"`) {
				t.Errorf("the question is %+v", q)
			}
			if _, err := os.Stat(log); err == nil {
				t.Error("the server paid before there was an answer")
			}
			res, err = compiled(t, parseShop(t, opts, entry, "shop"), store).Resume(t.Context(), tt.resume(q.ID), graph.RunOptions{Thread: "t"})
			if err != nil {
				t.Fatal(err)
			}
			if got := answerOf(t, res.State); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if data, _ := os.ReadFile(log); (string(data) == "paid 7") != tt.paid {
				t.Errorf("the log is %q", data)
			}
		})
	}
}

func TestMCP_StartingAServerNeedsPermission(t *testing.T) {
	t.Parallel()
	entry, env := programOf("none")
	opts := mcpOptions(callsTool("shop_echo", `{}`), env)
	opts.AllowExec = false
	w := parseShop(t, opts, entry, "shop")
	if err := w.CheckEnv(); err == nil || !strings.Contains(err.Error(), "--allow-exec") {
		t.Errorf("got %v", err)
	}
	g, err := w.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Invoke(t.Context(), w.NewState(), graph.RunOptions{}); err == nil || !strings.Contains(err.Error(), "--allow-exec") {
		t.Errorf("got %v", err)
	}
}

func TestMCP_RefusesInvalidServers(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		`{}`:                                            "mcp has either command or url",
		`{command: [a], url: "https://x.test"}`:         "mcp has either command or url",
		`{command: [""]}`:                               "command must name a program",
		`{command: [a], headers: {a: b}}`:               "headers and allow_private are for a url",
		`{url: "https://x.test", env: [A]}`:             "env is for a command",
		`{url: "ftp://x.test"}`:                         "url must be an http or https address",
		`{command: [a], env: ["A=b"]}`:                  "env must have names of variables",
		`{command: [a]}, http: {url: "https://x.test"}`: "a tool has either http, workflow, mcp, documents or skills",
	} {
		_, err := workflow.Parse("shop.yaml", fmt.Appendf(nil, usesServer, entry, "shop"), mcpOptions(callsTool("", ""), nil))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", entry, err, want)
		}
	}
}

// The servers are the examples of the protocol's library.
func TestMCP_AgentUsesTheExamplesOfTheLibrary(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ server, call, arguments, want string }{
		{"hello", "shop_greet", `{"name":"Ada"}`, "Hi Ada"},
		{"everything", "shop_greet", `{"name":"Ada"}`, "Hi Ada"},
	} {
		binary := filepath.Join(t.TempDir(), tt.server)
		build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", binary, "github.com/modelcontextprotocol/go-sdk/examples/server/"+tt.server)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		w := parseShop(t, mcpOptions(callsTool(tt.call, tt.arguments), map[string]string{"SHOP": "s"}), fmt.Sprintf("{command: [%q]}", binary), "shop")
		g, err := w.Compile(graph.Config{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := g.Invoke(t.Context(), w.NewState(), graph.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := res.State.Get("answer"); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.server, got, tt.want)
		}
	}
}

// A secret that only a server gets is used.
func TestMCP_SecretOfAServerIsUsed(t *testing.T) {
	for server, want := range map[string]int{
		`{url: "https://example.org/mcp", headers: {authorization: "Bearer ${secret:shop}"}}`: 0,
		`{url: "https://example.org/mcp"}`: 1,
	} {
		w := parseShop(t, mcpOptions(model.Script(), map[string]string{"SHOP": "s"}), server, "shop")
		if got := w.Warnings(); len(got) != want {
			t.Errorf("%s: got warnings %v, want %d", server, got, want)
		}
	}
}
