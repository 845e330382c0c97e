//go:build unix

package nodes_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
)

const outsideFlow = `version: 1
secrets: {shop: "${env:SHOP_KEY}"}
env: {PRICES: string}
state: {price: number, gone: string, score: number, said: string}
output: [price, gone, score, said]
nodes:
  price:
    http:
      url: "${{ env.PRICES }}/price?sku=tea"
      query: {key: "${secret:shop}"}
      headers: {Authorization: "Bearer ${secret:shop}"}
      allow_private: true
    retry: {max: 3, initial: 1ms}
    output: {price: "${{ result.json.price }}"}
    next: gone
  gone:
    http: {url: "${{ env.PRICES }}/gone", json: {price: "${{ state.price }}"}, allow_private: true}
    on_error: {if: "error.code == 'http:410'", to: score, set: {gone: "${{ error.message }}"}}
    next: score
  score:
    exec: {command: [sh, ./score.sh], input: {price: "${{ state.price }}"}, env: [TOKEN]}
    output: {score: "${{ result.json.score }}", said: "${{ result.stderr }}"}
    next: fails
  fails:
    exec: {command: [sh, -c, "exit 3"]}
    on_error: {if: "error.code == 'exec:3'", to: END}
    next: END
tests:
  - name: prices
    env: {PRICES: "SERVER"}
    expect:
      path: [price, gone, score, fails]
      output: {price: 1.5, score: 3, said: "token [secret TOKEN]\n"}
`

// outside runs the tests of outsideFlow in a folder, and returns what failed.
func outside(t *testing.T, dir, text string, env map[string]string, o workflow.TestOptions) string {
	t.Helper()
	write(t, dir, "shop.yaml", text)
	w, err := workflow.Load(filepath.Join(dir, "shop.yaml"), workflow.Options{
		Kinds: nodes.Kinds(), AllowExec: env != nil, LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := w.RunTests(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(fmt.Sprint(report.Tests[0].Failures), dir+string(filepath.Separator), "")
}

// Requests and programs are recorded with the keys of the environment, and replayed without them,
// without the server and without the permission to start programs.
func TestRecording_OfRequestsAndPrograms(t *testing.T) {
	const key, token = "key-of-the-shop", "token-of-the-score"
	var calls atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n := calls.Add(1); {
		case r.URL.Path == "/gone":
			w.WriteHeader(http.StatusGone)
			fmt.Fprint(w, "no more of "+key)
		case r.Header.Get("Authorization") != "Bearer "+key || r.URL.Query().Get("key") != key || r.URL.Query().Get("sku") != "tea":
			t.Errorf("the request is %s with %v", r.URL, r.Header)
		case n == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			fmt.Fprintf(w, `{"price": 1.50, "echo": %q}`, r.Header.Get("Authorization"))
		}
	}))
	defer s.Close()
	dir := t.TempDir()
	write(t, dir, "score.sh", "echo token $TOKEN >&2\necho '{\"score\": 3}'\n")
	text := strings.ReplaceAll(outsideFlow, "SERVER", s.URL)
	env := map[string]string{"SHOP_KEY": key, "TOKEN": token}
	if got := outside(t, dir, text, nil, workflow.TestOptions{}); !strings.Contains(got, "node price reaches outside of the process; give it a mock, or record the test: weft test --record") {
		t.Errorf("without a recording: %s", got)
	}
	if got := outside(t, dir, text, env, workflow.TestOptions{Record: true}); got != "[]" || calls.Load() != 3 {
		t.Fatalf("after %d requests the test that records fails: %s", calls.Load(), got)
	}
	data, err := os.ReadFile(filepath.Join(dir, "testdata/recordings/shop/prices.yaml"))
	file := string(data)
	if err != nil || strings.Contains(file, key) || strings.Contains(file, token) || strings.Contains(file, "idempotency") || strings.Contains(file, "user-agent") {
		t.Errorf("%v, and the recording is\n%s", err, file)
	}
	for _, want := range []string{
		"http: \"GET " + s.URL + "/price\"\n    request:\n      query:\n        key: [\"[secret shop]\"]\n        sku: [tea]\n      headers: {authorization: \"Bearer [secret shop]\"}\n    response:\n      status: 503\n",
		`text: '{"price": 1.50, "echo": "Bearer [secret shop]"}'`, "text: \"no more of [secret shop]\"",
		"exec: sh\n    request:\n      command: [sh, \"./score.sh\"]\n      input: {price: 1.5}\n    output:\n      json: {score: 3}\n      stderr: \"token [secret TOKEN]\\n\"",
		`error: {text: "sh: exit status 3", code: "exec:3"}`,
	} {
		if !strings.Contains(file, want) {
			t.Errorf("the recording lacks\n%s\nIt is\n%s", want, file)
		}
	}
	s.Close()
	if got := outside(t, dir, text, nil, workflow.TestOptions{}); got != "[]" {
		t.Errorf("the replay fails: %s", got)
	}
	const at = " differs from testdata/recordings/shop/prices.yaml:"
	for _, test := range []struct{ old, changed, want string }{
		{`/gone", json`, `/gone/2", json`, "node gone: call 1, of the request POST " + s.URL + "/gone/2," + at + "29: the call is "},
		{"sku=tea", "sku=milk", "node price: call 1, of the request GET " + s.URL + "/price," + at + `5: request.query.sku[0] is "milk", recorded "tea"`},
		{"input: {price", "input: {cost", "node score: call 1, of the program sh," + at + "40: request.input.cost is 1.5, recorded missing"},
		{"exit 3", "exit 4", "node fails: call 1, of the program sh," + at + `48: request.command[2] is "exit 4", recorded "exit 3"`},
	} {
		if got := outside(t, dir, strings.ReplaceAll(text, test.old, test.changed), nil, workflow.TestOptions{}); !strings.Contains(got, "recording: "+test.want) {
			t.Errorf("%s: got %s, want %s", test.changed, got, test.want)
		}
	}
	if got := outside(t, dir, text, map[string]string{"TOKEN": token}, workflow.TestOptions{Record: true, Fresh: true}); !strings.Contains(got, "the environment variable SHOP_KEY is not set") {
		t.Errorf("recorded without the key: %s", got)
	}
	if got := outside(t, dir, text, nil, workflow.TestOptions{Record: true, Fresh: true}); strings.Count(got, "starting programs is not allowed") != 2 {
		t.Errorf("recorded without the permission to start programs: %s", got)
	}
	if now, err := os.ReadFile(filepath.Join(dir, "testdata/recordings/shop/prices.yaml")); err != nil || string(now) != file {
		t.Errorf("%v, and the recording has changed to\n%s", err, now)
	}
}

