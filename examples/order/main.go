// Order places an order that a manager must approve. The manager prefers another supplier, so the
// thread resumes from the checkpoint before the choice. Then the bank charges and its reply is
// lost, as in a crash at that moment. The order is still charged once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// Offer is a supplier's price in euros.
type Offer struct {
	Supplier string `json:"supplier"`
	Price    int    `json:"price"`
}

// Order is the state of the thread. Fields tagged "turn" are reset by each input.
type Order struct {
	Chairs state.Value[int]   `json:"chairs" weft:"turn"`
	Avoid  state.Set[string]  `json:"avoid" weft:"turn"`
	Offers state.List[Offer]  `json:"offers" weft:"turn"`
	Chosen state.Value[Offer] `json:"chosen" weft:"turn"`
	Paid   state.Sum[int]     `json:"paid"` // over all turns
}

func draft(context.Context, *Order) (graph.Command, error) { // a task for each supplier
	return graph.Send("stock", Offer{"acme", 50}).Send("stock", Offer{"bolt", 60}), nil
}

func stock(_ context.Context, o *Order, one Offer) error {
	o.Offers.Append(Offer{one.Supplier, one.Price * o.Chairs.Get()})
	return nil
}

func choose(_ context.Context, o *Order) (graph.Command, error) {
	offers := slices.DeleteFunc(o.Offers.Slice(), func(f Offer) bool { return o.Avoid.Has(f.Supplier) })
	if len(offers) == 0 {
		return graph.Goto(graph.End).WithReason("no supplier is left"), nil
	}
	best := slices.MinFunc(offers, func(a, b Offer) int { return a.Price - b.Price })
	o.Chosen.Set(best)
	if best.Price > 100 {
		return graph.Goto("approve").WithReason("%d € is more than 100 €", best.Price), nil
	}
	return graph.Goto("charge"), nil
}

// approve gives its question a Key with the offer in it. An answer to one offer is then not taken
// for another, on a branch of the thread or after an edit.
func approve(ctx context.Context, o *Order) (graph.Command, error) {
	text := fmt.Sprintf("Pay %d € to %s?", o.Chosen.Get().Price, o.Chosen.Get().Supplier)
	ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: text, Key: text})
	if err != nil || !ok {
		return graph.Goto(graph.End), err
	}
	return graph.Goto("charge").WithReason("the manager said yes"), nil
}

// A bank is an external service. It charges once for each idempotency key.
type bank struct {
	charges map[string]int
	replies bool
}

func (b *bank) charge(key string, euros int) (int, error) {
	if b.charges[key] == 0 {
		b.charges[key] = euros
	}
	if !b.replies {
		return 0, errors.New("no reply from the bank")
	}
	return b.charges[key], nil
}

// pay records the bank's reply. Without a reply it runs again, with the same key.
func (b *bank) pay(ctx context.Context, o *Order) error {
	paid, err := graph.Once(ctx, "charge", func(ctx context.Context) (int, error) {
		return b.charge(graph.ExecutionID(ctx), o.Chosen.Get().Price)
	})
	o.Paid.Add(paid)
	return err
}

func compile(store checkpoint.Store, bk *bank) (*graph.Graph[Order], error) {
	b := graph.New[Order]("order")
	b.Node("draft", graph.Router(draft, "stock"))
	b.Node("stock", graph.Worker(stock))
	b.Node("choose", graph.Router(choose, "approve", "charge", graph.End))
	b.Node("approve", graph.Router(approve, "charge", graph.End))
	b.Node("charge", graph.Func(bk.pay))
	b.Edge(graph.Start, "draft")
	b.Edge("stock", "choose") // once, when all of them have ended
	b.Edge("charge", graph.End)
	return b.Compile(graph.Config{Store: store})
}

// order resumes the thread, or begins it. So the same call after a crash places no second order.
// Invoke alone would begin a new turn.
func order(ctx context.Context, g *graph.Graph[Order], chairs int, run graph.RunOptions) (graph.Result[Order], error) {
	res, err := g.Resume(ctx, graph.Answers{}, run)
	if errors.Is(err, graph.ErrUnknownThread) {
		return g.Invoke(ctx, Order{Chairs: state.Of(chairs)}, run)
	}
	return res, err
}

func demo(ctx context.Context, store checkpoint.Store, w io.Writer) error {
	bk, run := &bank{charges: map[string]int{}}, graph.RunOptions{Thread: "order-1"}
	g, err := compile(store, bk)
	if err != nil {
		return err
	}
	show := func(res graph.Result[Order], err error) {
		for _, in := range res.Interrupts {
			fmt.Fprintln(w, in.Prompt)
		}
		fmt.Fprintln(w, res.Status, "paid", res.State.Paid.Get(), "charges", len(bk.charges), err)
	}
	show(order(ctx, g, 3, run))
	var back uint64 // the commit before the choice
	for p, err := range graph.History(ctx, store, checkpoint.Key{Thread: run.Thread}, checkpoint.Query{}) {
		if err != nil {
			return err
		}
		if slices.Contains(p.Next, "choose") {
			back = p.Checkpoint
		}
	}
	avoid := graph.Edit[Order]{Do: func(o *Order) (graph.Command, error) { o.Avoid.Add("acme"); return graph.Command{}, nil }}
	show(g.UpdateAndResume(ctx, avoid, graph.Answers{}, graph.RunOptions{Thread: run.Thread, At: back}))
	show(g.Resume(ctx, graph.Reply(true), run)) // a program with several questions answers by id
	bk.replies = true
	show(order(ctx, g, 3, run))
	return nil
}

func main() {
	if err := demo(context.Background(), new(checkpoint.Memory), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
