package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/capabilities/recording"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

// busy is a failure that a capability classifies.
type busy struct{}

func (busy) Error() string { return "the archive is busy" }

// archive is a capability that draws, after a question, and classifies its failures.
type archive struct{ called func(string) }

func (archive) Info() capabilities.Info {
	return capabilities.Info{Name: "plot", Description: "draws", Requires: []string{"RAIN"}, Provides: []string{"PICTURE"}}
}

func (a archive) Run(_ context.Context, c *capabilities.Call) error {
	a.called("plot")
	r, err := agent.Input[rain](c.Contexts(), c.Step)
	if err != nil {
		return err
	}
	if c.Step.Parameters["busy"] == true {
		return busy{}
	}
	if c.Step.Parameters["wrong"] == true {
		c.State.Control.Kill("no")
	}
	to, err := capabilities.Approve(c, agent.ApprovalRequest{Type: "export"}, picture{Of: r.Column})
	if err != nil {
		return err
	}
	c.Manager.Display(c.State).Figure(agent.Figure{Capability: "plot", Path: "rain.png"})
	if err := agent.Remember(c.State, "drawn", to.Of); err != nil {
		return err
	}
	return c.Store(to)
}

func (archive) ClassifyError(err error, _ *capabilities.Call) (agent.Severity, string) {
	if errors.As(err, &busy{}) {
		return agent.Critical, "Come back later."
	}
	return agent.Fatal, ""
}

