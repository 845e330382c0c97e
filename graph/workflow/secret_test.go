package workflow_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
)

// canary is a value that must be nowhere but on the wire.
const canary = `cn"4ry/&+é-sk-0123456789`

// sightings returns the forms of the canary that are in a text.
func sightings(text string) (all []string) {
	quoted, _ := json.Marshal(canary)
	for _, form := range []string{
		canary, url.QueryEscape(canary), url.PathEscape(canary), strings.Trim(string(quoted), `"`),
		base64.StdEncoding.EncodeToString([]byte(canary)), hex.EncodeToString([]byte(canary)), "sk-0123456789",
	} {
		if strings.Contains(text, form) {
			all = append(all, form)
		}
	}
	return all
}

// leaky is a kind that takes a secret and does all it can to let it out.
type leaky struct {
	Key workflow.Secret `json:"key"`
	How string          `json:"how"`
}

type keyError struct{ key string }

func (e keyError) Error() string { return "the key " + e.key + " is bad" }

func (e keyError) Code() string { return "bad_key" }

func (l *leaky) Run(_ context.Context, env workflow.Env) (any, error) {
	key, err := env.Reveal(l.Key)
	if err != nil {
		return nil, err
	}
	switch l.How {
	case "error":
		return nil, fmt.Errorf("outer: %w", keyError{key})
	case "panic":
		panic("with " + key)
	case "format":
		return fmt.Sprintf("%v %+v %#v", l.Key, *l, l), nil
	}
	return map[string]any{"text": "the key is " + key, "in " + key: []any{url.QueryEscape(key), base64.StdEncoding.EncodeToString([]byte(key))}}, nil
}

const secretive = `
version: 1
secrets: {api: "${env:API_KEY}"}
state: {how: string, got: {type: list<any>, reducer: append}, why: {type: list<string>, reducer: append}}
input: [how]
nodes:
  web:
    http:
      url: SERVER/echo
      query: {k: "${secret:api}", n: 1}
      headers: {authorization: "Bearer ${secret:api}", x-plain: "$${secret:api}"}
      allow_private: true
    output: {got: "${{ result }}"}
    next: refused
  refused:
    http: {url: SERVER/no, headers: {authorization: "Bearer ${secret:api}"}, user: u, password: "${secret:api}", allow_private: true}
    on_error: {set: {why: "${{ error.code + ' ' + error.message }}"}}
    next: leak
  leak:
    leaky: {key: "${secret:api}", how: "${{ state.how }}"}
    output: {got: "${{ result }}"}
    next: ask
  ask:
    approval: {title: "Go on?"}
    next: END
`

// echo answers with all that it was sent.
func echo(t *testing.T, seen *[]string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = append(*seen, r.Header.Get("Authorization"), r.URL.Query().Get("k"), r.Header.Get("X-Plain"))
		if r.URL.Path == "/no" {
			w.WriteHeader(http.StatusForbidden)
		}
		w.Header().Set("X-Echo", r.URL.Query().Get("k"))
		body, _ := json.Marshal(map[string]any{"headers": r.Header, "query": r.URL.RawQuery})
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return server.URL
}

func loadSecretive(t *testing.T, seen *[]string) *workflow.Workflow {
	t.Helper()
	kinds := nodes.Kinds()
	kinds["leaky"] = workflow.Kind{New: func() workflow.Runner { return new(leaky) }}
	text := strings.ReplaceAll(secretive, "SERVER", echo(t, seen))
	w, err := workflow.Parse("in.yaml", []byte(text), workflow.Options{Kinds: kinds, LookupEnv: func(name string) (string, bool) {
		return canary, name == "API_KEY"
	}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestSecret_NeverLeaks runs a file that lets its secret out in
// every way it can, and looks for the value in all that a run leaves behind: logs, events,
// errors, results, drawings and the bytes of the store.
func TestSecret_NeverLeaks(t *testing.T) {
	for _, how := range []string{"result", "error", "panic", "format"} {
		t.Run(how, func(t *testing.T) {
			var seen []string
			w := loadSecretive(t, &seen)
			dir := t.TempDir()
			store, err := sqlite.Open(t.Context(), filepath.Join(dir, "threads.db"))
			if err != nil {
				t.Fatal(err)
			}
			g, err := w.Compile(graph.Config{Store: store, Trace: true})
			if err != nil {
				t.Fatal(err)
			}
			in, err := w.Input(map[string]json.RawMessage{"how": json.RawMessage(`"` + how + `"`)})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			logsTo(t, &out)
			all := graph.Updates | graph.Values | graph.Tasks | graph.Custom | graph.Checkpoints | graph.Ended
			for ev, err := range g.Stream(t.Context(), in, graph.RunOptions{Thread: "t", Modes: all}) {
				data, _ := json.Marshal(ev)
				fmt.Fprintf(&out, "%s\n%v %+v\n", data, err, ev)
				slog.Debug("event", "event", ev, "error", err)
				for err := err; err != nil; err = errors.Unwrap(err) {
					fmt.Fprintf(&out, "%+v %#v\n", err, err)
				}
			}
			for p, err := range graph.History(t.Context(), store, checkpoint.Key{Thread: "t"}, checkpoint.Query{}) {
				data, _ := json.Marshal(p)
				fmt.Fprintf(&out, "%s %v\n", data, err)
			}
			fmt.Fprintln(&out, g.Draw(0).Mermaid(), g.Draw(3).DOT())
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			files, _ := filepath.Glob(filepath.Join(dir, "*"))
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				out.Write(data)
			}
			if found := sightings(out.String()); len(found) > 0 {
				at := strings.Index(out.String(), found[0])
				t.Errorf("the secret was seen as %q: …%q", found, out.String()[max(0, at-200):min(out.Len(), at+100)])
			}
			if !strings.Contains(out.String(), "[secret api]") || len(files) == 0 {
				t.Error("nothing was redacted, so nothing was looked at")
			}
			want := []string{"Bearer " + canary, canary, "${secret:api}"}
			if len(seen) != 6 || strings.Join(seen[:3], " ") != strings.Join(want, " ") {
				t.Errorf("the server saw %q, want %q", seen, want)
			}
		})
	}
}

// logsTo has all that is logged written to w, until the test ends.
func logsTo(t *testing.T, w io.Writer) {
	was, flags, to := slog.Default(), log.Flags(), log.Writer()
	t.Cleanup(func() {
		slog.SetDefault(was)
		log.SetFlags(flags)
		log.SetOutput(to)
	})
	slog.SetDefault(slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{AddSource: true, Level: slog.LevelDebug})))
}

