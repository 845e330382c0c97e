package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/wire"
)

// load returns the graphs of a suite.
func load(t *testing.T, suite string) (map[string]graph.Untyped, checkpoint.Store) {
	t.Helper()
	o, err := openStore(t.Context(), "memory")
	if err != nil {
		t.Fatal(err)
	}
	c, err := configFor(suite, o)
	if err != nil {
		t.Fatal(err)
	}
	return c.Graphs, o.store
}

// invoke runs a graph on the thread t1 and returns the result.
func invoke(t *testing.T, g graph.Untyped, input string) graph.Result[json.RawMessage] {
	t.Helper()
	res, err := g.Invoke(t.Context(), json.RawMessage(input), graph.RunOptions{Thread: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// answer resumes the thread t1 with what a client sends as its resume.
func answer(t *testing.T, g graph.Untyped, open []graph.Interrupt, resume string) graph.Result[json.RawMessage] {
	t.Helper()
	a, err := wire.ReadResume(json.RawMessage(resume), open)
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Resume(t.Context(), a, graph.RunOptions{Thread: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func has(t *testing.T, res graph.Result[json.RawMessage], status graph.Status, parts ...string) {
	t.Helper()
	if res.Status != status {
		t.Errorf("status %s, want %s", res.Status, status)
	}
	for _, p := range parts {
		if !strings.Contains(string(res.State), p) {
			t.Errorf("the state must have %s (got %s)", p, res.State)
		}
	}
}

func TestSuites_HaveTheirGraphs(t *testing.T) {
	for suite, want := range map[string][]string{
		"js":    {"agent", "agent_simple", "delay", "error", "nested", "plain_zod_graph", "simple_runtime", "state_schema_graph", "weather", "zod_registry_graph"},
		"auth":  {"agent", "agent_simple"},
		"py":    {"agent", "deep_agent", "tools_agent"},
		"hooks": {"boom", "chat", "fan", "flow", "hitl", "hitl2", "inbox", "nest", "slow"},
	} {
		graphs, _ := load(t, suite)
		var got []string
		for id := range graphs {
			got = append(got, id)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("suite %s has %v, want %v", suite, got, want)
		}
	}
	if err := run([]string{"--suite", "nothing"}); err == nil || !strings.Contains(err.Error(), "auth, hooks, js, py") {
		t.Errorf("an unknown suite must be refused with the names of the suites (got %v)", err)
	}
}

func TestHooks_EndAsTheSuiteExpects(t *testing.T) {
	graphs, _ := load(t, "hooks")
	has(t, invoke(t, graphs["flow"], `{"topic":"x"}`), graph.Done, `"count":4`, `"log":["plan","write","plan","write","publish"]`)
}

func TestHooks_ChatSpeaks(t *testing.T) {
	graphs, _ := load(t, "hooks")
	has(t, invoke(t, graphs["chat"], `{"messages":"hi"}`), graph.Done, `Hello from Weft.`)
}

func TestHooks_FanDoubles(t *testing.T) {
	graphs, _ := load(t, "hooks")
	has(t, invoke(t, graphs["fan"], `{"items":[1,2,3]}`), graph.Done, `"results":[2,4,6]`)
}

func TestHooks_NestRuns(t *testing.T) {
	graphs, _ := load(t, "hooks")
	has(t, invoke(t, graphs["nest"], `{}`), graph.Done, `"log":["outer","in1"]`)
}

func TestHooks_ReviewsAsk(t *testing.T) {
	graphs, _ := load(t, "hooks")
	res := invoke(t, graphs["hitl"], `{}`)
	if shown := wire.InterruptsOf(res.Interrupts); len(shown) != 1 || string(shown[0].Value) != `{"draft":"draft v1","question":"approve?"}` {
		t.Fatalf("the question is %+v", shown)
	}
	has(t, answer(t, graphs["hitl"], res.Interrupts, `{"ok":true}`), graph.Done, `"decision":{"ok":true}`, `"log":["finish"]`)
}

func TestHooks_TwoQuestionsAreOpenAtOnce(t *testing.T) {
	graphs, _ := load(t, "hooks")
	res := invoke(t, graphs["hitl2"], `{}`)
	if len(res.Interrupts) != 2 {
		t.Fatalf("%d questions, want 2", len(res.Interrupts))
	}
	one := answer(t, graphs["hitl2"], res.Interrupts, `{"`+res.Interrupts[1].ID+`":"b"}`)
	if one.Status != graph.Interrupted || len(one.Interrupts) != 1 {
		t.Fatalf("after one answer: %s with %d questions", one.Status, len(one.Interrupts))
	}
	has(t, answer(t, graphs["hitl2"], one.Interrupts, `"a"`), graph.Done, `"log":["r1:a","r2:b","end"]`)
}

func TestHooks_FailureHasItsName(t *testing.T) {
	graphs, _ := load(t, "hooks")
	_, err := graphs["boom"].Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t1"})
	if got := wire.RunErrorOf(err, 25); got == nil || got.Error != "TypeError" || got.Message != "node exploded" {
		t.Errorf("got %+v", got)
	}
}

func TestHooks_InboxTakesTheAnswerOfAnInbox(t *testing.T) {
	graphs, _ := load(t, "hooks")
	res := invoke(t, graphs["inbox"], `{}`)
	shown := wire.InterruptsOf(res.Interrupts)
	if len(shown) != 1 || !strings.Contains(string(shown[0].Value), `"action_requests":[{"args":{"to":"a@b.c"},"description":"Send the email?","name":"send_email"}]`) {
		t.Fatalf("the question is %s", shown[0].Value)
	}
	has(t, answer(t, graphs["inbox"], res.Interrupts, `{"decisions":[{"type":"reject","message":"no"}]}`), graph.Done, `decision: {\"type\":\"reject\",\"message\":\"no\"}`)
}

// commits returns how many commits the namespaces of the thread t1 have.
func commits(t *testing.T, store checkpoint.Store, node string) (n int) {
	t.Helper()
	all, err := graph.Namespaces(t.Context(), store, "t1")
	if err != nil {
		t.Fatal(err)
	}
	ns := ""
	for _, one := range all {
		if node != "" && strings.HasPrefix(one, node+":") && !strings.Contains(one, "|") {
			ns = one
		}
	}
	for info, err := range graph.History(t.Context(), store, checkpoint.Key{Thread: "t1", Namespace: ns}, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		n += wire.Phases(info)
	}
	return n
}

func TestJS_WeatherPausesInTheSubgraph(t *testing.T) {
	graphs, store := load(t, "js")
	res := invoke(t, graphs["weather"], `{"messages":"hi"}`)
	has(t, res, graph.Interrupted, `"route":"weather"`)
	if len(res.Interrupts) != 1 || res.Interrupts[0].Kind != "before" || res.Interrupts[0].Node != "weather_node" {
		t.Fatalf("the run must pause before weather_node (got %+v)", res.Interrupts)
	}
	res, err := graphs["weather"].Resume(t.Context(), graph.Answers{}, graph.RunOptions{Thread: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	has(t, res, graph.Done, `It's sunny in San Francisco!`)
	if outer := commits(t, store, ""); outer != 4 {
		t.Errorf("the thread shows %d checkpoints, want 4", outer)
	}
	if inner := commits(t, store, "weather_graph"); inner != 4 {
		t.Errorf("the subgraph shows %d checkpoints, want 4", inner)
	}
}

func TestJS_NestedEntersEveryNode(t *testing.T) {
	graphs, _ := load(t, "js")
	has(t, invoke(t, graphs["nested"], `{}`), graph.Done,
		`["Entered gp_one node","Entered p_one node","Entered c_one node","Entered c_two node"]`)
}

func TestJS_CountersGoOn(t *testing.T) {
	for id, want := range map[string]string{"state_schema_graph": "Response 2", "zod_registry_graph": `["Message 1","Message 2"]`, "plain_zod_graph": `["Item 1","Item 2"]`} {
		graphs, _ := load(t, "js")
		invoke(t, graphs[id], `{}`)
		has(t, invoke(t, graphs[id], `{}`), graph.Done, want)
	}
}

func TestJS_DelayFinishes(t *testing.T) {
	graphs, _ := load(t, "js")
	has(t, invoke(t, graphs["delay"], `{"delay":1}`), graph.Done, `finished after 1ms`)
}

func TestPython_AgentAsksAndGoesOn(t *testing.T) {
	graphs, _ := load(t, "py")
	res := invoke(t, graphs["agent"], `{"messages":"hi","value":"i"}`)
	has(t, res, graph.Interrupted, `"Hello, world!"`, `"value":"x"`, `"items":["streamed","tool"]`)
	has(t, answer(t, graphs["agent"], res.Interrupts, `"yes"`), graph.Done, `Human said: yes`, `from subgraph`, `"items":["streamed","tool","asked","sub"]`)
}

func TestPython_AgentsCallTheirTools(t *testing.T) {
	graphs, _ := load(t, "py")
	has(t, invoke(t, graphs["tools_agent"], `{}`), graph.Done, `result for 'v3'`, `done.`)
	graphs, _ = load(t, "py")
	has(t, invoke(t, graphs["deep_agent"], `{}`), graph.Done, `event-typed and thread-centric`, `Research complete.`)
}