// office is an agent whose functions and capabilities call called.
func office(t *testing.T, called func(string)) map[string]turn.Config {
	t.Helper()
	reg, err := capabilities.NewRegistry(archive{called},
		capabilities.Tool(capabilities.Info{Name: "find", Description: "finds rain"}, func(_ context.Context, in struct {
			Name string `json:"name"`
		}) (rain, error) {
			called("find")
			return rain{"precipitation " + in.Name}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	types, err := agent.NewTypes(agent.TypeOf[rain](), agent.TypeOf[picture]())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]turn.Config{"office": {
		Manager: agent.StateManager{Types: types}, Capabilities: reg,
		Sources: []turn.Source{{Name: "news", Retrieve: func(context.Context, turn.ExtractRequest) (string, error) {
			called("news")
			return "it rains", nil
		}}},
		Extract: func(_ context.Context, r turn.ExtractRequest) (turn.Task, error) {
			called("extract")
			return turn.Task{Text: r.Query + ", " + r.Retrieved[0].Text}, nil
		},
		Match: func(_ context.Context, r turn.MatchRequest) (bool, error) {
			called("match")
			return r.Capability.Name == "find", nil
		},
		Plan: func(context.Context, turn.PlanRequest) (agent.Plan, error) {
			called("plan")
			return agent.Plan{Steps: []agent.Step{{ContextKey: "k", Capability: "find", Objective: "find", ExpectedOutput: "RAIN", Parameters: map[string]any{"name": "east"}}}}, nil
		},
		Answer: func(_ context.Context, r turn.AnswerRequest) (string, error) {
			called("answer")
			return fmt.Sprint("done: ", r.Found[0].Ref), nil
		},
	}}
}

const officeFlow = `version: 1
state: {known: context, of: string, text: string, steps: list<string>, code: string, why: string}
output: [of, text, steps, code, why]
nodes:
  find:
    capability: {name: find, args: {name: north}}
    output: {known: "${{ result.contexts }}"}
    next: plot
  plot:
    capability: {name: plot, contexts: "${{ state.known }}"}
    output: {of: "${{ result.made.PICTURE.of }}"}
    next: report
  report:
    plan: {agent: office, task: Look at the rain}
    output: {text: "${{ result.text }}", steps: "${{ result.steps }}"}
    next: fails
  fails:
    capability: {name: plot, contexts: "${{ state.known }}", args: {busy: true}}
    on_error: {set: {code: "${{ error.code }}", why: "${{ error.message }}"}, to: END}
    next: END
tests:
  - name: draws
    answers: [{plot: {decision: approve}}]
    expect:
      output: {of: precipitation north, text: "done: RAIN.k", steps: [find], code: turn_failed}
`

// An agent of a program is replayed without a call of its functions and capabilities.
func TestRecording_OfAnAgent(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "office.yaml", officeFlow)
	file := filepath.Join(dir, "testdata/recordings/office/draws.yaml")
	run := func(text string, called func(string), o workflow.TestOptions) (string, workflow.Values) {
		t.Helper()
		write(t, dir, "office.yaml", text)
		w, err := workflow.Load(filepath.Join(dir, "office.yaml"), workflow.Options{Kinds: nodes.Program{Agents: office(t, called)}.Kinds()})
		if err != nil {
			t.Fatal(err)
		}
		report, err := w.RunTests(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(fmt.Sprint(report.Tests[0].Failures), dir+string(filepath.Separator), ""), report.Tests[0].Output
	}
	calls := map[string]int{}
	count := make(chan string, 100)
	got, recorded := run(officeFlow, func(name string) { count <- name }, workflow.TestOptions{Record: true})
	close(count)
	for name := range count {
		calls[name]++
	}
	text, err := os.ReadFile(file)
	if want := "map[answer:1 extract:1 find:2 match:2 news:1 plan:1 plot:3]"; got != "[]" || err != nil || fmt.Sprint(calls) != want {
		t.Fatalf("%s, %v, with the calls %v, want %s\n%s", got, err, calls, want, text)
	}
	if why, _ := recorded.Get("why"); !strings.Contains(fmt.Sprint(why), "Come back later.") {
		t.Errorf("the failure is %q", why)
	}
	never := func(name string) { t.Errorf("a replay called %s", name) }
	got, replayed := run(officeFlow, never, workflow.TestOptions{})
	if got != "[]" || fmt.Sprint(replayed) != fmt.Sprint(recorded) {
		t.Errorf("the replay gives %s %v, want %v\n%s", got, replayed, recorded, text)
	}
	if got, _ := run(officeFlow, never, workflow.TestOptions{Record: true}); got != "[]" {
		t.Errorf("recorded again: %s", got)
	}
	if again, err := os.ReadFile(file); err != nil || string(again) != string(text) {
		t.Errorf("recorded again it is, %v,\n%s\nwant\n%s", err, again, text)
	}
	for _, test := range []struct{ old, changed, want string }{
		{"args: {name: north}", "args: {name: south}", "capability find, differs from testdata/recordings/office/draws.yaml:5: request.step.parameters.name is \"south\", recorded \"north\""},
		{"task: Look at the rain", "task: Look at the snow", "function source news, differs from "},
	} {
		if got, _ := run(strings.Replace(officeFlow, test.old, test.changed, 1), never, workflow.TestOptions{}); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s, want %s", test.changed, got, test.want)
		}
	}
	wrong := strings.Replace(officeFlow, "contexts: \"${{ state.known }}\"}\n    output: {of", "contexts: \"${{ state.known }}\", args: {wrong: true}}\n    output: {of", 1)
	if got, _ := run(wrong, func(string) {}, workflow.TestOptions{Record: true}); !strings.Contains(got, "it writes control.is_killed of the state, which a recording does not have") {
		t.Errorf("a capability that ends the turn: %s", got)
	}
}

// A registry that is recorded has the same rules as the one that it is made of.
func TestRecording_KeepsARegistry(t *testing.T) {
	reg := office(t, func(string) {})["office"].Capabilities
	own, err := recording.Capabilities(reg)
	if err != nil || fmt.Sprint(own.Names(), own.Warnings()) != fmt.Sprint(reg.Names(), reg.Warnings()) {
		t.Errorf("got %v, %v, want %v", own.Names(), err, reg.Names())
	}
	for _, name := range reg.Names() {
		a, _ := reg.Get(name)
		b, _ := own.Get(name)
		_, classifies := a.(capabilities.Classifier)
		if _, ok := b.(capabilities.Classifier); ok != classifies {
			t.Errorf("%s is a classifier: %v, want %v", name, ok, classifies)
		}
	}
	if none, err := recording.Capabilities(nil); none != nil || err != nil {
		t.Errorf("without a registry: %v, %v", none, err)
	}
}
