package workflow_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// Expressions may read the time of the turn in other ways than as run.time.
func TestRun_TimeIsReadInAnyWay(t *testing.T) {
	now := time.Date(2026, 5, 4, 6, 0, 0, 0, time.UTC)
	for _, expr := range []string{
		`run["time"]`, `run?.time`, `get(run, "time")`, `fromJSON(json(run)).time`, `let r = run; r.time`, `run[state.name]`,
		`run["unix"] > 0 ? "2026-05-04T06:00:00Z" : "none"`,
	} {
		text := "version: 1\nstate: {name: {type: string, default: time}, at: string}\noutput: [at]\nnodes: {n: {set: {at: '${{ " + expr + " }}'}, next: END}}\n"
		w, err := workflow.Parse("in.yaml", []byte(text), workflow.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		g, err := w.Compile(graph.Config{Store: new(checkpoint.Memory)})
		if err != nil {
			t.Fatal(err)
		}
		in, err := w.Input(nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := g.Invoke(t.Context(), in, thread)
		if err != nil {
			t.Fatal(err)
		}
		flow{t, w, g}.ended(res, `{"at":"2026-05-04T06:00:00Z"}`)
	}
}

func TestInput_NullIsNoValueOfARequiredField(t *testing.T) {
	f := parse(t, `
version: 1
state: {topic: {type: string, required: true}, any: {type: any, required: true}, free: string}
input: [topic, any, free]
nodes: {a: {set: {}, next: END}}
`)
	_, err := f.Input(map[string]json.RawMessage{"topic": json.RawMessage(" null"), "any": json.RawMessage("null"), "free": json.RawMessage("null")})
	var e *workflow.Error
	if !errors.As(err, &e) || len(e.Problems) != 1 || e.Problems[0].Code != "WF803" || e.Problems[0].Msg != "input topic is null; want string" {
		t.Errorf("got %v", err)
	}
}

func TestSub_NullIsNoValueOfARequiredField(t *testing.T) {
	child := "version: 1\nstate: {topic: {type: string, required: true}}\ninput: [topic]\nnodes: {x: {set: {}, next: END}}\n"
	main := "version: 1\nstate: {any: any}\ninput: [any]\nnodes: {a: {workflow: child.yaml, input: {topic: VALUE}, next: END}}\n"
	f := load(t, map[string]string{"main.yaml": strings.Replace(main, "VALUE", `"${{ state.any.missing }}"`, 1), "child.yaml": child}, nil)
	if _, err := f.start(`{"any": {}}`); err == nil || !strings.Contains(err.Error(), "input topic is null; want string") {
		t.Errorf("got %v, want that the input is null", err)
	}
}

func TestExpires_ComputedAnswerFitsTheForm(t *testing.T) {
	now := time.Date(2026, 5, 4, 6, 0, 0, 0, time.UTC)
	for value, want := range map[string]string{"3": "expires.then", "7": ""} {
		f := parse(t, `
version: 1
state: {n: int, got: int}
input: [n]
nodes:
  a:
    ask: {title: How many, form: {n: {type: int, min: 5}}, expires: {after: 1h, then: {n: "${{ state.n }}"}}}
    output: {got: "${{ result.n }}"}
    next: END
`)
		g, err := f.Compile(graph.Config{Store: new(checkpoint.Memory), Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		f.Graph = g
		f.open(`{"n": ` + value + `}`)
		now = now.Add(2 * time.Hour)
		_, err = g.Resume(t.Context(), graph.Answers{}, thread)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), "minimum")) {
			t.Errorf("%s: got %v", value, err)
		}
	}
}

func TestEnv_NumberIsFinite(t *testing.T) {
	for text, ok := range map[string]bool{"NaN": false, "inf": false, "-Infinity": false, "1e400": false, "0.5": true} {
		w, err := workflow.Parse("in.yaml", []byte("version: 1\nenv: {X: number}\nstate: {b: bool}\nnodes: {a: {set: {b: '${{ env.X > 1 }}'}, next: END}}\n"),
			workflow.Options{LookupEnv: func(string) (string, bool) { return text, true }})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.CheckEnv(); (err == nil) != ok {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestCache_VersionHasTheOtherWorkflow(t *testing.T) {
	cache := new(graph.MemoryCache)
	main := "version: 1\nstate: {got: int}\nnodes: {a: {workflow: child.yaml, cache: {key: 1}, output: {got: '${{ result.n }}'}, next: END}}\n"
	for i, value := range []string{"1", "1", "2"} {
		child := "version: 1\nstate: {n: int}\nnodes: {x: {set: {n: " + value + "}, next: END}}\n"
		f := load(t, map[string]string{"main.yaml": main, "child.yaml": child}, nil)
		g, err := f.Compile(graph.Config{Store: new(checkpoint.Memory), Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		res, err := g.Invoke(t.Context(), f.NewState(), thread)
		if err != nil {
			t.Fatal(err)
		}
		flow{t, f.Workflow, g}.ended(res, `{"got":`+value+`}`)
		if t.Failed() {
			t.Fatalf("run %d had a result of another text", i+1)
		}
	}
}