// A text of the state that looks like a use of a secret, or like the internal placeholder of one,
// is a text.
func TestSecret_StateTextIsNotExpanded(t *testing.T) {
	kinds := nodes.Kinds()
	kinds["leaky"] = workflow.Kind{New: func() workflow.Runner { return new(leaky) }}
	w, err := workflow.Parse("in.yaml", []byte(`
version: 1
secrets: {api: "${env:API_KEY}"}
state: {text: string, got: any}
input: [text]
nodes: {a: {leaky: {key: "${{ state.text }}", how: result}, output: {got: "${{ result.text }}"}, next: END}}
`), workflow.Options{Kinds: kinds, LookupEnv: func(string) (string, bool) { return canary, true }})
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"${secret:api}", "\x00secret:api:0\x00", "\x00secret:api:" + strings.Repeat("0", 32) + "\x00"} {
		data, _ := json.Marshal(text)
		in, err := w.Input(map[string]json.RawMessage{"text": data})
		if err != nil {
			t.Fatal(err)
		}
		res, err := g.Invoke(t.Context(), in, graph.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := res.State.Get("got"); got != "the key is "+text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestSecret_UnsetVariableIsAnError(t *testing.T) {
	w := loadSecretive(t, new([]string))
	missing, err := workflow.Parse("in.yaml", []byte(`
version: 1
secrets: {api: "${env:API_KEY}"}
env: {PORT: int, REGION: {default: eu}}
nodes: {a: {http: {url: "http://x.example", headers: {a: "${secret:api}"}}, next: END}}
`), workflow.Options{Kinds: nodes.Kinds(), LookupEnv: func(name string) (string, bool) { return "many", name == "PORT" }})
	if err != nil {
		t.Fatal(err)
	}
	const want = `in.yaml:3:11: error[WF704]: the secret api is missing: the environment variable API_KEY is not set
in.yaml:4:7: error[WF704]: the environment variable PORT must be int`
	if err := missing.CheckEnv(); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if err := w.CheckEnv(); err != nil {
		t.Errorf("all is set, and yet %v", err)
	}
	g, err := missing.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Invoke(t.Context(), missing.NewState(), graph.RunOptions{})
	if err == nil || !strings.Contains(err.Error(), "in.yaml:4:7: the environment variable PORT must be int") {
		t.Errorf("got %v", err)
	}
}

func TestEnv_ExpressionsReadDeclaredVariables(t *testing.T) {
	w, err := workflow.Parse("in.yaml", []byte(`
version: 1
env: {PORT: int, HOST: {default: localhost}, region: {from: AWS_REGION, type: string}}
state: {all: string}
nodes: {a: {set: {all: "${{ env.HOST }}:${{ env.PORT + 1 }} ${{ env.region }}"}, next: END}}
`), workflow.Options{LookupEnv: func(name string) (string, bool) {
		v, ok := map[string]string{"PORT": "79", "AWS_REGION": "eu", "HOME": "x"}[name]
		return v, ok
	}})
	if err != nil {
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
	if got, _ := res.State.Get("all"); got != "localhost:80 eu" {
		t.Errorf("got %q", got)
	}
}
