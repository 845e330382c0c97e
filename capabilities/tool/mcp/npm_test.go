//go:build unix

package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities/tool/mcp"
	"github.com/weftrun/weft/internal/sdktest"
	"github.com/weftrun/weft/internal/storetest"
)

// everything is the server of the protocol's own project that uses all of the protocol.
const everything = "@modelcontextprotocol/server-everything@2026.8.31"

func TestClient_OfAServerFromNPM(t *testing.T) {
	t.Parallel()
	path := filepath.Join(sdktest.NPM(t, everything), "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	t.Run("Program", func(t *testing.T) {
		useEverything(t, mcp.Server{Command: []string{"node", path, "stdio"}, Env: []string{"SHOP_KEY=k"}})
	})
	t.Run("URL", func(t *testing.T) {
		useEverything(t, mcp.Server{URL: serveEverything(t, path)})
	})
}

// serveEverything starts the server on a free port, and returns its address.
func serveEverything(t *testing.T, path string) (url string) {
	t.Helper()
	loopback, err := filepath.Abs("testdata/loopback.cjs")
	if err != nil {
		t.Fatal(err)
	}
	err = storetest.StartOnPort(func(port string) error {
		cmd := exec.Command("node", "--require", loopback, path, "streamableHttp")
		cmd.Env = append(os.Environ(), "PORT="+port, "SHOP_KEY=k")
		out, err := cmd.StderrPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "listening") {
				ended := make(chan struct{})
				go func() { defer close(ended); _, _ = io.Copy(io.Discard, out); _ = cmd.Wait() }()
				t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
				url = "http://127.0.0.1:" + port + "/mcp"
				return nil
			}
		}
		_ = cmd.Wait()
		return fmt.Errorf("%w: the server does not listen", storetest.ErrServerEnded)
	})
	if err != nil {
		t.Fatal(err)
	}
	return url
}

func useEverything(t *testing.T, s mcp.Server) {
	s.Name, s.Timeout = "all", time.Minute
	s.Permit = func(_ string, h mcp.Hints) bool { return !h.ReadOnly }
	var asked mcp.Question
	s.Ask = func(_ context.Context, q mcp.Question) (mcp.Reply, error) {
		asked = q
		return mcp.Reply{Action: "accept", Content: map[string]any{"name": "Ada", "check": true}}, nil
	}
	c := open(t, s)
	set := setOf(t, c)
	for _, tt := range []struct{ name, arguments, want string }{
		{"all_echo", `{"message": "hi"}`, "[textEcho: hi]"},
		{"all_get-sum", `{"a": 2, "b": 3}`, "[textThe sum of 2 and 3 is 5.]"},
		{"all_get-sum", `{"a": "x"}`, "error "},
		{"all_get-env", `{}`, `"SHOP_KEY": "k"`},
		{"all_get-tiny-image", `{}`, "[image\x89PNG"},
		{"all_get-structured-content", `{"location": "Chicago"}`, "temperature"},
		{"all_get-resource-reference", `{"resourceType": "Text", "resourceId": 1}`, "text"},
		{"all_trigger-elicitation-request", `{}`, "Ada"},
	} {
		if got := ask(t, set, tt.name, tt.arguments); !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: got %.2000s, want %q", tt.name, tt.arguments, got, tt.want)
		}
	}
	if !strings.Contains(asked.Message, "inputs") || !strings.Contains(string(asked.Schema), `"firstLine"`) {
		t.Errorf("the question is %+v", asked)
	}
	resources, err := c.Resources(t.Context())
	if err != nil || len(resources) == 0 {
		t.Fatalf("the resources are %v, %v", resources, err)
	}
	if parts, err := c.Read(t.Context(), resources[0].URI); err != nil || len(parts) == 0 || parts[0].Text == "" {
		t.Errorf("the resource %s has %.500v, %v", resources[0].URI, parts, err)
	}
	prompts, err := c.Prompts(t.Context())
	at := slices.IndexFunc(prompts, func(p mcp.Prompt) bool { return len(p.Arguments) > 0 && p.Arguments[0].Required })
	if err != nil || at < 0 {
		t.Fatalf("the prompts are %+v, %v", prompts, err)
	}
	arguments := map[string]string{}
	for _, a := range prompts[at].Arguments {
		arguments[a.Name] = "Sales"
	}
	if ms, err := c.Prompt(t.Context(), prompts[at].Name, arguments); err != nil || len(ms) == 0 || !strings.Contains(ms[0].Content[0].Text, "Sales") {
		t.Errorf("the prompt %s has %+v, %v", prompts[at].Name, ms, err)
	}
}
