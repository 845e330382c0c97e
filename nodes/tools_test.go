package nodes_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
	"github.com/weftrun/weft/state/message"
)

// shop is an HTTP server that repeats what it gets, and its key with it.
func shop(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/large":
			_, _ = w.Write(make([]byte, 2<<20))
		case "/slow":
			<-r.Context().Done()
		case "/gone":
			http.Error(w, "no such order for "+r.Header.Get("Authorization"), http.StatusNotFound)
		default:
			fmt.Fprintf(w, "%s %s %s key=%t %s", r.Method, r.URL.RequestURI(), body, r.Header.Get("Idempotency-Key") != "", r.Header.Get("Authorization"))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func toolOptions(env map[string]string) workflow.Options {
	p := nodes.Program{}
	return workflow.Options{
		Kinds: p.Kinds(), Sections: p.Sections(),
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}
}

func TestTools_CallEndpoints(t *testing.T) {
	t.Parallel()
	url := shop(t)
	for _, test := range []struct{ name, http, args, want, fails string }{
		{
			name: "query", http: `{url: "URL/weather?units=metric", query: {city: string, days: {type: list<int>, optional: true}}, allow_private: true}`,
			args: `{city: "São Paulo", days: [1, 2]}`, want: `GET /weather?city=S%C3%A3o+Paulo&days=1&days=2&units=metric  key=false `,
		},
		{
			name: "optional argument", http: `{url: "URL/w", query: {city: string, days: {type: list<int>, optional: true}}, allow_private: true}`,
			args: `{city: x}`, want: `GET /w?city=x  key=false `,
		},
		{
			name: "path, body and header", http: `{url: "URL/orders/{order}", path: {order: string}, json: {amount: number, note: {type: string, default: none}}, headers: {authorization: "Bearer ${secret:shop}"}, allow_private: true}`,
			args: `{order: "a/b", amount: 12.5}`, want: `POST /orders/a%2Fb {"amount":12.5,"note":"none"} key=true Bearer [secret shop]`,
		},
		{
			name: "a variable in a header", http: `{url: "URL/x", headers: {authorization: "Bearer ${env:SHOP_KEY}"}, allow_private: true}`,
			args: `{}`, want: `GET /x  key=false Bearer [secret env:SHOP_KEY]`,
		},
		{
			name: "a status", http: `{url: "URL/gone", headers: {authorization: "${secret:shop}"}, allow_private: true}`,
			args: `{}`, fails: `status 404 Not Found: "no such order for [secret shop]`,
		},
		{name: "a timeout", http: `{url: "URL/slow", allow_private: true}, timeout: 50ms`, args: `{}`, fails: "deadline exceeded"},
		{name: "a large answer", http: `{url: "URL/large", allow_private: true}`, args: `{}`, fails: "larger than 1048576 bytes"},
		{name: "a private address", http: `{url: "URL/x"}`, args: `{}`, fails: "is not public"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			src := `version: 1
secrets: {shop: "${env:SHOP_KEY}"}
state: {answer: string}
tools:
  call: {description: Calls, http: ` + strings.ReplaceAll(test.http, "URL", url) + `}
nodes:
  call: {tool: {name: call, args: ` + test.args + `}, output: {answer: "${{ result.text }}"}, next: END}
`
			w, err := workflow.Parse("in.yaml", []byte(src), toolOptions(map[string]string{"SHOP_KEY": "opensesame"}))
			if err != nil {
				t.Fatal(err)
			}
			out, err := outputOf(t, w)
			if test.fails != "" {
				var te *nodes.ToolError
				if !errors.As(err, &te) || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("error %v, want a *ToolError with %q", err, test.fails)
				}
			} else if got, _ := out.Get("answer"); err != nil || got != test.want {
				t.Errorf("got  %v, %v\nwant %s", got, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "opensesame") {
				t.Errorf("the error contains the secret: %v", err)
			}
		})
	}
}

