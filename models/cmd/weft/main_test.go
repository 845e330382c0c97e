package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/recordedhttp"
)

func TestMain(m *testing.M) {
	if os.Getenv("WEFT_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// serve plays answers of a provider's testdata, and returns the address.
func serve(t *testing.T, provider string, names ...string) string {
	t.Helper()
	all, err := recordedhttp.Load(filepath.Join("..", "..", provider, "testdata", "answers"))
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]recordedhttp.Case{}
	for _, c := range all {
		byName[c.Name] = c
	}
	var cases []recordedhttp.Case
	for _, name := range names {
		c, ok := byName[name]
		if !ok {
			t.Fatalf("there is no answer %q", name)
		}
		cases = append(cases, c)
	}
	url, closed, err := recordedhttp.NewServer(cases...).Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closed)
	return strings.TrimSuffix(url, "/v1")
}

const file = `version: 1
name: ask
state: {claude: string, gemini: string, either: string}
models:
  claude: {provider: anthropic, model: m1}
  gemini: {provider: gemini, model: m2}
  either: {provider: anthropic, model: m1, fallback: [gemini]}
nodes:
  claude: {llm: {model: claude, prompt: hello}, output: {claude: "${{ result.text }}"}, next: gemini}
  gemini: {llm: {model: gemini, prompt: hello}, output: {gemini: "${{ result.text }}"}, next: either}
  either: {llm: {model: either, prompt: hello}, output: {either: "${{ result.text }}"}, next: END}
`

func TestRun_ResolvesModelsByProvider(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "ask.yaml")
	if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "run", name, "--json")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "WEFT_MAIN=1", "ANTHROPIC_API_KEY=k1", "GEMINI_API_KEY=k2",
		"ANTHROPIC_BASE_URL="+serve(t, "anthropic", "as-it-should-be", "529"), "GOOGLE_GEMINI_BASE_URL="+serve(t, "gemini", "emoji"))
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, &failed)
	}
	for _, want := range []string{`"claude":"Hello there."`, `"gemini":"Grüß 🌍"`, `"either":"Grüß 🌍"`} {
		if !strings.Contains(strings.ReplaceAll(string(out), `": `, `":`), want) {
			t.Errorf("%s is not in\n%s", want, out)
		}
	}
}
