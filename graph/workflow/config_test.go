package workflow_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

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
