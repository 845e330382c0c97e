package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	collect "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/weftrun/weft/internal/recordedhttp"
)

func TestMain(m *testing.M) {
	if os.Getenv("WEFT_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// receive starts a receiver of traces, and returns its address and a function with the spans.
func receive(t *testing.T) (string, func() []*traces.Span) {
	t.Helper()
	var mu sync.Mutex
	var spans []*traces.Span
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		var q collect.ExportTraceServiceRequest
		if r.URL.Path == "/v1/traces" {
			err = errors.Join(err, proto.Unmarshal(data, &q))
		}
		if err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, of := range q.ResourceSpans {
			for _, s := range of.ScopeSpans {
				spans = append(spans, s.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []*traces.Span {
		mu.Lock()
		defer mu.Unlock()
		return spans
	}
}

const file = `version: 1
name: ask
state: {said: string, ok: bool}
models: {small: {provider: openai, model: m1}}
nodes:
  say: {llm: {model: small, prompt: hello}, output: {said: "${{ result.text }}"}, next: check}
  check: {approval: {title: "Ship it?"}, output: {ok: "${{ result.approved }}"}, next: END}
`

// The command pauses in one process and goes on in another: the second trace has a link to the
// first.
func TestRun_SendsTracesOfTwoProcesses(t *testing.T) {
	all, err := recordedhttp.Load(filepath.Join("..", "..", "..", "capabilities", "model", "openai", "testdata", "answers"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []recordedhttp.Case
	for _, c := range all {
		if c.Name == "as-it-should-be" {
			cases = append(cases, c)
		}
	}
	if len(cases) != 1 {
		t.Fatalf("there are %d answers", len(cases))
	}
	model, closed, err := recordedhttp.NewServer(cases...).Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer closed()
	address, spans := receive(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ask.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	weft := func(code int, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0], append(args, "--store", "sqlite:weft.db", "--thread", "t")...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "WEFT_MAIN=1", "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+model, "OTEL_EXPORTER_OTLP_ENDPOINT="+address, "OTEL_EXPORTER_OTLP_COMPRESSION=none")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		_ = cmd.Run() // its code is checked
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("%q ends with %d, want %d\n%s", args, got, code, &out)
		}
		if strings.Contains(out.String(), "were not sent") {
			t.Errorf("%q: %s", args, &out)
		}
	}
	weft(4, "run", "ask.yaml", "--otlp", address)
	weft(0, "inbox", "approve", "--otlp", "env")
	var runs []*traces.Span
	names := map[string]bool{}
	for _, s := range spans() {
		if names[s.Name] = true; s.Name == "invoke_workflow ask" {
			runs = append(runs, s)
		}
	}
	for _, name := range []string{"chat m1", "task say", "attempt check", "store commit", "step"} {
		if !names[name] {
			t.Errorf("there is no span %q in %v", name, names)
		}
	}
	if len(runs) != 2 || len(runs[1].Links) != 1 || !bytes.Equal(runs[1].Links[0].SpanId, runs[0].SpanId) {
		t.Errorf("the runs are %v, want two with a link from the second to the first", runs)
	}
}

func TestRun_ReportsWhatWasNotSent(t *testing.T) {
	dir := t.TempDir()
	const small = "version: 1\nstate: {n: int}\nnodes: {a: {set: {n: 1}, next: END}}\n"
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(nil)
	s.Close() // nothing listens there any more
	for address, want := range map[string]struct {
		code int
		text string
	}{s.URL: {0, "were not sent"}, "localhost:4318": {2, "--otlp http://localhost:4318"}} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "run", "a.yaml", "--store", "memory:", "--otlp", address)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "WEFT_MAIN=1")
		out, _ := cmd.CombinedOutput() // its code is checked
		if got := cmd.ProcessState.ExitCode(); got != want.code || !strings.Contains(string(out), want.text) {
			t.Errorf("%s: the code is %d, want %d, and %q in\n%s", address, got, want.code, want.text, out)
		}
	}
}