// outputOf returns the output of a run.
func outputOf(t *testing.T, w *workflow.Workflow) (workflow.Values, error) {
	t.Helper()
	g, err := w.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	in, err := w.Input(nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), in, graph.RunOptions{})
	if err != nil {
		return nil, err
	}
	return w.Output(&res.State), nil
}

func TestTools_Mistakes(t *testing.T) {
	t.Parallel()
	src := `version: 1
tools:
  a: {description: x}
  b: {http: {url: "https://x.example/{id}"}}
  c: {http: {url: "https://x.example/", path: {id: string}}}
  d: {http: {url: "https://x.example/", query: {id: string}, json: {id: int}}}
  e: {http: {url: "https://{host}/", path: {host: string}}}
  f: {http: {url: "https://x.example/", query: {n: nothing}}}
  g: {workflow: ./nowhere.yaml}
  h: {http: {url: "https://x.example/", headers: {x: "${secret:none}"}}}
  i: {http: {url: "https://x.example/", query: {id: {type: string, max: 3}}}}
nodes:
  call: {tool: {name: a}, next: END}
`
	_, err := workflow.Parse("in.yaml", []byte(src), toolOptions(nil))
	wantProblems(t, err, []string{
		`in.yaml:3:6: error[WF504]: tools.a: a tool has either http, workflow, mcp, documents or skills`,
		`in.yaml:4:6: error[WF504]: tools.b: the url has {id}, which is not under path`,
		`in.yaml:5:6: error[WF504]: tools.c: path has id, but the url has no {id}`,
		`in.yaml:6:6: error[WF504]: tools.d: the argument id is declared twice`,
		`in.yaml:7:6: error[WF504]: tools.e: the host of the url must be constant`,
		`in.yaml:8:52: error[WF401]: unknown type "nothing" (types are any, bool, int, number, string, blob, list<T>, map<T>)`,
		`in.yaml:9:17: error[WF511]: nowhere.yaml in .: no such file or directory`,
		`in.yaml:10:64: error[WF702]: unknown secret "none" (declare it under secrets)`,
		`in.yaml:11:68: error[WF415]: form field id: max does not apply to the type string`,
	})
}

// TestTools_OfAnAgent runs a workflow as a tool, and one that a person must approve.
func TestTools_OfAnAgent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "double.yaml", `version: 1
description: Doubles a number
state: {n: {type: int, required: true}, twice: int}
input: [n]
output: [twice]
nodes: {go: {set: {twice: "${{ state.n * 2 }}"}, next: END}}
`)
	write(t, dir, "agent.yaml", `version: 1
state: {answer: string}
tools:
  double: {workflow: ./double.yaml}
  careful: {workflow: ./double.yaml, description: Doubles with care, approve: true}
nodes:
  ask: {agent: {model: m, prompt: double 4, tools: [double, careful]}, output: {answer: "${{ result.text }}"}, next: END}
`)
	m := model.Script(
		model.Ask(message.Call{ID: "1", Name: "double", Arguments: []byte(`{"n":4}`)}),
		model.Ask(message.Call{ID: "2", Name: "careful", Arguments: []byte(`{"n":8}`)}),
		model.Say("done"),
	)
	p := nodes.Program{Models: map[string]model.Model{"m": m}}
	w, err := workflow.Load(filepath.Join(dir, "agent.yaml"), workflow.Options{Kinds: p.Kinds(), Sections: p.Sections()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	in, _ := w.Input(nil)
	res, err := g.Invoke(t.Context(), in, graph.RunOptions{})
	if err != nil || res.Status != graph.Interrupted {
		t.Fatalf("status %s, %v, want a question", res.Status, err)
	}
	asked := m.Requests()
	if got := asked[0].Tools[1].Description; got != "Doubles a number" {
		t.Errorf("the tool is described as %q", got)
	}
	if got := string(asked[0].Tools[0].Schema); !strings.Contains(got, `"required":["n"]`) {
		t.Errorf("the schema is %s", got)
	}
	last := asked[1].Messages[len(asked[1].Messages)-1]
	if got := last.Results[0].Text(); got != `{"twice":8}` {
		t.Errorf("the tool returned %s", got)
	}
}
