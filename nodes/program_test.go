package nodes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
	"github.com/weftrun/weft/state/record"
)

type orderID struct {
	ID string `json:"id"`
}

// toolsOf returns a set with the tool refund. paid counts its calls.
func toolsOf(t *testing.T, paid *int) *tool.Set {
	t.Helper()
	set, err := tool.NewSet(
		tool.Func(tool.Info{Name: "lookup"}, func(_ context.Context, in orderID) (map[string]any, error) {
			if in.ID == "none" {
				return nil, errors.New("there is no such order")
			}
			return map[string]any{"id": in.ID, "price": 12}, nil
		}),
		tool.Func(tool.Info{Name: "refund", Mode: tool.Permit}, func(_ context.Context, in orderID) (string, error) {
			*paid++
			return "paid back " + in.ID, nil
		}),
		tool.Ask[orderID, string](tool.Info{Name: "ask", Mode: tool.Answer, Prompt: "What of it?"}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// program loads a file with a program.
func program(t *testing.T, text string, p nodes.Program) (*workflow.Workflow, *graph.Graph[record.Record]) {
	t.Helper()
	w, err := workflow.Parse("in.yaml", []byte(text), workflow.Options{Kinds: p.Kinds()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	return w, g
}

// answer runs a workflow to its end and answers each question with the result of say.
func answer(t *testing.T, w *workflow.Workflow, g *graph.Graph[record.Record], say func(graph.Interrupt) any) (map[string]any, error) {
	t.Helper()
	res, err := g.Invoke(t.Context(), w.NewState(), graph.RunOptions{Thread: "t"})
	for err == nil && res.Status == graph.Interrupted {
		var all graph.Answers
		for _, in := range res.Interrupts {
			all = all.Answer(in.ID, say(in))
		}
		res, err = g.Resume(t.Context(), all, graph.RunOptions{Thread: "t", By: "anna"})
	}
	if err != nil {
		return nil, err
	}
	return w.Output(&res.State).Map(), nil
}

func noQuestions(t *testing.T) func(graph.Interrupt) any {
	return func(in graph.Interrupt) any { t.Fatalf("unexpected question: %+v", in); return nil }
}

const agentFile = `
version: 1
types: {Verdict: {good: bool, why: {type: string, default: none}}}
state: {question: {type: string, default: "is A-17 good?"}, text: string, turns: int, said: list<any>, good: bool, why: string}
nodes:
  talk:
    agent: {model: small, system: Be brief., prompt: "${{ state.question }}", tools: [lookup, refund], max_turns: 4}
    output: {text: "${{ result.text }}", turns: "${{ result.turns }}", said: "${{ result.messages }}"}
    next: judge
  judge:
    agent: {prompt: "Was it good?", messages: "${{ state.said }}", answer: Verdict}
    output: {good: "${{ result.answer.good }}", why: "${{ result.answer.why }}"}
    next: END
`

func TestAgentNode_AsksBeforeToolsThatNeedIt(t *testing.T) {
	for _, c := range []struct {
		say   string
		paid  int
		heard string
	}{{"approve", 1, "paid back A-17"}, {"reject", 0, "A person rejected this call"}} {
		paid := 0
		m := model.Script(
			model.Ask(message.Call{ID: "c1", Name: "lookup", Arguments: []byte(`{"id":"A-17"}`)}), model.Ask(message.Call{ID: "c2", Name: "refund", Arguments: []byte(`{"id":"A-17"}`)}), model.Say("It is done."), model.Say(`{"good": true}`),
		)
		w, g := program(t, agentFile, nodes.Program{Models: map[string]model.Model{"small": m}, Tools: toolsOf(t, &paid)})
		questions := 0
		got, err := answer(t, w, g, func(in graph.Interrupt) any {
			questions++
			return map[string]any{"action": c.say}
		})
		if err != nil {
			t.Fatal(err)
		}
		if got["text"] != "It is done." || got["turns"] != int64(3) || got["good"] != true || got["why"] != "none" || questions != 1 || paid != c.paid {
			t.Errorf("%s: got %v with %d questions and %d payments", c.say, got, questions, paid)
		}
		asked := m.Requests()
		last, err := json.Marshal(asked[len(asked)-1].Messages)
		if err != nil || !strings.Contains(string(last), c.heard) || strings.Contains(string(last), "Be brief.") {
			t.Errorf("%s: the second agent heard %s, want what was said and not the system's words", c.say, last)
		}
	}
}

func TestAgentNode_StreamsItsAnswer(t *testing.T) {
	w, g := program(t, "version: 1\nnodes:\n  a: {agent: {prompt: x}, next: END}\n",
		nodes.Program{Models: map[string]model.Model{"m": model.Script(model.Say("Hello to you"))}})
	var said strings.Builder
	for ev, err := range g.Stream(t.Context(), w.NewState(), graph.RunOptions{Thread: "t", Modes: graph.Messages}) {
		if err != nil {
			t.Fatal(err)
		}
		said.WriteString(ev.Token.Delta)
	}
	if said.String() != "Hello to you" {
		t.Errorf("streamed %q", said.String())
	}
}

func TestAgent_UsesOnlyTheToolsOfTheFile(t *testing.T) {
	paid := 0
	m := model.Script(model.Ask(message.Call{ID: "c1", Name: "lookup", Arguments: []byte(`{"id":"A"}`)}), model.Say("no"))
	w, g := program(t, "version: 1\nnodes:\n  a: {agent: {prompt: x, tools: [refund]}, next: END}\n",
		nodes.Program{Models: map[string]model.Model{"m": m}, Tools: toolsOf(t, &paid)})
	if _, err := answer(t, w, g, noQuestions(t)); err != nil {
		t.Fatal(err)
	}
	asked := m.Requests()
	if len(asked[0].Tools) != 1 || asked[0].Tools[0].Name != "refund" {
		t.Errorf("the model got %v, want refund alone", asked[0].Tools)
	}
	ms := asked[1].Messages
	if r := ms[len(ms)-1].Results; len(r) != 1 || !r[0].IsError {
		t.Errorf("the call of another tool gave %+v, want an error", r)
	}
}

func TestAgentNode_MaxTurnsFailsWithACode(t *testing.T) {
	paid := 0
	w, g := program(t, `
version: 1
state: {code: string}
nodes:
  a: {agent: {prompt: x, tools: [lookup], max_turns: 1}, on_error: {set: {code: "${{ error.code }}"}}, next: END}
`, nodes.Program{Models: map[string]model.Model{"m": model.Script(model.Ask(message.Call{ID: "c1", Name: "lookup", Arguments: []byte(`{"id":"A"}`)}))}, Tools: toolsOf(t, &paid)})
	got, err := answer(t, w, g, noQuestions(t))
	if err != nil || got["code"] != "agent_turns" {
		t.Errorf("got %v, %v, want the code agent_turns", got, err)
	}
}

const toolFile = `
version: 1
state: {id: {type: string, default: A-17}, price: number, text: string, code: string}
nodes:
  look: {tool: {name: lookup, args: {id: "${{ state.id }}"}}, output: {price: "${{ result.json.price }}"}, next: pay}
  pay:
    tool: {name: refund, args: {id: "${{ state.id }}"}}
    on_error: [{if: error.code == "tool_rejected", to: END, set: {code: "${{ error.code }}"}}]
    output: {text: "${{ result.text }}"}
    next: END
`

func TestTool_OfAFileRunsAfterApproval(t *testing.T) {
	for say, want := range map[string]string{"approve": "paid back A-17", "reject": ""} {
		paid := 0
		w, g := program(t, toolFile, nodes.Program{Tools: toolsOf(t, &paid)})
		got, err := answer(t, w, g, func(graph.Interrupt) any { return map[string]any{"action": say} })
		if err != nil {
			t.Fatal(err)
		}
		text, _ := got["text"].(string)
		if text != want || (paid == 1) != (say == "approve") || (got["code"] == "tool_rejected") != (say == "reject") {
			t.Errorf("%s: got %v with %d payments", say, got, paid)
		}
	}
}

func TestTool_AnsweredByAPersonReturnsTheAnswer(t *testing.T) {
	paid := 0
	w, g := program(t, "version: 1\nstate: {text: string}\nnodes:\n  a: {tool: {name: ask, args: {id: x}}, output: {text: \"${{ result.text }}\"}, next: END}\n",
		nodes.Program{Tools: toolsOf(t, &paid)})
	got, err := answer(t, w, g, func(graph.Interrupt) any { return "sell it" })
	if err != nil || got["text"] != "sell it" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestTool_FailureFailsItsNodeOnceWithACode(t *testing.T) {
	paid := 0
	w, g := program(t, `
version: 1
state: {code: string, why: string}
nodes:
  a:
    tool: {name: lookup, args: {id: none}}
    retry: {max: 3}
    on_error: {set: {code: "${{ error.code }}", why: "${{ error.message }}"}}
    next: END
`, nodes.Program{Tools: toolsOf(t, &paid)})
	got, err := answer(t, w, g, noQuestions(t))
	if err != nil || got["code"] != "tool_failed" || !strings.Contains(fmt.Sprint(got["why"]), "there is no such order") {
		t.Errorf("got %v, %v", got, err)
	}
}

type rain struct {
	Column string `json:"column"`
}

func (rain) ContextType() string { return "RAIN" }

type picture struct {
	Of string `json:"of"`
}

func (picture) ContextType() string { return "PICTURE" }

func desks(t *testing.T) map[string]turn.Config {
	t.Helper()
	reg, err := capabilities.NewRegistry(
		capabilities.Tool(capabilities.Info{Name: "find", Description: "finds rain"}, func(_ context.Context, in struct {
			Name string `json:"name"`
		}) (rain, error) {
			if in.Name == "snow" {
				return rain{}, errors.New("there is no snow")
			}
			return rain{"precipitation " + in.Name}, nil
		}),
		capabilities.Func(capabilities.Info{Name: "plot", Description: "draws", Requires: []string{"RAIN"}, Provides: []string{"PICTURE"}, Approval: capabilities.AlwaysApproval},
			func(_ context.Context, c *capabilities.Call) error {
				r, err := agent.Input[rain](c.Contexts(), c.Step)
				if err != nil {
					return err
				}
				return c.Store(picture{r.Column})
			}),
	)
	if err != nil {
		t.Fatal(err)
	}
	types, err := agent.NewTypes(agent.TypeOf[rain](), agent.TypeOf[picture]())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]turn.Config{"weather": {Manager: agent.StateManager{Types: types}, Capabilities: reg}}
}

const capabilityFile = `
version: 1
state: {name: {type: string, default: north}, known: context, of: string, code: string}
nodes:
  find:
    capability: {name: find, args: {name: "${{ state.name }}"}}
    output: {known: "${{ result.contexts }}"}
    next: plot
  plot:
    capability: {name: plot, agent: weather, contexts: "${{ state.known }}"}
    output: {of: "${{ result.made.PICTURE.of }}"}
    on_error: {set: {code: "${{ error.code }}"}}
    next: END
`

func TestCapabilityNode_GetsItsInputsAndAsksForApproval(t *testing.T) {
	for say, want := range map[string]any{"approve": "precipitation north", "reject": nil} {
		w, g := program(t, capabilityFile, nodes.Program{Agents: desks(t)})
		questions := 0
		got, err := answer(t, w, g, func(graph.Interrupt) any { questions++; return map[string]any{"decision": say} })
		if err != nil {
			t.Fatal(err)
		}
		if of := got["of"]; of != want && !(want == nil && of == "") || questions != 1 || (got["code"] == "turn_failed") != (say == "reject") {
			t.Errorf("%s: got %v with %d questions", say, got, questions)
		}
	}
}

func TestPlan_OfAFileRunsItsCapabilities(t *testing.T) {
	w, g := program(t, `
version: 1
state: {known: context, steps: list<string>, text: string}
nodes:
  do:
    plan: {task: Draw the rain, agent: weather}
    output: {known: "${{ result.contexts }}", steps: "${{ result.steps }}", text: "${{ result.text }}"}
    next: END
`, nodes.Program{Agents: desks(t)})
	got, err := answer(t, w, g, func(graph.Interrupt) any { return map[string]any{"decision": "approve"} })
	if err != nil {
		t.Fatal(err)
	}
	data, _ := json.Marshal(got["steps"])
	if string(data) != `["find","plot"]` || !strings.Contains(fmt.Sprint(got["text"]), "PICTURE") {
		t.Errorf("got %v", got)
	}
}

func TestProgram_MistakesAreFoundWhenLoading(t *testing.T) {
	paid := 0
	p := nodes.Program{Models: map[string]model.Model{"small": model.Script()}, Tools: toolsOf(t, &paid), Agents: desks(t)}
	_, err := workflow.Parse("in.yaml", []byte(`
version: 1
state: {n: string, l: list<int>}
nodes:
  a: {agent: {prompt: x, tools: [lookup, lokup, lookup]}, next: b}
  b: {agent: {prompt: x, model: "${{ state.n }}"}, next: c}
  c: {tool: {name: nix}, next: d}
  d: {capability: {name: plot}, next: e}
  e: {plan: {task: x, capabilities: [find, draw]}, next: f}
  f: {plan: {task: x, agent: water}, next: g}
  g: {for_each: {in: state.l}, agent: {prompt: x}, next: h}
  h: {agent: {prompt: x}, idempotency_key: k, next: END}
`), workflow.Options{Kinds: p.Kinds()})
	for _, want := range []string{
		`in.yaml:5:14: error[WF504]: agent: there is no tool "lokup"; known are lookup, refund, ask; tools names "lookup" twice`,
		`in.yaml:6:14: error[WF504]: agent: model must be constant in the file, and not empty or zero`,
		`in.yaml:7:13: error[WF504]: tool: there is no tool "nix"; known are lookup, refund, ask`,
		`in.yaml:8:19: error[WF504]: capability: the capability plot requires [RAIN], and there are no contexts`,
		`in.yaml:9:13: error[WF504]: plan: there is no capability "draw"; the agent has find, plot`,
		`in.yaml:10:13: error[WF504]: plan: there is no agent "water"; known are weather`,
		`in.yaml:12:44: error[WF517]`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got\n%v\nwant %s", err, want)
		}
	}
}