// finder is a kind of a program that asks an embedder of the file.
type finder struct {
	Text    string `json:"text"`
	entries *workflow.Entries
}

func (f *finder) Run(ctx context.Context, _ workflow.Env) (any, error) {
	v, _, err := f.entries.Open("embedders", "small")
	if err != nil {
		return nil, err
	}
	found, err := v.(*nodes.Embedding).Questions(ctx, []string{f.Text})
	if err != nil {
		return nil, err
	}
	return found[0][1], nil
}

func (f *finder) Recordable() bool { return true }

// A kind of a program that asks an embedder is replayed without its key.
func TestRecording_OfAnEmbedder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "find.yaml", `version: 1
embedders: {small: {provider: local, model: m-1, dims: 2, key: "${env:KEY}"}}
state: {second: number}
nodes: {find: {find: {text: tea}, output: {second: "${{ result }}"}, next: END}}
tests: [{name: finds, expect: {output: {second: 0.25}}}]
`)
	calls := 0
	run := func(key string, o workflow.TestOptions) string {
		t.Helper()
		provider := model.Provider{OpenEmbedder: func(c model.Config) (model.Embedder, error) {
			return model.EmbedFunc(func(context.Context, model.EmbedRequest) (model.Embeddings, error) {
				calls++
				return model.Embeddings{Vectors: [][]float32{{1, 0.25}}, Model: "of " + c.Key}, nil
			}), nil
		}}
		p := nodes.Program{Providers: map[string]model.Provider{"local": provider}}
		kinds := p.Kinds()
		bind := func(e *workflow.Entries) workflow.Kind {
			return workflow.Kind{New: func() workflow.Runner { return &finder{entries: e} }, Outside: true}
		}
		kinds["find"] = workflow.Kind{New: func() workflow.Runner { return new(finder) }, Bind: bind}
		w, err := workflow.Load(filepath.Join(dir, "find.yaml"), workflow.Options{
			Kinds: kinds, Sections: p.Sections(), LookupEnv: func(name string) (string, bool) { return key, key != "" && name == "KEY" },
		})
		if err != nil {
			t.Fatal(err)
		}
		report, err := w.RunTests(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(report.Tests[0].Failures)
	}
	if got := run("key-of-the-provider", workflow.TestOptions{Record: true}); got != "[]" || calls != 1 {
		t.Fatalf("%d calls, %s", calls, got)
	}
	file, err := os.ReadFile(filepath.Join(dir, "testdata/recordings/find/finds.yaml"))
	const want = "embedder: small\n    request:\n      texts: [tea]\n      purpose: query\n    vectors:\n      data: [AACAPwAAgD4=]\n      model: of "
	if err != nil || !strings.Contains(strings.ReplaceAll(string(file), `"`, ""), want) {
		t.Errorf("%v, and the recording is\n%s\nwant\n%s", err, file, want)
	}
	if got := run("", workflow.TestOptions{}); got != "[]" || calls != 1 {
		t.Errorf("the replay fails after %d calls: %s", calls, got)
	}
}
