package nodes_test

import (
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
	"github.com/weftrun/weft/state/message"
)

func prompted(t *testing.T, text string, models map[string]model.Model) (*workflow.Workflow, error) {
	t.Helper()
	kinds := nodes.Kinds()
	kinds["llm"] = nodes.LLM(models)
	return workflow.Parse("in.yaml", []byte(text), workflow.Options{Kinds: kinds})
}

const prompts = `
version: 1
types: {Article: {title: string, words: {type: int, default: 3}}}
state: {text: string, title: string, words: int}
nodes:
  a: {llm: {model: small, system: Be brief., prompt: Say hello}, output: {text: "${{ result.text }}"}, next: b}
  b: {llm: {prompt: An article, answer: Article}, output: {title: "${{ result.answer.title }}", words: "${{ result.answer.words }}"}, next: END}
`

func TestModel_AnswersInTextAndInATypeOfTheFile(t *testing.T) {
	w, err := prompted(t, prompts, map[string]model.Model{"small": model.Script(
		model.Say("Hello to you"), model.Say(`{"words": 1}`), model.Say(`{"title": "T"}`),
	)})
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for ev, err := range g.Stream(t.Context(), w.NewState(), graph.RunOptions{Modes: graph.Messages}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Mode == graph.Messages && !ev.Token.Final {
			said.WriteString(ev.Token.Delta + "|")
		}
	}
	if got := said.String(); strings.ReplaceAll(got, "|", "") != "Hello to you" || strings.Count(got, "|") < 2 {
		t.Errorf("streamed %q, want the text in pieces", got)
	}
}

func TestModel_TypedAnswerIsAValueOfItsType(t *testing.T) {
	w, err := prompted(t, prompts, map[string]model.Model{"small": model.Script(
		model.Say("Hello"), model.Say(`{"words": 1}`), model.Say(`{"title": "T"}`),
	)})
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), w.NewState(), graph.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := w.Output(&res.State).Map()
	if out["text"] != "Hello" || out["title"] != "T" || out["words"] != int64(3) {
		t.Errorf("the state is %v; want the repaired answer, with the default of its type", out)
	}
}

func TestLLMNode_MistakesAreFoundWhenLoading(t *testing.T) {
	_, err := prompted(t, `
version: 1
types: {Article: {title: string}}
nodes:
  a: {llm: {model: large, prompt: x}, next: b}
  b: {llm: {model: small, prompt: x, answer: Artcle}, next: c}
  c: {llm: {model: small, answer: Article}, output: {x: "${{ result.txt }}"}, next: END}
`, map[string]model.Model{"small": model.Script()})
	for _, want := range []string{
		`in.yaml:5:12: error[WF504]: llm: there is no model "large"; known are small`,
		`in.yaml:6:46: error[WF401]: unknown type "Artcle"; did you mean "Article"?`,
		`in.yaml:7:12: error[WF502]: llm needs prompt`,
		`unknown field txt; did you mean "text"?`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got\n%v\nwant %s", err, want)
		}
	}
}

func TestModel_FailureHasItsCode(t *testing.T) {
	w, err := prompted(t, `
version: 1
state: {why: string}
nodes:
  a: {llm: {prompt: x}, on_error: {set: {why: "${{ error.code }}"}}, next: END}
`, map[string]model.Model{"small": model.Script(model.Fail(&model.Error{Kind: model.Refused}))})
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), w.NewState(), graph.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if why, _ := res.State.Get("why"); why != "model_refused" {
		t.Errorf("the code is %v, want model_refused", why)
	}
}

func TestLLM_CallOfAToolThatWasNotOffered(t *testing.T) {
	call := model.Ask(message.Call{ID: "c1", Name: "web_search", Arguments: []byte(`{"q":"x"}`)})
	for name, file := range map[string]string{
		"text":  "version: 1\nstate: {text: string}\nnodes:\n  a: {llm: {prompt: x}, output: {text: \"${{ result.text }}\"}, next: END}\n",
		"typed": "version: 1\ntypes: {T: {title: string}}\nstate: {text: string}\nnodes:\n  a: {llm: {prompt: x, answer: T}, output: {text: \"${{ result.text }}\"}, next: END}\n",
	} {
		t.Run(name, func(t *testing.T) {
			w, err := prompted(t, file, map[string]model.Model{"small": model.Script(call, call)})
			if err != nil {
				t.Fatal(err)
			}
			g, err := w.Compile(graph.Config{})
			if err != nil {
				t.Fatal(err)
			}
			res, err := g.Invoke(t.Context(), w.NewState(), graph.RunOptions{})
			if model.KindOf(err) != model.BadAnswer || !strings.Contains(err.Error(), `"web_search"`) {
				text, _ := res.State.Get("text")
				t.Errorf("rule: an answer that calls a tool which was not offered fails the node\ngot the text %q and the error %v, want a bad answer that names the tool", text, err)
			}
		})
	}
}
