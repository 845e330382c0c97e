// Durable pauses in one process and resumes in another. The thread is in a SQLite file:
//
//	go run ./examples/durable            # asks
//	go run ./examples/durable yes        # answers
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// Order is the state of the thread. The tag resets a field for the next order. Without it, the
// items of the next order would be appended to those of the last.
type Order struct {
	Items state.List[string] `json:"items" weft:"turn"`
	Paid  state.Value[bool]  `json:"paid" weft:"turn"`
}

func pay(ctx context.Context, o *Order) error {
	ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: fmt.Sprintf("Pay for %d items?", o.Items.Len())})
	if err != nil {
		return err
	}
	o.Paid.Set(ok)
	return nil
}

// order starts the thread in a file, or answers its question.
func order(ctx context.Context, file string, answers ...bool) (graph.Result[Order], error) {
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return graph.Result[Order]{}, err
	}
	defer store.Close()
	b := graph.New[Order]("order")
	b.Node("pay", graph.Func(pay))
	b.Edge(graph.Start, "pay")
	b.Edge("pay", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		return graph.Result[Order]{}, err
	}
	run := graph.RunOptions{Thread: "order-1"}
	if len(answers) > 0 {
		return g.Resume(ctx, graph.Reply(answers[0]), run)
	}
	return g.Invoke(ctx, Order{Items: state.ListOf("tea", "milk")}, run)
}

func main() {
	var answers []bool
	if len(os.Args) > 1 {
		answers = []bool{os.Args[1] == "yes"}
	}
	res, err := order(context.Background(), "orders.db", answers...)
	if err != nil {
		log.Fatal(err)
	}
	for _, in := range res.Interrupts {
		fmt.Println(in.Prompt)
	}
	fmt.Println(res.Status, res.State)
}
