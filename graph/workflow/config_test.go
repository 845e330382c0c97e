package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

const configured = `version: 1
config: {model: {type: string, default: DEFAULT}, size: int}
state: {text: string}
nodes:
  a: {approval: {title: "Use ${{ config.model }}"}, next: b}
  b: {set: {text: "${{ config.model }} ${{ config.size }}"}, next: END}
`

func raw(texts map[string]string) map[string]json.RawMessage {
	values := map[string]json.RawMessage{}
	for name, text := range texts {
		values[name] = json.RawMessage(text)
	}
	return values
}

func parseConfigured(t *testing.T, model string) *workflow.Workflow {
	t.Helper()
	w, err := workflow.Parse("in.yaml", []byte(strings.Replace(configured, "DEFAULT", model, 1)), options())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A turn goes on with the settings with which it began, although the file has another
// default by then, in another process; the next turn has its own.
func TestConfig_ResumeHasTheTurnsConfig(t *testing.T) {
	store := new(checkpoint.Memory)
	first := parseConfigured(t, "old")
	in, err := first.InputWith(nil, raw(map[string]string{"size": "3"}))
	if err != nil {
		t.Fatal(err)
	}
	g, err := first.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(context.Background(), in, thread)
	if err != nil || res.Interrupts[0].Prompt != "Use old" {
		t.Fatal(res, err)
	}
	later := parseConfigured(t, "new")
	g, err = later.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	res, err = g.Resume(context.Background(), graph.Answer(res.Interrupts[0].ID, true), thread)
	if err != nil {
		t.Fatal(err)
	}
	flow{t, later, g}.ended(res, `{"text":"old 3"}`)
	if in, err = later.InputWith(nil, raw(map[string]string{"size": "4"})); err != nil {
		t.Fatal(err)
	}
	if res, err = g.Invoke(context.Background(), in, thread); err != nil || res.Interrupts[0].Prompt != "Use new" {
		t.Error(res, err)
	}
}

func TestInputWith_ReportsEveryInvalidSetting(t *testing.T) {
	w := parseConfigured(t, "x")
	_, err := w.InputWith(nil, raw(map[string]string{"modl": `"y"`, "model": "7"}))
	const want = `in.yaml:1:1: error[WF804]: there is no setting "modl" in config; did you mean "model"?
in.yaml:2:10: error[WF804]: config model: want string, got number
in.yaml:2:45: error[WF804]: config size is missing, and has no default; want int`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if _, err := w.Input(nil); err == nil {
		t.Error("Input gives no setting, and one has no default: want an error")
	}
	var names []string
	for _, f := range w.Settings() {
		names = append(names, f.Name+" "+f.Type+" "+string(f.Default))
	}
	if got := strings.Join(names, ", "); got != `model string "x", size int ` {
		t.Errorf("the settings are %q", got)
	}
	if !w.TakesSetting("size", []byte("3")) || w.TakesSetting("size", []byte(`"x"`)) || w.TakesSetting("unknown", []byte("3")) {
		t.Error("TakesSetting does not report which values fit")
	}
}

func TestConfig_IsNotAFieldOfTheState(t *testing.T) {
	w := parseConfigured(t, "x")
	in, err := w.InputWith(nil, raw(map[string]string{"size": "3"}))
	if err != nil {
		t.Fatal(err)
	}
	if out := w.Output(&in); len(out) != 1 || out[0].Name != "text" {
		t.Errorf("the output is %v", out)
	}
	if _, err := w.InputWith(raw(map[string]string{"run_config": "{}"}), raw(map[string]string{"size": "3"})); err == nil {
		t.Error("an input can write the config")
	}
	_, err = workflow.Parse("in.yaml", []byte(strings.Replace(configured, "${{ config.size }}", "${{ state.run_config }}", 1)), options())
	if err == nil || !strings.Contains(err.Error(), "error[WF203]") {
		t.Errorf("got %v", err)
	}
}

func TestRunTests_PassesConfig(t *testing.T) {
	w, err := workflow.Parse("in.yaml", []byte(configured+`tests:
  - {name: one, config: {size: 1}, answers: [{a: true}], expect: {output: {text: DEFAULT 1}}}
  - {name: two, config: {size: 2, model: big}, answers: [{a: true}], expect: {output: {text: big 2}}}
`), options())
	if err != nil {
		t.Fatal(err)
	}
	report, err := w.RunTests(context.Background(), workflow.TestOptions{})
	if err != nil || !report.Passed() || len(report.Tests) != 2 {
		t.Errorf("%+v, %v", report, err)
	}
}

const served = `version: 1
config:
  model: {type: string, default: small, description: which model}
  size: int
state: {text: {type: string, required: true, description: what to say}, out: string, at: string}
input: [text]
nodes:
  a: {set: {out: "${{ config.model }} ${{ config.size }}", at: "${{ run.time }}"}, next: END}
`

// configures is what a server asserts of a graph.
type configures interface {
	Configure(input json.RawMessage, context, configurable map[string]json.RawMessage) (json.RawMessage, error)
}

func compileServed(t *testing.T) graph.Untyped {
	t.Helper()
	o := options()
	o.Now = func() time.Time { return time.Unix(1700000000, 0) }
	w, err := workflow.Parse("secret/in.yaml", []byte(served), o)
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	return g.Untyped()
}

func TestCompile_HasSchemasOfInputAndSettings(t *testing.T) {
	s := compileServed(t).Schemas()
	const head, tail = `{"type":"object","properties":{`, `},"$schema":"http://json-schema.org/draft-07/schema#","required":`
	if got, want := string(s.Input), head+`"text":{"type":"string","description":"what to say","x-weft-kind":"value"}`+tail+`["text"]}`; got != want {
		t.Errorf("the input has\n%s\nwant\n%s", got, want)
	}
	if got, want := string(s.Settings), head+`"model":{"type":"string","description":"which model","default":"small","x-weft-kind":"value"},"size":{"type":"integer","x-weft-kind":"value"}`+tail+`["size"]}`; got != want {
		t.Errorf("the settings have\n%s\nwant\n%s", got, want)
	}
	w, err := workflow.Parse("in.yaml", []byte("version: 1\nstate: {a: int}\nnodes: {a: {set: {a: 1}, next: END}}\n"), options())
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.Compile(graph.Config{Schemas: graph.Schemas{Input: json.RawMessage("{}")}})
	if err != nil {
		t.Fatal(err)
	}
	if s := g.Untyped().Schemas(); s.Settings != nil || string(s.Input) != "{}" {
		t.Errorf("got %s and %s", s.Settings, s.Input)
	}
}

// The context of a run of a server becomes the config of its turn.
func TestConfigure_StoresSettingsWithTheInput(t *testing.T) {
	g := compileServed(t)
	configure := g.(configures).Configure
	in, err := configure([]byte(`{"text":"x"}`), raw(map[string]string{"size": "3"}), raw(map[string]string{"model": `"big"`, "thread_id": `"t"`, "size": "1"}))
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.Invoke(context.Background(), in, graph.RunOptions{Thread: "t"})
	var end struct{ Out, At string }
	if err == nil {
		err = json.Unmarshal(out.State, &end)
	}
	if err != nil || end.Out != "big 3" || end.At != "2023-11-14T22:13:20Z" {
		t.Errorf("got %s, %v", out.State, err)
	}
	again, err := configure(in, raw(map[string]string{"size": "9"}), nil)
	if err != nil || string(again) != string(in) {
		t.Errorf("an input with settings becomes %s, %v; want %s", again, err, in)
	}
	for _, c := range []struct{ context, want string }{
		{`{}`, "config size is missing, and has no default; want int"},
		{`{"size":"x","modl":1}`, `there is no setting "modl" in config; did you mean "model"?; config size: want int, got string`},
	} {
		var given map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.context), &given); err != nil {
			t.Fatal(err)
		}
		_, err := configure([]byte(`{"text":"x"}`), given, nil)
		var wrong *workflow.InputError
		if !errors.As(err, &wrong) || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.context, err, c.want)
		}
	}
	for _, in := range []string{`[]`, `{`, `null`} {
		if out, err := configure([]byte(in), nil, nil); err != nil || string(out) != in {
			t.Errorf("%s becomes %s, %v", in, out, err)
		}
	}
}

func TestConfigure_LeavesOutWhatIsNoInput(t *testing.T) {
	w, err := workflow.Parse("in.yaml", []byte(`version: 1
state: {topic: {type: string, required: true}, free: int, approved: bool}
input: [topic, free]
nodes: {a: {set: {}, next: END}}
`), options())
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	configure := g.Untyped().(configures).Configure
	for in, want := range map[string]string{
		`{"topic":"x"}`:                  `{"topic":"x"}`,
		`{"topic":"x","free":null}`:      `{"topic":"x","free":null}`,
		`{}`:                             `{}`, // the thread may have the topic
		`{"topic":"x","approved":true}`:  `{"topic":"x"}`,
		`{"topic":"x","run_time":1}`:     `{"topic":"x"}`,
		`{"topics":"x","run_config":{}}`: `{}`,
	} {
		if out, err := configure([]byte(in), nil, nil); err != nil || string(out) != want {
			t.Errorf("%s: got %s, %v; want %s", in, out, err, want)
		}
	}
	var wrong *workflow.InputError
	if _, err := configure([]byte(`{"topic":null}`), nil, nil); !errors.As(err, &wrong) || err.Error() != "input topic is null; want string" {
		t.Errorf("a null for a required input: %v", err)
	}
}
