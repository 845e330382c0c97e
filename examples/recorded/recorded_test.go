package recorded_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/recordedhttp"
	"github.com/weftrun/weft/nodes"
)

var update = flag.Bool("update", false, "write the recording")

func load(t *testing.T, path string, env map[string]string) *workflow.Workflow {
	t.Helper()
	p := nodes.Program{Providers: map[string]model.Provider{"openai": openai.Provider()}}
	w, err := workflow.Load(path, workflow.Options{Kinds: p.Kinds(), Sections: p.Sections(), Strict: true,
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestFile_PassesWithoutAKey(t *testing.T) {
	report, err := load(t, "shop.yaml", nil).RunTests(t.Context(), workflow.TestOptions{})
	if err != nil || !report.Passed() || report.Tests[0].Recording.Replayed != 5 {
		t.Errorf("%+v, %v", report.Tests, err)
	}
}

// Servers in the place of the provider's and of the shop's give the committed recording, byte for
// byte.
func TestRecording_IsThatOfTheServer(t *testing.T) {
	delta := func(delta string) string {
		return fmt.Sprintf(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-5-mini","choices":[{"index":0,"delta":%s,"finish_reason":null}]}`, delta)
	}
	end := func(why string) string {
		return fmt.Sprintf(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-5-mini","choices":[{"index":0,"delta":{},"finish_reason":%q}],"usage":{"prompt_tokens":60,"completion_tokens":12,"total_tokens":72}}`, why)
	}
	s := recordedhttp.NewServer(
		recordedhttp.Stream(delta(`{"content":"{\"topic\": \"ret"}`), delta(`{"content":"urns\", \"urgent\": false}"}`), end("stop")),
		recordedhttp.Stream(delta(`{"tool_calls":[{"index":0,"id":"call_7","type":"function","function":{"name":"handbook","arguments":"{\"query\": "}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"\"send back\"}"}}]}`), end("tool_calls")),
		recordedhttp.Stream(delta(`{"content":"You may send it back "}`), delta(`{"content":"within 30 days."}`), end("stop")),
	)
	url, closed, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer closed()
	shop := recordedhttp.NewServer(recordedhttp.JSON(`{"fee": 4.90}`))
	address, closed, err := shop.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer closed()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	const own = "http://localhost:8089" // the address in the file
	path := filepath.Join(dir, "shop.yaml")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.ReplaceAll(string(text), own, address)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	const key, shopKey = "sk-a-key-that-is-not-recorded", "another-key-that-is-not-recorded"
	w := load(t, path, map[string]string{"OPENAI_BASE_URL": url, "OPENAI_API_KEY": key, "SHOP_KEY": shopKey})
	report, err := w.RunTests(t.Context(), workflow.TestOptions{Record: true, Fresh: true})
	if err != nil || !report.Passed() || report.Tests[0].Recording.Made != 5 {
		t.Fatalf("%+v, %v", report.Tests, err)
	}
	data, err := os.ReadFile(w.Recording("answers by the handbook"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(string(data), address, own)
	const file = "testdata/recordings/shop/answers-by-the-handbook.yaml"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || got != string(want) {
		t.Errorf("the recording is\n%s\nwant\n%s%v", got, want, err)
	}
	for _, server := range []struct {
		*recordedhttp.Server
		key string
	}{{s, key}, {shop, shopKey}} {
		if strings.Contains(got, server.key) || server.Headers()[0].Get("Authorization") != "Bearer "+server.key {
			t.Error("a server must get its key, and the recording must not have it")
		}
	}
}
