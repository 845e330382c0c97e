package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/servertest"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/state"
)

type echoState struct {
	Text state.Value[string] `json:"text"`
}

// echo is a graph whose node is a graph of one node.
func echo(t testing.TB, store checkpoint.Store) graph.Untyped {
	t.Helper()
	b := graph.New[echoState]("echo")
	b.Node("echo", graph.Func(func(_ context.Context, s *echoState) error {
		s.Text.Set(s.Text.Get() + " echoed")
		return nil
	}))
	b.Edge(graph.Start, "echo")
	b.Edge("echo", graph.End)
	inner, err := b.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	outer := graph.New[echoState]("outer")
	outer.Node("outer", graph.Inline(inner))
	outer.Edge(graph.Start, "outer")
	outer.Edge("outer", graph.End)
	g, err := outer.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return g.Untyped()
}

// newServer returns a server with the graphs agent and other.
func newServer(t testing.TB, store checkpoint.Store, change ...func(*server.Config)) *server.Server {
	t.Helper()
	c := server.Config{
		Store:  store,
		Graphs: map[string]graph.Untyped{"agent": echo(t, store), "other": echo(t, store)},
		Defaults: map[string]server.Defaults{
			"agent": {Config: wire.Config{Configurable: wire.Object{"model_name": json.RawMessage(`"openai"`)}}},
		},
	}
	for _, f := range change {
		f(&c)
	}
	s, err := server.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// client sends requests to a handler and remembers values of answers.
type client struct {
	t       testing.TB
	handler http.Handler
	saved   map[string]string
	seen    map[string][]int // statuses by route
}

func newClient(t testing.TB, h http.Handler) *client {
	return &client{t, h, map[string]string{}, map[string][]int{}}
}

// step is a request and its answer. {name} is a value that an earlier step saved.
type step struct {
	request string // the method and the path
	body    string
	header  string // "Name: value" lines
	status  int
	want    string // "path=value" by line, in the syntax of gjson; "=text" is the whole body
	save    string // "name=path" by line
}

func (c *client) expand(text string) string {
	for name, value := range c.saved {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}

func (c *client) send(s step) *httptest.ResponseRecorder {
	method, path, _ := strings.Cut(c.expand(s.request), " ")
	r := httptest.NewRequest(method, path, strings.NewReader(c.expand(s.body)))
	if s.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for line := range strings.Lines(s.header) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	return w
}

func (c *client) do(s step) *httptest.ResponseRecorder {
	c.t.Helper()
	w := c.send(s)
	body := w.Body.String()
	if w.Code != s.status {
		c.t.Fatalf("%s %s: status %d, want %d: %s", s.request, s.body, w.Code, s.status, body)
	}
	method, path, _ := strings.Cut(c.expand(s.request), " ")
	checkDocumented(c.t, method, path, w)
	for line := range strings.Lines(s.want) {
		path, want, _ := strings.Cut(strings.TrimSpace(c.expand(line)), "=")
		got := body
		if header, ok := strings.CutPrefix(path, "header "); ok {
			got = w.Header().Get(header)
		} else if path != "" {
			got = gjson.Get(body, path).Raw
			if r := gjson.Get(body, path); r.Type == gjson.String {
				got = r.String()
			}
		}
		if got != want {
			c.t.Errorf("%s %s: %q is %s, want %s, in %s", s.request, s.body, path, got, want, body)
		}
	}
	for line := range strings.Lines(s.save) {
		name, path, _ := strings.Cut(strings.TrimSpace(line), "=")
		c.saved[name] = gjson.Get(body, path).String()
	}
	return w
}

// stores are the backends of the tables.
var stores = map[string]func(t *testing.T) checkpoint.Store{
	"memory": func(*testing.T) checkpoint.Store { return &checkpoint.Memory{} },
	"sqlite": func(t *testing.T) checkpoint.Store {
		return opened(t)(sqlite.Open(t.Context(), t.TempDir()+"/weft.db"))
	},
	"redis": func(t *testing.T) checkpoint.Store {
		return opened(t)(redis.OpenURL(t.Context(), servertest.Redis(t)))
	},
	"postgres": func(t *testing.T) checkpoint.Store {
		return opened(t)(postgres.Open(t.Context(), servertest.Postgres(t), postgres.Config{RetryFor: time.Minute}))
	},
}

func opened(t *testing.T) func(store checkpoint.Store, err error) checkpoint.Store {
	return func(store checkpoint.Store, err error) checkpoint.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return store
	}
}

const unknownID = "00000000-0000-4000-8000-000000000000"

// recordSteps are requests for records and items, in their order.
var recordSteps = []step{
	{request: "GET /ok", status: 200, want: `={"ok":true}`},
	{request: "GET /ok?check_db=1", status: 200},
	{request: "GET /ok?check_db=maybe", status: 422},
	{request: "GET /info", status: 200, want: "langgraph_api_version=0.16.7\nhost.kind=self-hosted"},
	{request: "GET /metrics", status: 200},
	{request: "GET /nothing", status: 404, want: "code=not_found"},
	{request: "PUT /threads", status: 405},

	{request: "GET /assistants/agent", status: 200, want: "assistant_id=fe096781-5601-53d2-b2f6-0d3403f7e9ca\n" +
		"graph_id=agent\nname=agent\nversion=1\nmetadata={\"created_by\":\"system\"}\nconfig={\"configurable\":{\"model_name\":\"openai\"}}\ncontext={}"},
	{request: "GET /assistants/fe096781-5601-53d2-b2f6-0d3403f7e9ca", status: 200, want: "graph_id=agent"},
	{request: "GET /assistants/nothing", status: 422},
	{request: "GET /assistants/" + unknownID, status: 404, want: "detail=Assistant not found\ncode=assistant_not_found"},
	{request: "GET /assistants/agent/graph", status: 200, want: `nodes.#.id=["__start__","outer","__end__"]` + "\n" + `nodes.1.data.name=echo` + "\n" +
		`edges=[{"source":"__start__","target":"outer","conditional":false},{"source":"outer","target":"__end__","conditional":false}]`},
	{request: "GET /assistants/agent/graph?xray=1", status: 200, want: `nodes.#.id=["__start__","outer:echo","__end__"]`},
	{request: "GET /assistants/agent/graph?xray=true", status: 200, want: `nodes.#.id=["__start__","outer:echo","__end__"]`},
	{request: "GET /assistants/agent/graph?xray=x", status: 422},
	{request: "GET /assistants/" + unknownID + "/graph", status: 404},
	{request: "POST /assistants", body: `{"graph_id":"agent"}`, status: 200, want: "name=Untitled\nversion=1\nmetadata={}\nconfig={}\ndescription=null", save: "a=assistant_id"},
	{request: "POST /assistants", body: `{"graph_id":"agent","assistant_id":"{a}"}`, status: 409, want: "code=already_exists"},
	{request: "POST /assistants", body: `{"graph_id":"agent","assistant_id":"{a}","if_exists":"do_nothing","name":"x"}`, status: 200, want: "name=Untitled"},
	{request: "POST /assistants", body: `{"graph_id":"agent","if_exists":"maybe"}`, status: 422},
	{request: "POST /assistants", body: `{"graph_id":"nothing"}`, status: 404, want: "code=graph_not_found"},
	{request: "POST /assistants", body: `{}`, status: 422},
	{request: "POST /assistants", body: `{"graph_id":"agent","metadata":[]}`, status: 422},
	{request: "POST /assistants", body: `{"graph_id":"agent","config":3}`, status: 422},
	{request: "POST /assistants", body: `{"graph_id":"agent","assistant_id":"x"}`, status: 422},
	{request: "POST /assistants", body: `{"graph_id":`, status: 422, want: "code=invalid_json"},
	{request: "POST /assistants", body: `{"graph_id":`, header: "User-Agent: node", status: 400, want: "=Invalid JSON in request body"},
	{request: "POST /assistants", body: `{}`, header: "Content-Type: text/plain", status: 415},
	{request: "PATCH /assistants/{a}", body: `{"name":"Better","metadata":{"n":1}}`, status: 200, want: "version=2\nname=Better\nmetadata={\"n\":1}"},
	{request: "PATCH /assistants/{a}", body: `{"config":{"tags":["x"]},"metadata":{"m":2}}`, status: 200, want: "version=3\nname=Better\nmetadata={\"m\":2,\"n\":1}"},
	{request: "PATCH /assistants/{a}", body: `{}`, status: 200, want: "version=4"},
	{request: "PATCH /assistants/{a}", body: `{"graph_id":"nothing"}`, status: 404},
	{request: "PATCH /assistants/{a}", body: `{"name":3}`, status: 422, want: "detail=name must be a string (got number)"},
	{request: "PATCH /assistants/" + unknownID, body: `{}`, status: 404},
	{request: "POST /assistants/{a}/versions", body: `{}`, status: 200, want: "#.version=[4,3,2,1]\nheader X-Pagination-Total=4"},
	{request: "POST /assistants/{a}/versions", body: `{"metadata":{"m":2},"limit":1,"offset":1}`, status: 200, want: "#.version=[3]"},
	{request: "POST /assistants/{a}/versions", body: `{"limit":0}`, status: 422},
	{request: "POST /assistants/" + unknownID + "/versions", body: `{}`, status: 404},
	{request: "POST /assistants/{a}/latest", body: `{"version":2}`, status: 200, want: "version=2\nmetadata={\"n\":1}\nconfig={}"},
	{request: "GET /assistants/{a}", status: 200, want: "version=2"},
	{request: "POST /assistants/{a}/latest?version=1", status: 200, want: "version=1\nname=Untitled"},
	{request: "POST /assistants/{a}/latest", body: `{"version":9}`, status: 404, want: "code=version_not_found"},
	{request: "POST /assistants/{a}/latest", body: `{"version":"x"}`, status: 422},
	{request: "POST /assistants/" + unknownID + "/latest", body: `{"version":1}`, status: 404},
	{request: "PATCH /assistants/{a}", body: `{"name":"Last"}`, status: 200, want: "version=5"},
	{request: "POST /assistants/search", body: `{"graph_id":"agent"}`, status: 200, want: "#.name=[\"Last\",\"agent\"]\nheader X-Pagination-Total=2\nheader X-Pagination-Next="},
	{request: "POST /assistants/search", body: `{"limit":1,"offset":1}`, status: 200, want: "#=1\nheader X-Pagination-Total=3\nheader X-Pagination-Next=2"},
	{request: "POST /assistants/search", body: `{"sort_by":"name","sort_order":"asc","select":["name","version"]}`, status: 200,
		want: `=[{"name":"Last","version":5},{"name":"agent","version":1},{"name":"other","version":1}]`},
	{request: "POST /assistants/search", body: `{"name":"LAS"}`, status: 200, want: "#.name=[\"Last\"]"},
	{request: "POST /assistants/search", body: `{"metadata":{"created_by":"system"}}`, status: 200, want: "#=2"},
	{request: "POST /assistants/search", body: `{"sort_by":"x"}`, status: 422},
	{request: "POST /assistants/search", body: `{"sort_order":"x"}`, status: 422},
	{request: "POST /assistants/search", body: `{"select":["x"]}`, status: 422},
	{request: "POST /assistants/search", body: `{"limit":1001}`, status: 422},
	{request: "POST /assistants/search", body: `{"metadata":"x"}`, status: 422},
	{request: "POST /assistants/count", body: `{"graph_id":"agent"}`, status: 200, want: "=2"},
	{request: "POST /assistants/count", body: `{"metadata":7}`, status: 422},
	{request: "DELETE /assistants/agent", status: 403},
	{request: "POST /threads", body: `{"metadata":{"assistant_id":"{a}"}}`, status: 200, save: "gone=thread_id"},
	{request: "DELETE /assistants/{a}?delete_threads=true", status: 200, want: `=["{a}"]`},
	{request: "GET /threads/{gone}", status: 404},
	{request: "DELETE /assistants/{a}", status: 404},
	{request: "DELETE /assistants/agent?delete_threads=x", status: 422},

	{request: "POST /threads", body: `{"metadata":{"user":{"name":"ada","age":36},"tags":["a","b"]}}`, status: 200,
		want: "status=idle\nconfig={}\nvalues=null\nttl=", save: "t=thread_id"},
	{request: "POST /threads", status: 200, save: "t2=thread_id"},
	{request: "POST /threads", body: `{"thread_id":"{t}"}`, status: 409, want: "code=already_exists\ndetail=Thread {t} already exists"},
	{request: "POST /threads", body: `{"thread_id":"{t}"}`, header: "User-Agent: node", status: 409, want: "=Thread {t} already exists"},
	{request: "POST /threads", body: `{"thread_id":"{t}","if_exists":"do_nothing","metadata":{"x":1}}`, status: 200, want: "metadata.x="},
	{request: "POST /threads", body: `{"thread_id":"x"}`, status: 422},
	{request: "POST /threads", body: `{"ttl":-1}`, status: 422},
	{request: "POST /threads", body: `{"ttl":{"ttl":1,"strategy":"x"}}`, status: 422},
	{request: "POST /threads", body: `{"ttl":{"ttl":60,"strategy":"keep_latest"}}`, status: 200, save: "t3=thread_id"},
	{request: "GET /threads/{t}", status: 200, want: "thread_id={t}"},
	{request: "GET /threads/x", status: 422},
	{request: "GET /threads/" + unknownID, status: 404, want: "detail=Thread with ID " + unknownID + " not found\ncode=thread_not_found"},
	{request: "PATCH /threads/{t}", body: `{"metadata":{"n":1}}`, status: 200, want: "metadata.n=1\nmetadata.user.name=ada"},
	{request: "PATCH /threads/{t}", body: `{"ttl":5}`, header: "Prefer: return=minimal", status: 204, want: "="},
	{request: "PATCH /threads/{t}", body: `{"metadata":3}`, status: 422},
	{request: "PATCH /threads/" + unknownID, body: `{}`, status: 404},
	{request: "POST /threads/search", body: `{"metadata":{"user":{"name":"ada"}}}`, status: 200, want: "#.thread_id=[\"{t}\"]"},
	{request: "POST /threads/search", body: `{"metadata":{"tags":["a"]}}`, status: 200, want: "#=0"},
	{request: "POST /threads/search", body: `{"metadata":{"tags":["a","b"]}}`, status: 200, want: "#=1"},
	{request: "POST /threads/search", body: `{"ids":["{t}","{t2}"]}`, status: 200, want: "#.thread_id=[\"{t2}\",\"{t}\"]"},
	{request: "POST /threads/search", body: `{"sort_by":"updated_at","limit":1}`, status: 200, want: "#=1\nheader X-Pagination-Total=3\nheader X-Pagination-Next=1"},
	{request: "POST /threads/search", body: `{"sort_by":"created_at","sort_order":"asc","select":["thread_id"]}`, status: 200,
		want: `=[{"thread_id":"{t}"},{"thread_id":"{t2}"},{"thread_id":"{t3}"}]`},
	{request: "POST /threads/search", body: `{"status":"busy"}`, status: 200, want: "=[]"},
	{request: "POST /threads/search", body: `{"status":"x"}`, status: 422},
	{request: "POST /threads/search", body: `{"ids":["x"]}`, status: 422},
	{request: "POST /threads/search", body: `{"offset":-1}`, status: 422},
	{request: "POST /threads/search", body: `[]`, status: 422},
	{request: "POST /threads/count", body: `{}`, status: 200, want: "=3"},
	{request: "POST /threads/count", body: `{"status":"x"}`, status: 422},
	{request: "GET /threads/{t}/storage", status: 200, want: "thread_id={t}\ntotal_bytes=0"},
	{request: "GET /threads/" + unknownID + "/storage", status: 404},
	{request: "POST /threads/{t}/copy", status: 200, want: "metadata.user.name=ada", save: "copy=thread_id"},
	{request: "POST /threads/" + unknownID + "/copy", status: 409},
	{request: "POST /threads/prune", body: `{"thread_ids":["{t3}"],"strategy":"keep_latest"}`, status: 200, want: `={"pruned_count":1}`},
	{request: "GET /threads/{t3}", status: 200},
	{request: "POST /threads/prune", body: `{"thread_ids":["{t3}","` + unknownID + `"]}`, status: 200, want: `={"pruned_count":1}`},
	{request: "GET /threads/{t3}", status: 404},
	{request: "POST /threads/prune", body: `{"strategy":"x"}`, status: 422},
	{request: "DELETE /threads/{copy}", status: 204},
	{request: "DELETE /threads/{copy}", status: 404},

	{request: "PUT /store/items", body: `{"namespace":["users","ada"],"key":"tea","value":{"kind":"green","rank":1}}`, status: 204},
	{request: "PUT /store/items", body: `{"namespace":["users","bob"],"key":"tea","value":{"kind":"black","rank":2},"ttl":60}`, status: 204},
	{request: "PUT /store/items", body: `{"namespace":[],"key":"tea","value":{}}`, status: 400},
	{request: "PUT /store/items", body: `{"namespace":["a.b"],"key":"tea","value":{}}`, status: 422},
	{request: "PUT /store/items", body: `{"namespace":["a"],"key":"","value":{}}`, status: 422},
	{request: "PUT /store/items", body: `{"namespace":["a"],"key":"x","value":3}`, status: 422},
	{request: "PUT /store/items", body: `{"namespace":["a"],"key":"x","value":{},"ttl":-1}`, status: 422},
	{request: "GET /store/items?namespace=users.ada&key=tea", status: 200, want: "value.kind=green\nnamespace=[\"users\",\"ada\"]\nkey=tea"},
	{request: "GET /store/items?namespace=users.ada&key=none", status: 200, want: "=null"},
	{request: "GET /store/items?key=none", status: 400},
	{request: "GET /store/items?namespace=a..b&key=none", status: 422},
	{request: "POST /store/items/search", body: `{"namespace_prefix":["users"]}`, status: 200, want: "items.#=2\nitems.0.score=null"},
	{request: "POST /store/items/search", body: `{"namespace_prefix":["users"],"offset":1,"limit":1}`, status: 200, want: "items.#.value.kind=[\"black\"]"},
	{request: "POST /store/items/search", body: `{"filter":{"rank":{"$gte":2}}}`, status: 200, want: "items.#.value.kind=[\"black\"]"},
	{request: "POST /store/items/search", body: `{"query":"green"}`, status: 200, want: "items.#.value.kind=[\"green\"]\nitems.0.score=1"},
	{request: "POST /store/items/search", body: `{"filter":{"rank":{"$near":2}}}`, status: 422},
	{request: "POST /store/items/search", body: `{"namespace_prefix":[""]}`, status: 422},
	{request: "POST /store/namespaces", body: `{}`, status: 200, want: `={"namespaces":[["users","ada"],["users","bob"]]}`},
	{request: "POST /store/namespaces", body: `{"max_depth":1}`, status: 200, want: `={"namespaces":[["users"]]}`},
	{request: "POST /store/namespaces", body: `{"suffix":["bob"]}`, status: 200, want: `={"namespaces":[["users","bob"]]}`},
	{request: "POST /store/namespaces", body: `{"offset":1,"limit":1}`, status: 200, want: `={"namespaces":[["users","bob"]]}`},
	{request: "POST /store/namespaces", body: `{"max_depth":-1}`, status: 422},
	{request: "DELETE /store/items", body: `{"namespace":["users","ada"],"key":"tea"}`, status: 204},
	{request: "DELETE /store/items", body: `{"namespace":[],"key":"tea"}`, status: 400},
	{request: "DELETE /store/items", body: `{"namespace":["users",""],"key":"tea"}`, status: 422},
	{request: "GET /store/items?namespace=users.ada&key=tea", status: 200, want: "=null"},

	{request: "POST /internal/truncate", body: `{"threads":true,"assistants":true,"store":true,"checkpointer":true}`, status: 404},
}

// Requirement: Endpoints of records
func TestRecords_EveryEndpointAndStatus(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, newServer(t, open(t)))
			for _, s := range recordSteps {
				c.do(s)
			}
		})
	}
}
