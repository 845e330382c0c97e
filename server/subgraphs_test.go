package server_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

type talkState struct {
	Messages message.Log         `json:"messages"`
	City     state.Value[string] `json:"city"`
	Level    state.Value[int]    `json:"level" weft:"default=3"`
}

// nests returns a graph whose node sub runs mid, whose node deep runs a graph that pauses before
// its second node.
func nests(t testing.TB, store checkpoint.Store) graph.Untyped {
	t.Helper()
	in := func(s *talkState) (talkState, error) {
		return talkState{Messages: message.LogOf(s.Messages.Slice()...)}, nil
	}
	out := func(s, end *talkState) error { return s.Messages.Add(end.Messages.Slice()...) }
	line := func(name string, cfg graph.Config, nodes ...any) *graph.Graph[talkState] {
		b := graph.New[talkState](name)
		last := graph.Start
		for i := 0; i < len(nodes); i += 2 {
			b.Node(nodes[i].(string), nodes[i+1].(graph.Node[talkState]))
			b.Edge(last, nodes[i].(string))
			last = nodes[i].(string)
		}
		b.Edge(last, graph.End)
		g, err := b.Compile(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	inner := line("inner", graph.Config{InterruptBefore: []string{"say"}},
		"choose", graph.Func(func(_ context.Context, s *talkState) error { s.City.Set("Paris"); return nil }),
		"say", graph.Func(func(_ context.Context, s *talkState) error {
			return s.Messages.Add(message.Assistant("in " + s.City.Get()))
		}))
	mid := line("mid", graph.Config{}, "deep", graph.Subgraph(inner, in, out))
	return line("nests", graph.Config{Store: store, Schemas: graph.Schemas{Settings: json.RawMessage(`{"type":"object"}`)}},
		"sub", graph.Subgraph(mid, in, out)).Untyped()
}

func nestingServer(t *testing.T) (c *client, stop func()) {
	store := &checkpoint.Memory{}
	s, stop := startChains(t, store, nil, func(c *server.Config) { c.Graphs["nests"] = nests(t, store) })
	c = newClient(t, s)
	c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
	return c, stop
}

func TestSchemas_OfAssistants(t *testing.T) {
	c := newClient(t, newServer(t, &checkpoint.Memory{}, func(c *server.Config) { c.Graphs["nests"] = nests(t, c.Store) }))
	for _, s := range []step{
		{request: "GET /assistants/nests/schemas", status: 200, want: "graph_id=nests\nstate_schema.properties.messages.langgraph_type=messages\n" +
			"state_schema.properties.messages.items.type=object\ninput_schema.properties.level.default=3\noutput_schema.type=object\n" +
			"config_schema.type=object\ncontext_schema.type=object\nstate_schema.$schema=http://json-schema.org/draft-07/schema#"},
		{request: "GET /assistants/agent/schemas", status: 200, want: "state_schema.properties.text.type=string\nconfig_schema=null"},
		{request: "GET /assistants/" + unknownID + "/schemas", status: 404},
		{request: "GET /assistants/nests/subgraphs", status: 200, want: "@keys=[\"sub\"]\nsub.state.properties.messages.langgraph_type=messages\n" +
			"sub.state_schema.properties.city.type=string"},
		{request: "GET /assistants/nests/subgraphs?recurse=true", status: 200, want: "@keys=[\"sub\",\"sub|deep\"]"},
		{request: "GET /assistants/nests/subgraphs/sub?recurse=true", status: 200, want: "@keys=[\"sub\",\"sub|deep\"]"},
		{request: "GET /assistants/nests/subgraphs/sub%7Cdeep", status: 200, want: "@keys=[\"sub|deep\"]"},
		{request: "GET /assistants/nests/subgraphs/nothing", status: 404},
		{request: "GET /assistants/nests/subgraphs?recurse=x", status: 422},
		{request: "GET /assistants/" + unknownID + "/subgraphs", status: 404},
	} {
		c.do(s)
	}
}

func TestStates_OfSubgraphs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := nestingServer(t)
		defer stop()
		const ns = "tasks.0.checkpoint.checkpoint_ns"
		for _, s := range []step{
			{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"nests","input":{"messages":"hi"},"interrupt_before":["nothing"]}`, status: 200,
				want: "__interrupt__=[]"},
			{request: "GET /threads/{t}/state", status: 200, want: "next=[\"sub\"]\ntasks.0.state=null", save: "mid=" + ns},
			{request: "GET /threads/{t}/state?subgraphs=true", status: 200, want: "tasks.0.checkpoint=null\ntasks.0.state.next=[\"deep\"]\n" +
				"tasks.0.state.tasks.0.state.values.city=Paris\ntasks.0.state.tasks.0.state.next=[\"say\"]"},
			{request: "POST /threads/{t}/state/checkpoint", body: `{"checkpoint":{"checkpoint_ns":"{mid}"}}`, status: 200, want: "next=[\"deep\"]", save: "deep=" + ns},
			{request: "POST /threads/{t}/state/checkpoint", body: `{"checkpoint":{"checkpoint_ns":"{deep}"},"subgraphs":"true"}`, status: 200,
				want: "values.city=Paris\nnext=[\"say\"]\nvalues.messages.0.type=human"},
			{request: "POST /threads/{t}/state/checkpoint", body: `{"checkpoint":{"checkpoint_ns":"{deep}"},"subgraphs":3}`, status: 422},
			{request: "POST /threads/{t}/state", body: `{"values":{"city":"Rome"},"checkpoint":{"checkpoint_ns":"{deep}"}}`, status: 200, want: "checkpoint.checkpoint_ns={deep}"},
			{request: "GET /threads/{t}", status: 200, want: "status=interrupted"},
			{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"nests","input":null}`, status: 200, want: "messages.#.content=[\"hi\",\"in Rome\"]"},
			{request: "POST /threads/{t}/history", body: `{"checkpoint":{"checkpoint_ns":"{deep}"}}`, status: 200, want: "#.next=[[],[\"say\"],[\"say\"],[\"choose\"],[\"__start__\"]]"},
			{request: "POST /threads/{t}/history", body: `{"checkpoint":{"checkpoint_ns":"sub:x"}}`, status: 404},
			{request: "GET /threads/{t}/state", status: 200, want: "next=[]"},
		} {
			c.do(s)
		}
		w := c.do(step{request: "POST /threads/{t}/state/checkpoint", body: `{"checkpoint":{"checkpoint_ns":"{deep}"}}`, status: 200})
		ids := gjson.Get(w.Body.String(), "checkpoint.checkpoint_map").Map()
		if len(ids) != 3 || ids[""].String() == "" || ids[c.saved["mid"]].String() == "" {
			t.Errorf("the checkpoint must name those of the graphs around (got %v)", ids)
		}
	})
}

