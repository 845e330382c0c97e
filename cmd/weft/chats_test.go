package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/programtest"
)

func TestChat_ModelOfTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	weft := program(t, dir)
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("OPENAI_BASE_URL", "")
	code, _, stderr := call(t, dir, weft, "chat", "--thread", "t", "--say", "hello")
	if code != 2 || !strings.Contains(stderr, "set OPENAI_API_KEY") || !strings.Contains(stderr, "weftcli.Config.Chats") {
		t.Errorf("without a model: exit code %d, want 2\n%s", code, stderr)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"Good "}}]}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{"content":"day."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	cmd := exec.Command(weft, "chat", "--thread", "t", "--say", "hello")
	cmd.Env = append(os.Environ(), programtest.Variable, "XDG_STATE_HOME="+filepath.Join(dir, "state"), "WEFT_STORE=", "OPENAI_BASE_URL="+server.URL)
	out, err := cmd.Output()
	if err != nil || string(out) != "Good day.\n\n" {
		t.Errorf("with one: %q, %v", out, err)
	}
}
