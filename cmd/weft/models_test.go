package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// modelServer is a server with OpenAI's API. It answers with the last message; if it is offered
// tools and has no result yet, it calls the first of them with an order.
func modelServer(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer sk-test" {
			http.Error(w, "want the key sk-test at /v1/chat/completions", http.StatusUnauthorized)
			return
		}
		var asked struct {
			Messages []struct{ Role, Content string }
			Tools    []struct{ Function struct{ Name string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		last := asked.Messages[len(asked.Messages)-1]
		answer, stop := map[string]any{"role": "assistant", "content": "answer to " + last.Content}, "stop"
		if len(asked.Tools) > 0 && last.Role != "tool" {
			call := map[string]any{"name": asked.Tools[0].Function.Name, "arguments": `{"order":"A1"}`}
			answer, stop = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"id": "c1", "type": "function", "function": call}}}, "tool_calls"
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "1", "object": "chat.completion", "choices": []any{map[string]any{"index": 0, "message": answer, "finish_reason": stop}}})
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

const help = `version: 1
models:
  small: {provider: openai, model: gpt-5-mini}
tools:
  lookup:
    description: Looks up an order
    http: {url: "%s/orders/{order}", path: {order: string}, allow_private: true}
state: {title: string, reply: string}
nodes:
  title:
    llm: {prompt: "a title"}
    output: {title: "${{ result.text }}"}
    next: reply
  reply:
    agent: {prompt: "Where is A1?", tools: [lookup]}
    output: {reply: "${{ result.text }}"}
    next: direct
  direct:
    tool: {name: lookup, args: {order: B2}}
    next: END
`

// TestRun_ModelsAndTools runs nodes of the kinds llm, agent and tool with the command weft alone.
func TestRun_ModelsAndTools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	weft, file := program(t, dir), filepath.Join(dir, "help.yaml")
	orders := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s is on its way", filepath.Base(r.URL.Path))
	}))
	t.Cleanup(orders.Close)
	if err := os.WriteFile(file, []byte(strings.Replace(help, "%s", orders.URL, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := callWith(t, dir, []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + modelServer(t)}, weft, "run", file)
	if want := "title: answer to a title\nreply: answer to A1 is on its way\n"; code != 0 || stdout != want {
		t.Errorf("exit code %d, stdout\n%s\nwant\n%s\nstderr: %s", code, stdout, want, stderr)
	}
	code, _, stderr = callWith(t, dir, []string{"OPENAI_API_KEY="}, weft, "run", file)
	if want := "models.small: the environment variable OPENAI_API_KEY is not set"; code != 3 || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, stderr\n%s\nwant %q in it", code, stderr, want)
	}
}