func TestState_UpdateIsTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := nestingServer(t)
		defer stop()
		c.do(step{request: "PATCH /threads/{t}", body: `{"metadata":{"graph_id":"steps"}}`, status: 200})
		c.do(step{request: "POST /threads/{t}/state", body: `{"values":{"topic":"x","no":1},"as_node":"write"}`, status: 200, want: "header X-Weft-Ignored=no"})
		c.do(step{request: "GET /threads/{t}/state", status: 200, want: "values.topic=x\nnext=[\"publish\"]"})
	})
}

// The wait at a breakpoint goes on after an update of the state.
func TestState_UpdateKeepsABreakpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := nestingServer(t)
		defer stop()
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"a"},"interrupt_before":["write"]}`, status: 200})
		c.do(step{request: "POST /threads/{t}/state", body: `{"values":{"topic":"b"}}`, status: 200})
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=interrupted"})
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps"}`, status: 200, want: "topic=b"})
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=idle"})
	})
}

func TestFactory_BuildsForTheSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &checkpoint.Memory{}
		uses := map[string]bool{}
		s, stop := startChains(t, store, nil, func(c *server.Config) {
			c.Factories = map[string]server.Factory{"made": func(_ context.Context, u server.Use) (graph.Untyped, error) {
				name := "plan"
				if raw := u.Settings.Configurable["node"]; raw != nil {
					name = strings.Trim(string(raw), `"`)
				}
				uses[u.Access+" "+name] = true
				return chain(t, store, nil, name), nil
			}}
		})
		defer stop()
		c := newClient(t, s)
		c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
		c.do(step{request: "GET /assistants/made/graph", status: 200, want: `nodes.1.id=plan`})
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"made","input":{},"config":{"configurable":{"node":"write"}}}`, status: 200, want: `log=["write"]`})
		c.do(step{request: "POST /threads/{t}/state", body: `{"values":{"topic":"x"},"as_node":"write"}`, status: 200})
		c.do(step{request: "GET /threads/{t}/state", status: 200, want: "values.topic=x"})
		for _, want := range []string{"assistants.read plan", "threads.create_run write", "threads.update write", "threads.read write"} {
			if !uses[want] {
				t.Errorf("the factory was not called for %s (got %v)", want, uses)
			}
		}
	})
}

func TestUI_ShowsComponents(t *testing.T) {
	c := newClient(t, newServer(t, &checkpoint.Memory{}, func(c *server.Config) {
		c.UI = map[string]fs.FS{"my-ui": fstest.MapFS{"entrypoint.js": {Data: []byte("js")}}, "styled": fstest.MapFS{"entrypoint.css": {Data: []byte("css")}}}
	}))
	for _, s := range []step{
		{request: "POST /ui/my-ui", body: `{"name":"card"}`, status: 200,
			want: `=<script src="http://example.com/ui/my-ui/entrypoint.js" onload='__LGUI_my_ui.render("card", "{{shadowRootId}}")'></script>`},
		{request: "POST /ui/my-ui", body: `{"name":"'><x"}`, status: 200,
			want: `=<script src="http://example.com/ui/my-ui/entrypoint.js" onload='__LGUI_my_ui.render("&#39;\u003e\u003cx", "{{shadowRootId}}")'></script>`},
		{request: "POST /ui/nothing", body: `{"name":"card"}`, status: 404},
		{request: "POST /ui/my-ui", body: `{}`, status: 422},
		{request: "GET /ui/my-ui/entrypoint.js", status: 200, want: "=js\nheader X-Content-Type-Options=nosniff"},
		{request: "GET /ui/styled/entrypoint.css", status: 200, want: "=css\nheader Content-Type=text/css; charset=utf-8"},
		{request: "GET /ui/styled/entrypoint.js", status: 404},
		{request: "GET /ui/nothing/entrypoint.js", status: 404},
	} {
		c.do(s)
	}
}

// idsOf returns the ids of a stream's events.
func idsOf(body string) (ids []string) {
	for line := range strings.Lines(body) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "id: "); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

func TestStream_IdsCountTheEventsOfTheRun(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		w := c.do(step{request: "POST /threads/{t}/runs/stream", body: `{"assistant_id":"steps","input":{"topic":"x"},"stream_mode":["values","updates"]}`, status: 200})
		checkLines(t, "the ids", idsOf(w.Body.String()), "0", "1", "2", "3", "4", "5", "6", "7")
		path := strings.TrimSuffix(w.Header().Get("Location"), "/stream")
		join := step{request: "GET " + path + "/stream?stream_mode=updates", header: "Last-Event-ID: 3", status: 200}
		checkLines(t, "the ids of a part of its modes", idsOf(c.do(join).Body.String()), "4", "6")
		join = step{request: "GET " + path + "/stream?stream_mode=tasks", header: "Last-Event-ID: -1", status: 200}
		all := idsOf(c.do(join).Body.String())
		if len(all) != 7 { // the metadata, and the start and the result of each task
			t.Fatalf("the stream of other modes has %v", all)
		}
		join.header = "Last-Event-ID: " + all[4]
		checkLines(t, "the rest of other modes", idsOf(c.do(join).Body.String()), all[5:]...)
	})
}

// A run that goes on from the newest checkpoint begins its stream with it.
func TestStream_BeginsWithTheCheckpoint(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"x"},"interrupt_before":["plan"]}`, status: 200})
		c.do(step{request: "GET /threads/{t}/state", status: 200, save: "c=checkpoint.checkpoint_id"})
		w := c.do(step{request: "POST /threads/{t}/runs/stream", body: `{"assistant_id":"steps","checkpoint":{"checkpoint_id":"{c}"},"stream_mode":"checkpoints"}`, status: 200})
		var steps []string
		for line := range strings.Lines(w.Body.String()) {
			if data, ok := strings.CutPrefix(line, "data: "); ok && gjson.Get(data, "metadata.step").Exists() {
				steps = append(steps, gjson.Get(data, "metadata.step").Raw+" "+gjson.Get(data, "next").Raw)
			}
		}
		checkLines(t, "the steps", steps, `0 ["plan"]`, `1 ["write"]`, `2 ["publish"]`, "3 []")
	})
}
