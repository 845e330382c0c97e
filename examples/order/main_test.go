package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

const transcript = `Pay 150 € to acme?
interrupted paid 0 charges 0 <nil>
Pay 180 € to bolt?
interrupted paid 0 charges 0 <nil>
failed paid 0 charges 1 graph "order": node "charge": step 5: thread "order-1": once "charge": no reply from the bank
done paid 180 charges 1 <nil>
`

func TestDemo_IsTheSameOnEveryStore(t *testing.T) {
	file, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "orders.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, store := range map[string]checkpoint.Store{"memory": new(checkpoint.Memory), "sqlite": file} {
		var got strings.Builder
		if err := demo(t.Context(), store, &got); err != nil || got.String() != transcript {
			t.Errorf("%s: %v\ngot:\n%swant:\n%s", name, err, got.String(), transcript)
		}
	}
}

// begin runs an order until the manager is asked.
func begin(t *testing.T) (*graph.Graph[Order], *bank, string) {
	t.Helper()
	bk := &bank{charges: map[string]int{}, replies: true}
	g, err := compile(new(checkpoint.Memory), bk)
	if err != nil {
		t.Fatal(err)
	}
	res, err := order(t.Context(), g, 3, graph.RunOptions{Thread: "t"})
	if err != nil || res.Status != graph.Interrupted {
		t.Fatalf("got %s, %v; want a question", res.Status, err)
	}
	return g, bk, res.Interrupts[0].ID
}

func TestApprove_AsksAgainForAnotherOffer(t *testing.T) {
	g, bk, asked := begin(t)
	dearer := func(o *Order) error { o.Chosen.Set(Offer{"acme", 990}); return nil }
	if _, err := g.Patch(t.Context(), dearer, graph.RunOptions{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	res, err := g.Resume(t.Context(), graph.Answer(asked, true), graph.RunOptions{Thread: "t"})
	if err != nil || res.Status != graph.Interrupted || res.Interrupts[0].Prompt != "Pay 990 € to acme?" {
		t.Errorf("got %s %v, %v; want the question of the new price", res.Status, res.Interrupts, err)
	}
	if len(bk.charges) != 0 {
		t.Errorf("charged %v without a yes", bk.charges)
	}
}

func TestAnswer_OfAnotherBranchIsRefused(t *testing.T) {
	g, bk, asked := begin(t)
	avoid := graph.Edit[Order]{Do: func(o *Order) (graph.Command, error) { o.Avoid.Add("acme"); return graph.Command{}, nil }}
	if _, err := g.UpdateAndResume(t.Context(), avoid, graph.Answers{}, graph.RunOptions{Thread: "t", At: 3}); err != nil {
		t.Fatal(err)
	}
	_, err := g.Resume(t.Context(), graph.Answer(asked, true), graph.RunOptions{Thread: "t"})
	if !errors.Is(err, graph.ErrUnknownQuestion) || len(bk.charges) != 0 {
		t.Errorf("got %v and charges %v; want the answer refused", err, bk.charges)
	}
}

func TestHistory_HasTheReasonOfARoute(t *testing.T) {
	g, _, _ := begin(t)
	_, p, err := g.Thread("t").State(t.Context(), 0)
	if err != nil || p.Ran[0].Node != "choose" || p.Ran[0].Ways[0].Why != "150 € is more than 100 €" {
		t.Errorf("got %v, %v", p.Ran, err)
	}
}

func TestApprove_RunsWithoutTheRuntime(t *testing.T) {
	o := Order{Chosen: state.Of(Offer{"bolt", 180})}
	for answer, want := range map[bool]graph.Command{
		true:  graph.Goto("charge").WithReason("the manager said yes"),
		false: graph.Goto(graph.End),
	} {
		got, err := approve(graph.Rehearse(context.Background(), answer), &o)
		if err != nil || got.String() != want.String() {
			t.Errorf("approve with %v: %s, %v, want %s", answer, got, err, want)
		}
	}
}
