package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/sdktest"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/weftcli"
)

// serve serves what the command in the comment of main.go serves.
func serve(t *testing.T) (address string) {
	t.Helper()
	store := new(checkpoint.Memory)
	inGo, err := weftcli.Built(draft())(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	flow, err := workflow.Load("greet.yaml", workflow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	inYAML, err := flow.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	c := server.Config{Store: store, Graphs: map[string]graph.Untyped{"draft": inGo, "greet": inYAML.Untyped()}}
	pages(&c)
	s, err := server.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var worker sync.WaitGroup
	worker.Go(func() { s.Work(ctx, server.Workers{}) })
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.Close()
		stop()
		worker.Wait()
	})
	return h.URL
}

// TestPage_AsksAndPublishes runs the script of the page with the public SDK.
//
// Requirement: Public clients work unmodified
func TestPage_AsksAndPublishes(t *testing.T) {
	address := serve(t)
	html := get(t, address+"/page/")
	_, script, ok := strings.Cut(html, "<script type=\"module\">\n")
	script, _, closed := strings.Cut(script, "</script>")
	if !ok || !closed || strings.Count(html, "\n") > 65 {
		t.Fatalf("the page has no script, or more than 65 lines:\n%s", html)
	}
	browser, err := os.ReadFile("testdata/browser.mjs")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "page.mjs")
	if err := os.WriteFile(path, append(browser, script...), 0o600); err != nil {
		t.Fatal(err)
	}
	sdktest.Node(t, path, address)
}

// TestMCP_AsksAndPublishes runs an agent with the official client.
//
// Requirement: Public clients work unmodified
func TestMCP_AsksAndPublishes(t *testing.T) {
	sdktest.NodeWith(t, []string{"@modelcontextprotocol/sdk@1.32.2"}, "testdata/mcp.mjs", serve(t))
}

func TestServe_AWorkflowBesideIt(t *testing.T) {
	address := serve(t)
	res, err := client.Post(address+"/runs/wait", "application/json", strings.NewReader(`{"assistant_id":"greet","input":{"who":"Ada"}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if want := `{"who":"Ada","text":"Hello, Ada."}`; err != nil || string(body) != want {
		t.Errorf("got %s, %v, want %s", body, err, want)
	}
}

var client = &http.Client{Timeout: time.Minute}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: status %d, %v", url, res.StatusCode, err)
	}
	return string(body)
}
