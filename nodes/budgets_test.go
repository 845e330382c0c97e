package nodes_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/budget"
	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
	"github.com/weftrun/weft/state/message"
)

const budgeted = `version: 1
state: {answer: string}
budgets:
  month: {by: metadata.tenant, per: month, money: 1.00, currency: EUR, raise: {money: 2.50}, to: finance}
  few: {by: thread, models: [small], calls: 2}
prices:
  small: {input: 100, output: 1000}
nodes:
  ask: {llm: {model: small, prompt: hello, max_tokens: 500}, output: {answer: "${{ result.text }}"}, next: END}
`

// budgetProgram returns options with one model, whose answers cost 0.60.
func budgetProgram() workflow.Options {
	u := &message.Usage{Input: 1000, Output: 500}
	small := model.ScriptFunc(func(context.Context, model.Request) model.Answer { return model.Answer{Text: "yes", Usage: u} })
	p := nodes.Program{Models: map[string]model.Model{"small": small}}
	return workflow.Options{Kinds: p.Kinds(), Sections: p.Sections()}
}

func TestBudgets_LimitTheModelsOfAFile(t *testing.T) {
	t.Parallel()
	w, err := workflow.Parse("f.yaml", []byte(budgeted), budgetProgram())
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := w.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	g := compiled.Untyped()
	acme := map[string]string{"tenant": "acme"}
	run := func(thread string) (graph.Result[json.RawMessage], error) {
		return g.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: thread, Metadata: acme})
	}
	if res, err := run("t1"); err != nil || res.Status != graph.Done {
		t.Fatalf("the first call: %s, %v", res.Status, err)
	}
	res, err := run("t1")
	if err != nil || res.Status != graph.Interrupted {
		t.Fatalf("the second call: %s, %v; want a question", res.Status, err)
	}
	if q := res.Interrupts[0]; q.Prompt != "Spend 2.50 EUR more?" || q.To != "finance" || !strings.Contains(q.Detail, "month of acme: 0.60 spent") {
		t.Errorf("the question is %q, %q to %q", q.Prompt, q.Detail, q.To)
	}
	if res, err = g.Resume(t.Context(), graph.Answer(res.Interrupts[0].ID, true), graph.RunOptions{Thread: "t1"}); err != nil || res.Status != graph.Done {
		t.Fatalf("after the answer: %s, %v", res.Status, err)
	}
	_, err = run("t1")
	var refused *budget.Error
	var failed *graph.NodeError
	if !errors.As(err, &refused) || refused.Limit != "few" || refused.Key != "t1" || !errors.As(err, &failed) || failed.Code() != "budget_calls" {
		t.Errorf("the third call: got %v, want budget_calls of few", err)
	}
	if _, err := g.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t2"}); !errors.Is(err, budget.ErrKey) {
		t.Errorf("without a tenant: got %v, want an ErrKey", err)
	}
}

// Each mistake is reported with its line and its field.
func TestBudgets_MistakesHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ from, to, line, want string }{
		{"calls: 2", "calls: -2", "f.yaml:5:", "budgets.few: its numbers must not be negative"},
		{"calls: 2", "rate: fast", "f.yaml:5:", "budgets.few.rate: the rate must be a text such as 10/s, 60/m or 5/30s"},
		{"calls: 2", "to: x", "f.yaml:5:", "budgets.few: it must bound an amount"},
		{"per: month", "per: week", "f.yaml:4:37", "budgets.month.per must be hour or day or month"},
		{"metadata.tenant", "tenant", "f.yaml:4:", "budgets.month: it must be by thread, model or metadata.NAME"},
		{"money: 1.00", "money: 1.0000001", "f.yaml:4:", "budgets.month.money"},
		{"raise: {money: 2.50}", "raise: {tokens: 5}", "f.yaml:4:", "budgets.month: a raise of tokens needs a limit of tokens"},
		{"models: [small]", "models: [large]", "f.yaml:9:", `budgets.few: there is no model "large"`},
		{"  small: {input: 100", "  large: {input: 100", "f.yaml:9:", "budgets.month limits money, and prices has no model small"},
		{"input: 100", "input: -1", "f.yaml:7:", "prices.small: a price must not be negative"},
		{"models: [small]", "model: [small]", "f.yaml:5:", "models"},
	} {
		_, err := workflow.Parse("f.yaml", []byte(strings.Replace(budgeted, test.from, test.to, 1)), budgetProgram())
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.line) {
			t.Errorf("with %s:\n got: %v\nwant: %s … %s", test.to, err, test.line, test.want)
		}
	}
}
