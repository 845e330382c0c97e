package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

type talk struct {
	Messages message.Log         `json:"messages"`
	Topic    state.Value[string] `json:"topic"`
	Log      state.List[string]  `json:"log"`
}

// talkGraph compiles first → ask → last over a store. The node ask asks whether to go on.
func talkGraph(t *testing.T, store checkpoint.Store) *graph.Graph[talk] {
	t.Helper()
	say := func(name string) func(context.Context, *talk) error {
		return func(_ context.Context, s *talk) error {
			s.Log.Append(name)
			m := message.Assistant(name)
			m.ID = fmt.Sprintf("%s-%d", name, s.Log.Len())
			return s.Messages.Add(m)
		}
	}
	b := graph.New[talk]("talk")
	b.Node("first", graph.Func(say("first")))
	b.Node("ask", graph.Func(func(ctx context.Context, s *talk) error {
		if s.Topic.Get() != "ask" {
			return say("ask")(ctx, s)
		}
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Go on?"})
		return err
	}))
	b.Node("last", graph.Func(say("last")))
	b.Edge(graph.Start, "first")
	b.Edge("first", "ask")
	b.Edge("ask", "last")
	b.Edge("last", graph.End)
	now := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	g, err := b.Compile(graph.Config{Store: store, Now: func() time.Time {
		now = now.Add(time.Millisecond)
		return now
	}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// input returns an input with a message and a topic.
func input(id, topic string) talk {
	m := message.User("hi")
	m.ID = id
	return talk{Messages: message.LogOf(m), Topic: state.Of(topic)}
}

// history returns all states of a thread, newest first.
func history(t *testing.T, g *graph.Graph[talk], store checkpoint.Store, thread string) (states []wire.ThreadState, ids []wire.CheckpointID) {
	t.Helper()
	all := map[uint64]wire.Snapshot{}
	var order []wire.Snapshot
	key := checkpoint.Key{Thread: thread}
	for info, err := range graph.History(t.Context(), store, key, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		data, _, err := g.Untyped().Thread(thread).State(t.Context(), info.Checkpoint)
		if err != nil {
			t.Fatal(err)
		}
		s := wire.Snapshot{Info: info, State: data}
		all[info.Checkpoint] = s
		order = append(order, s)
	}
	v := wire.View{Thread: wire.ThreadUUID(thread), Graph: "talk", Assistant: wire.AssistantUUID("talk"), Messages: []string{"messages"},
		Commit: func(n uint64) (wire.Snapshot, bool) { s, ok := all[n]; return s, ok }}
	for i, s := range order {
		var next *wire.Snapshot
		if i > 0 {
			next = &order[i-1]
		}
		shown, err := v.States(s, next)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, shown...)
	}
	for _, s := range states {
		id, err := wire.ParseCheckpointID(*s.Checkpoint.CheckpointID)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return states, ids
}

func field[T any](t *testing.T, o wire.Object, name string) (v T) {
	t.Helper()
	if err := json.Unmarshal(o[name], &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

func TestStates_ShowAnInputAsTwoCheckpoints(t *testing.T) {
	var store checkpoint.Memory
	g := talkGraph(t, &store)
	for turn := range 2 {
		in := input(fmt.Sprintf("u%d", turn), "")
		opts := graph.RunOptions{Thread: "t1", Metadata: wire.Labels(wire.Object{"n": json.RawMessage("7"), "s": json.RawMessage(`"=x"`)})}
		if _, err := g.Invoke(t.Context(), in, opts); err != nil {
			t.Fatal(err)
		}
	}
	states, ids := history(t, g, &store, "t1")
	var steps []int
	var sources []string
	for i, s := range states {
		steps = append(steps, field[int](t, s.Metadata, "step"))
		sources = append(sources, field[string](t, s.Metadata, "source"))
		if n := field[int](t, s.Metadata, "n"); n != 7 || field[string](t, s.Metadata, "s") != "=x" {
			t.Errorf("state %d: the run's metadata must be there (got %s)", i, s.Metadata)
		}
		if i+1 < len(states) {
			if p := s.ParentCheckpoint; p == nil || *p.CheckpointID != *states[i+1].Checkpoint.CheckpointID {
				t.Errorf("state %d: the parent must be the next state of the list", i)
			}
			if a, b := ids[i].String(), ids[i+1].String(); a <= b {
				t.Errorf("state %d: id %s must sort after %s", i, a, b)
			}
		} else if s.ParentCheckpoint != nil {
			t.Error("the first checkpoint has no parent")
		}
	}
	if want := []int{8, 7, 6, 5, 4, 3, 2, 1, 0, -1}; !slices.Equal(steps, want) {
		t.Errorf("steps %v, want %v", steps, want)
	}
	loop := []string{"loop", "loop", "loop", "loop", "input"}
	if want := slices.Concat(loop, loop); !slices.Equal(sources, want) {
		t.Errorf("sources %v, want %v", sources, want)
	}
	first := states[len(states)-1]
	if string(first.Values) != `{"messages":[],"log":[]}` && string(first.Values) != "{}" {
		t.Errorf("before the first input the values must be empty (got %s)", first.Values)
	}
	const in = `{"messages":[{"type":"human","content":"hi","additional_kwargs":{},"response_metadata":{},"id":"u0"}],"topic":""}`
	if got := string(first.Tasks[0].Result); !slices.Equal(first.Next, []string{"__start__"}) || got != in {
		t.Errorf("the first checkpoint must show the input as the result of __start__ (got %v, %s)", first.Next, got)
	}
	after := states[len(states)-2]
	if got, want := string(after.Tasks[0].Result),
		`{"messages":[{"type":"ai","content":"first","additional_kwargs":{},"response_metadata":{},"id":"first-1","tool_calls":[],"invalid_tool_calls":[]}],"log":["first"]}`; got != want || after.Tasks[0].Name != "first" {
		t.Errorf("the task %s must show what it wrote\n got %s\nwant %s", after.Tasks[0].Name, got, want)
	}
	if head := states[0]; len(head.Next) != 0 || len(head.Tasks) != 0 {
		t.Errorf("at the end nothing is due (got %v)", head.Next)
	}
}

func TestStates_CountEditsAndBranches(t *testing.T) {
	var store checkpoint.Memory
	g := talkGraph(t, &store)
	o := graph.RunOptions{Thread: "t1"}
	if _, err := g.Invoke(t.Context(), input("u0", ""), o); err != nil {
		t.Fatal(err)
	}
	topic := func(s *talk) error { s.Topic.Set("edited"); return nil }
	if _, err := g.Patch(t.Context(), topic, o); err != nil { // 5, step 4
		t.Fatal(err)
	}
	back := o
	back.At = 2
	if _, err := g.Patch(t.Context(), topic, back); err != nil { // on a branch, after step 1
		t.Fatal(err)
	}
	states, _ := history(t, g, &store, "t1")
	if got := field[int](t, states[0].Metadata, "step"); got != 2 || field[string](t, states[0].Metadata, "source") != "update" {
		t.Errorf("the first commit of the branch must have step 2 and source update (got %d, %s)", got, states[0].Metadata["source"])
	}
	if got := field[int](t, states[1].Metadata, "step"); got != 4 {
		t.Errorf("an edit counts as a step (got step %d, want 4)", got)
	}
}

func TestStates_ShowOpenQuestions(t *testing.T) {
	var store checkpoint.Memory
	g := talkGraph(t, &store)
	res, err := g.Invoke(t.Context(), input("u0", "ask"), graph.RunOptions{Thread: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	states, _ := history(t, g, &store, "t1")
	head := states[0]
	in := res.Interrupts[0]
	if len(head.Tasks) != 1 || head.Tasks[0].Name != "ask" || len(head.Tasks[0].Interrupts) != 1 || len(head.Interrupts) != 1 {
		t.Fatalf("the head must show the question on its task (got %+v)", head)
	}
	if got := head.Interrupts[0]; got.ID != in.ID || string(got.Value) != `"Go on?"` {
		t.Errorf("interrupt %s %s, want %s and the prompt", got.ID, got.Value, in.ID)
	}
	all := wire.ThreadInterrupts(res.Interrupts)
	if got := all[wire.TaskUUID(in.Task)]; len(got) != 1 || len(all) != 1 {
		t.Errorf("the interrupts of the thread must be listed by task (got %v)", all)
	}
}

func TestReadResume_MatchesAnswersWithQuestions(t *testing.T) {
	ask := func(id, schema string) graph.Interrupt {
		return graph.Interrupt{ID: id, Kind: "question", Node: "n", Schema: json.RawMessage(schema)}
	}
	one, two := []graph.Interrupt{ask("q1", `{"type":"boolean"}`)}, []graph.Interrupt{ask("q1", "true"), ask("q2", "true"), {Kind: "before", Node: "m"}}
	first, then := "0123456789abcdef", "fedcba9876543210"
	later := []graph.Interrupt{ask(then, "")}
	approval := graph.Interrupt{ID: "q1", Kind: "question", Schema: json.RawMessage(`{"type":"object"}`),
		Action: &graph.Action{Name: "send", Allow: []graph.DecisionType{"approve", "reject"}}}
	for _, c := range []struct {
		name, resume string
		open         []graph.Interrupt
		want         string
		code         wire.Code
	}{
		{"one", `false`, one, `[{"id":"q1","value":false}]`, ""},
		{"one by id", `{"q1":true}`, one, `[{"id":"q1","value":true}]`, ""},
		{"null", ``, []graph.Interrupt{ask("q1", "")}, `[{"id":"q1","value":null}]`, ""},
		{"empty object", `{}`, []graph.Interrupt{ask("q1", "")}, `[{"id":"q1","value":{}}]`, ""},
		{"some key unknown", `{"q1":1,"x":2}`, []graph.Interrupt{ask("q1", "")}, `[{"id":"q1","value":{"q1":1,"x":2}}]`, ""},
		{"by the id of a question before", `{"` + first + `":"yes"}`, later, "", wire.CodeNothingAsked},
		{"by ids, one of them of a question before", `{"` + first + `":"yes","` + then + `":"no"}`, later, `[{"id":"` + then + `","value":"no"}]`, ""},
		{"all by id", `{"q2":"b","q1":"a"}`, two, `[{"id":"q1","value":"a"},{"id":"q2","value":"b"}]`, ""},
		{"some by id", `{"q2":0}`, two, `[{"id":"q2","value":0}]`, ""},
		{"ambiguous", `"a"`, two, "", wire.CodeAmbiguousResume},
		{"nothing", `"a"`, two[2:], "", wire.CodeNothingAsked},
		{"refused", `"a"`, one, "", wire.CodeAnswerRefused},
		{"inbox", `{"decisions":[{"type":"approve"}]}`, []graph.Interrupt{approval}, `[{"id":"q1","value":{"decisions":[{"type":"approve"}]}}]`, ""},
		{"inbox refused", `{"decisions":[{"type":"edit","edited_action":{"name":"send","args":{}}}]}`, []graph.Interrupt{approval}, "", wire.CodeAnswerRefused},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := wire.ReadResume(json.RawMessage(c.resume), c.open)
			if c.code != "" {
				var bad *wire.Error
				if !errors.As(err, &bad) || bad.Code != c.code {
					t.Errorf("error %v, want the code %s", err, c.code)
				}
				return
			}
			if got, _ := json.Marshal(a); err != nil || string(got) != c.want {
				t.Errorf("answers %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestLabels_AreReversible(t *testing.T) {
	in := wire.Object{"s": json.RawMessage(`"x"`), "eq": json.RawMessage(`"=1"`), "n": json.RawMessage("1.50"), "o": json.RawMessage(`{"a":[1]}`), "z": json.RawMessage("null")}
	labels := wire.Labels(in)
	want := map[string]string{"s": "x", "eq": `="=1"`, "n": "=1.50", "o": `={"a":[1]}`, "z": "=null"}
	for name, v := range want {
		if labels[name] != v {
			t.Errorf("label %s = %q, want %q", name, labels[name], v)
		}
	}
	out := wire.Metadata(labels)
	for name, v := range in {
		if string(out[name]) != string(v) {
			t.Errorf("metadata %s = %s, want %s", name, out[name], v)
		}
	}
	if got := wire.Metadata(map[string]string{"x": "=not JSON"}); string(got["x"]) != `"=not JSON"` {
		t.Errorf("a label of others must be a string (got %s)", got["x"])
	}
}

type customError struct{}

func (customError) Error() string     { return "Boo!" }
func (customError) ErrorName() string { return "CustomError" }

type TypedError struct{}

func (*TypedError) Error() string { return "typed" }

func TestRunErrorOf_NamesTheError(t *testing.T) {
	at := func(err error) error { return &graph.NodeError{Node: "n", Step: 3, Err: err} }
	for _, c := range []struct {
		err           error
		name, message string
	}{
		{at(fmt.Errorf("a: %w", customError{})), "CustomError", "Boo!"},
		{at(fmt.Errorf("a: %w", &TypedError{})), "TypedError", "typed"},
		{at(errors.New("plain")), "Error", "plain"},
		{at(fmt.Errorf("a: %w", errors.Join(errors.New("b"), errors.New("c")))), "Error", "b"},
		{at(graph.ErrTimeout), "TimeoutError", "graph: out of time"},
		{at(&graph.PanicError{Value: "x"}), "PanicError", "panic: x"},
		{context.Canceled, "UserInterrupt", "context canceled"},
		{fmt.Errorf("%w: 5", graph.ErrSteps), "GraphRecursionError", `Recursion limit of 5 reached without hitting a stop condition. You can increase the limit by setting the "recursion_limit" config key.`},
		{at(&graph.StoredError{Failure: graph.Failure{Message: "m"}}), "Error", "m"},
	} {
		got := wire.RunErrorOf(c.err, 5)
		if got.Error != c.name || got.Message != c.message {
			t.Errorf("RunErrorOf(%v) = %s: %s; want %s: %s", c.err, got.Error, got.Message, c.name, c.message)
		}
	}
	if got := wire.RunErrorOf(at(errors.New("x")), 5); got.Weft == nil || got.Weft.Node != "n" || got.Weft.Step != 3 {
		t.Errorf("the place must be there (got %+v)", got.Weft)
	}
	if wire.RunErrorOf(nil, 5) != nil {
		t.Error("no error must be nil")
	}
}

func TestGraphOf_OpensSubgraphs(t *testing.T) {
	inside := &graph.Drawing{Graph: "child",
		Nodes: []graph.DrawnNode{{ID: "n1_start", Name: "__start__", Kind: "start"}, {ID: "n1_n0", Name: "in", Kind: "node"}, {ID: "n1_stop", Name: "__end__", Kind: "end"}},
		Edges: []graph.DrawnEdge{{From: "n1_start", To: "n1_n0", Kind: "edge"}, {From: "n1_n0", To: "n1_stop", Kind: "choice"}}}
	d := graph.Drawing{Graph: "g",
		Nodes: []graph.DrawnNode{{ID: "start", Name: "__start__", Kind: "start"}, {ID: "n0", Name: "a", Kind: "router"}, {ID: "n1", Name: "sub", Kind: "graph", Inside: inside}, {ID: "stop", Name: "__end__", Kind: "end"}},
		Edges: []graph.DrawnEdge{{From: "start", To: "n0", Kind: "edge"}, {From: "n0", To: "n1", Kind: "choice"}, {From: "n1", To: "stop", Kind: "edge"}}}
	const ends = `"type":"schema","data":{"$schema":"https://json-schema.org/draft/2020-12/schema"}}`
	closed := `{"nodes":[{"id":"__start__",` + ends + `,{"id":"a","type":"runnable","data":{"id":["weft","router"],"name":"a"},"metadata":{}},` +
		`{"id":"sub","type":"runnable","data":{"id":["weft","graph"],"name":"child"},"metadata":{}},{"id":"__end__",` + ends + `],` +
		`"edges":[{"source":"__start__","target":"a","conditional":false},{"source":"a","target":"sub","conditional":true},{"source":"sub","target":"__end__","conditional":false}]}`
	open := `{"nodes":[{"id":"__start__",` + ends + `,{"id":"a","type":"runnable","data":{"id":["weft","router"],"name":"a"},"metadata":{}},` +
		`{"id":"sub:in","type":"runnable","data":{"id":["weft","node"],"name":"in"},"metadata":{}},{"id":"__end__",` + ends + `],` +
		`"edges":[{"source":"__start__","target":"a","conditional":false},{"source":"a","target":"sub:in","conditional":true},{"source":"sub:in","target":"__end__","conditional":true}]}`
	for xray, want := range map[int]string{0: closed, 1: open} {
		if got, err := json.Marshal(wire.GraphOf(d, xray)); err != nil || string(got) != want {
			t.Errorf("xray %d: %v\n got %s\nwant %s", xray, err, got, want)
		}
	}
}
