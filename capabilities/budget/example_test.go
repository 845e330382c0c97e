package budget_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weftrun/weft/capabilities/budget"
	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// A tenant may spend 1 EUR a month. Then a person is asked for 5 EUR more.
func Example() {
	may := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	limiter, err := budget.Over(new(document.Map), budget.Config{ // or budget.Open(store, …)
		Currency: "EUR",
		Prices:   budget.Prices{"small": {Input: 400 * budget.Unit, Output: 1600 * budget.Unit}},
		Limits: []budget.Limit{{
			Name: "tenant", By: "metadata.tenant", Per: budget.Month,
			Most:  budget.Amount{Money: 1 * budget.Unit},
			Raise: budget.Amount{Money: 5 * budget.Unit}, To: "finance",
		}},
		Now: func() time.Time { return may },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	small := limiter.Model("small", model.Script(
		model.Answer{Text: "Good morning.", Usage: &message.Usage{Input: 800, Output: 400}},
		model.Answer{Text: "Good evening.", Usage: &message.Usage{Input: 900, Output: 300}},
	))

	type State struct {
		Question state.Value[string] `json:"question"`
		Answer   state.Value[string] `json:"answer"`
	}
	b := graph.New[State]("greeter")
	b.Node("greet", graph.Func(func(ctx context.Context, s *State) error {
		r, err := model.Generate(ctx, small, model.Request{
			Messages: []message.Message{message.User(s.Question.Get())}, MaxTokens: 500,
		})
		if err != nil {
			return err
		}
		s.Answer.Set(r.Message.Text())
		return nil
	}))
	b.Edge(graph.Start, "greet")
	b.Edge("greet", graph.End)
	g, err := b.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, acme := context.Background(), map[string]string{"tenant": "acme"}
	in := State{Question: state.Of("hello")}
	res, err := g.Invoke(ctx, in, graph.RunOptions{Thread: "t1", Metadata: acme})
	fmt.Println(res.Status, res.State.Answer.Get(), err)

	res, err = g.Invoke(ctx, in, graph.RunOptions{Thread: "t2", Metadata: acme})
	fmt.Println(res.Status, res.Interrupts[0].Prompt, err)
	fmt.Println(res.Interrupts[0].Detail)
	res, err = g.Resume(ctx, graph.Answer(res.Interrupts[0].ID, true), graph.RunOptions{Thread: "t2"})
	fmt.Println(res.Status, res.State.Answer.Get(), err)

	records, err := limiter.Usage(ctx, budget.Range{})
	for _, r := range records {
		fmt.Println(r.Day, r.Thread, r.Model, r.Metadata["tenant"], r.Input, r.Output, r.Money, err)
	}
	// Output:
	// done Good morning. <nil>
	// interrupted Spend 5.00 EUR more? <nil>
	// Limit tenant of acme: 0.96 spent and 0.00 reserved of 1.00 EUR. The month is 2026-05 (UTC).
	// done Good evening. <nil>
	// 2026-05-01 t1 small acme 800 400 0.96 <nil>
	// 2026-05-01 t2 small acme 900 300 0.84 <nil>
}
