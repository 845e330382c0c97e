package nodes_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
)

const fallsBack = `version: 1
state: {answer: string}
models:
  first: {provider: busy, model: m1, fallback: [%s]}
  second: {provider: busy, model: m2}
  third: {provider: own, model: m3}
nodes:
  ask: {llm: {model: first, prompt: hello}, output: {answer: "${{ result.text }}"}, next: END}
`

// twoProviders returns options with the providers own and busy; the latter is overloaded.
func twoProviders() workflow.Options {
	env := map[string]string{"OWN_KEY": "k"}
	busy := model.Provider{URL: "https://busy.example/v1", Open: func(model.Config) (model.Model, error) {
		return model.Func(func(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
			return func(yield func(model.Chunk, error) bool) {
				yield(model.Chunk{}, &model.Error{Kind: model.Overloaded, Model: "busy"})
			}
		}), nil
	}}
	p := nodes.Program{Providers: map[string]model.Provider{"own": new(opened).provider(), "busy": busy}}
	return workflow.Options{
		Kinds: p.Kinds(), Sections: p.Sections(),
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}
}

func TestModels_FallBackAcrossProviders(t *testing.T) {
	w, err := workflow.Parse("in.yaml", []byte(strings.Replace(fallsBack, "%s", "second, third", 1)), twoProviders())
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
	if got, _ := res.State.Get("answer"); got != "m3 with [secret env:OWN_KEY]" {
		t.Errorf("got %v", got)
	}
}

func TestModels_RefuseFallbacksThatDoNotExist(t *testing.T) {
	for given, want := range map[string]string{
		"fourth": `models.first: there is no model "fourth" to fall back to`,
		"first":  `models.first: fallback must not name the model itself`,
	} {
		_, err := workflow.Parse("in.yaml", []byte(strings.Replace(fallsBack, "%s", given, 1)), twoProviders())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", given, err, want)
		}
	}
}
