//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/servertest"
	"github.com/weftrun/weft/state/message"
)

// serveModel serves the demonstration's model with OpenAI's API, as far as the test needs it.
func serveModel(t *testing.T) string {
	m := rules()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Messages []struct {
				Role, Content string
				ToolCallID    string `json:"tool_call_id"`
			}
			ResponseFormat any   `json:"response_format"`
			Tools          []any `json:"tools"`
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.Header.Get("Authorization") != "Bearer sk-test" {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		var req model.Request
		for _, m := range asked.Messages {
			switch m.Role {
			case "system":
				req.Messages = append(req.Messages, message.System(m.Content))
			case "user":
				req.Messages = append(req.Messages, message.User(m.Content))
			case "tool":
				req.Messages = append(req.Messages, message.Tool(message.Result{CallID: m.ToolCallID, Content: []message.Part{message.Text(m.Content)}}))
			default:
				req.Messages = append(req.Messages, message.Assistant(m.Content))
			}
		}
		if asked.ResponseFormat != nil {
			req.Output = new(model.Schema)
		}
		if len(asked.Tools) > 0 {
			req.Tools = []model.Tool{{Name: "refund"}}
		}
		said, err := model.Generate(r.Context(), m, req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		answer, stop := map[string]any{"role": "assistant", "content": said.Message.Text()}, "stop"
		for _, c := range said.Message.Calls {
			f := map[string]any{"name": c.Name, "arguments": string(c.Arguments)}
			answer["tool_calls"], stop = []any{map[string]any{"id": "c1", "type": "function", "function": f}}, "tool_calls"
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": answer, "finish_reason": stop}}})
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// shopServer is the shop as a server. It pays once for each idempotency key.
type shopServer struct {
	mu    sync.Mutex
	paid  map[string]string // by idempotency key
	first chan struct{}     // closed after the first payment
	stop  chan struct{}     // the answer to the first payment waits for it
}

func (s *shopServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if source, ok := strings.CutPrefix(r.URL.Path, "/search/"); ok {
		found, _ := demoShop().find(r.Context(), source, r.URL.Query().Get("topic"))
		_ = json.NewEncoder(w).Encode(append([]string{}, found...))
		return
	}
	body, err := io.ReadAll(r.Body)
	var pay struct{ Amount float64 }
	if err != nil || json.Unmarshal(body, &pay) != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	text := fmt.Sprintf("refunded %.2f for %s", pay.Amount, path.Base(path.Dir(r.URL.Path)))
	s.mu.Lock()
	s.paid[r.Header.Get("Idempotency-Key")] = text
	n := len(s.paid)
	s.mu.Unlock()
	select {
	case <-s.first:
	default:
		if n == 1 {
			close(s.first)
			<-s.stop // the process is killed meanwhile
			return
		}
	}
	fmt.Fprint(w, text)
}

// TestFile_OnEachStore runs triage.yaml with the command weft, over a server with OpenAI's API.
func TestFile_OnEachStore(t *testing.T) {
	t.Parallel()
	weft := filepath.Join(t.TempDir(), "weft")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", weft, "../../cmd/weft").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile("triage.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, address := range map[string]func(t *testing.T) string{
		"sqlite": func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "triage.db") },
		"redis":  func(t *testing.T) string { return servertest.Redis(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := &shopServer{paid: map[string]string{}, first: make(chan struct{}), stop: make(chan struct{})}
			server := httptest.NewServer(shop)
			t.Cleanup(server.Close)
			dir := t.TempDir()
			own := strings.NewReplacer("https://shop.example", server.URL, "path: {order", "allow_private: true\n      path: {order", "      query: {topic", "      allow_private: true\n      query: {topic")
			if err := os.WriteFile(filepath.Join(dir, "triage.yaml"), []byte(own.Replace(string(text))), 0o600); err != nil {
				t.Fatal(err)
			}
			p := place{t, weft, dir, []string{"WEFT_STORE=" + address(t), "OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + serveModel(t)}}
			p.must(4, nil, "run", "triage.yaml", "--thread", "ada", "--input", "message=my kettle A-17 arrived broken")
			ctx, cancel := context.WithCancel(t.Context())
			killed := p.command(nil, "inbox", "edit", "--thread", "ada", "--args", `{"order":"A-17","amount":20}`)
			if err := killed.Start(); err != nil {
				t.Fatal(err)
			}
			select {
			case <-shop.first:
			case <-ctx.Done():
			}
			cancel()
			_ = killed.Process.Kill()
			_ = killed.Wait()
			close(shop.stop)
			p.must(0, nil, "resume", "--thread", "ada")
			p.expect("after the edit", p.reply("ada"), "I have refunded 20.00 for A-17.")
			p.must(0, nil, "run", "triage.yaml", "--thread", "ada", "--input", "message=what did you refund?")
			p.expect("in the next turn", p.reply("ada"), "Earlier: I have refunded 20.00 for A-17.")
			p.expect("what is remembered", p.must(0, nil, "state", "ada", "--path", "customer"), `["asked about broken","asked about other"]`+"\n")
			shop.mu.Lock()
			defer shop.mu.Unlock()
			if len(shop.paid) != 1 {
				t.Errorf("the payments are %v, want one", shop.paid)
			}
		})
	}
}
