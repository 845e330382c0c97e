package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

type ordersV1 struct {
	Orders state.List[string] `json:"orders"`
	Total  state.Sum[int]     `json:"total"`
}

type ordersV2 struct {
	Orders state.List[order] `json:"orders" weft:"version=2"`
	Cents  state.Sum[int]    `json:"cents" weft:"version=2,was=total"`
}

type order struct {
	Item string `json:"item"`
}

var ordersMigrate = map[string]state.Migration{
	"orders": func(_ int, old json.RawMessage) (json.RawMessage, error) {
		var items []string
		if err := json.Unmarshal(old, &items); err != nil {
			return nil, err
		}
		orders := make([]order, len(items))
		for i, item := range items {
			orders[i].Item = item
		}
		return json.Marshal(orders)
	},
	"cents": func(_ int, old json.RawMessage) (json.RawMessage, error) {
		var euros int
		err := json.Unmarshal(old, &euros)
		return fmt.Append(nil, 100*euros), err
	},
}

// oldShop takes an order and asks; beside it another node orders too.
func oldShop(t *testing.T, store checkpoint.Store) *graph.Graph[ordersV1] {
	b := graph.New[ordersV1]("shop")
	b.Node("take", graph.Func(func(_ context.Context, s *ordersV1) error { s.Orders.Append("tea"); s.Total.Add(3); return nil }))
	b.Node("ask", graph.Func(func(ctx context.Context, s *ordersV1) error {
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Anything else?"})
		return err
	}))
	b.Edge(graph.Start, "take")
	b.Edge("take", "ask")
	b.Edge("ask", graph.End)
	return build(t, b, graph.Config{Store: store})
}

func newShop(t *testing.T, store checkpoint.Store, cfg graph.Config) *graph.Graph[ordersV2] {
	b := graph.New[ordersV2]("shop")
	b.Node("take", graph.Func(func(_ context.Context, s *ordersV2) error { s.Orders.Append(order{"tea"}); return nil }))
	b.Node("ask", graph.Func(func(ctx context.Context, s *ordersV2) error {
		more, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Anything else?"})
		if more {
			s.Orders.Append(order{"cake"})
			s.Cents.Add(450)
		}
		return err
	}))
	b.Edge(graph.Start, "take")
	b.Edge("take", "ask")
	b.Edge("ask", graph.End)
	cfg.Store = store
	return build(t, b, cfg)
}

// Requirement: New code continues old threads
func TestMigrate_NewProgramContinuesAnOldThread(t *testing.T) {
	store := new(checkpoint.Memory)
	asked, err := oldShop(t, store).Invoke(t.Context(), ordersV1{}, graph.RunOptions{Thread: "t1"})
	if err != nil || asked.Status != graph.Interrupted {
		t.Fatalf("got %v, %v", asked.Status, err)
	}
	g := newShop(t, store, graph.Config{Migrate: ordersMigrate})
	if s, _, err := g.Thread("t1").State(t.Context(), 1); err != nil || s.Orders.Len() != 0 {
		t.Errorf("commit 1 has %v, %v", s.Orders, err)
	}
	res, err := g.Resume(t.Context(), graph.Answer(asked.Interrupts[0].ID, true), graph.RunOptions{Thread: "t1"})
	if err != nil || res.Status != graph.Done || res.State.Orders.String() != `[{"item":"tea"},{"item":"cake"}]` || res.State.Cents.Get() != 750 {
		t.Errorf("it ends with %v, %v, %v", res.State.Orders, res.State.Cents, err)
	}
	_, err = oldShop(t, store).Invoke(t.Context(), ordersV1{}, graph.RunOptions{Thread: "t1"})
	if !errors.Is(err, checkpoint.ErrNewerSchema) {
		t.Errorf("the old program then gets %v, want an ErrNewerSchema", err)
	}
}

func TestMigrate_WritesOfAnOldTaskAreNotTakenForNew(t *testing.T) {
	store := new(checkpoint.Memory)
	b := graph.New[ordersV1]("shop")
	b.Node("take", graph.Func(func(_ context.Context, s *ordersV1) error { s.Orders.Append("tea"); return nil }))
	b.Node("ask", graph.Func(func(ctx context.Context, s *ordersV1) error {
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Anything else?"})
		return err
	}))
	b.Edge(graph.Start, "take")
	b.Edge(graph.Start, "ask")
	b.Edge("take", graph.End)
	b.Edge("ask", graph.End)
	asked, err := build(t, b, graph.Config{Store: store}).Invoke(t.Context(), ordersV1{}, graph.RunOptions{Thread: "t1"})
	if err != nil || asked.Status != graph.Interrupted {
		t.Fatalf("got %v, %v", asked.Status, err)
	}
	n := graph.New[ordersV2]("shop")
	n.Node("take", graph.Func(func(context.Context, *ordersV2) error { return nil }))
	n.Node("ask", graph.Func(func(ctx context.Context, _ *ordersV2) error {
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Anything else?"})
		return err
	}))
	n.Edge(graph.Start, "take")
	n.Edge(graph.Start, "ask")
	n.Edge("take", graph.End)
	n.Edge("ask", graph.End)
	g := build(t, n, graph.Config{Store: store, Migrate: ordersMigrate})
	_, err = g.Resume(t.Context(), graph.Answer(asked.Interrupts[0].ID, true), graph.RunOptions{Thread: "t1"})
	if !errors.Is(err, graph.ErrProgram) || !strings.Contains(err.Error(), `"orders" at version 1`) {
		t.Errorf("got %v, want an ErrProgram that names the field", err)
	}
	res, err := g.Invoke(t.Context(), ordersV2{}, graph.RunOptions{Thread: "t1", OnOpenQuestions: graph.Discard})
	if err != nil || res.Status != graph.Interrupted {
		t.Errorf("a new turn gives %v, %v", res.Status, err)
	}
}

// Requirement: New code continues old threads
func TestMigrate_IsCheckedAtCompile(t *testing.T) {
	keep := func(_ int, old json.RawMessage) (json.RawMessage, error) { return old, nil }
	b := graph.New[ordersV2]("shop")
	b.Node("n", graph.Func(func(context.Context, *ordersV2) error { return nil }))
	b.Edge(graph.Start, "n")
	b.Edge("n", graph.End)
	_, err := b.Compile(graph.Config{Migrate: map[string]state.Migration{"order": keep, "cents": keep}})
	var ce *graph.CompileError
	if !errors.As(err, &ce) || len(ce.Mistakes) != 2 {
		t.Fatalf("got %v, want two mistakes", err)
	}
	for i, want := range []string{`unknown field "order"`, "orders: it is at version 2 and has no migration"} {
		if m := ce.Mistakes[i]; !strings.Contains(m.What, want) || !strings.Contains(m.Pos, "migrate_test.go") {
			t.Errorf("mistake %d is %v, want %q with its place", i, m, want)
		}
	}
}

func TestSealed_StoreIsAllAGraphNeeds(t *testing.T) {
	keys := &checkpoint.Keys{Current: "k", Ring: map[string][]byte{"k": checkpoint.NewKey()}}
	inside := new(checkpoint.Memory)
	store, err := checkpoint.Sealed(inside, checkpoint.Codec{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	g := oldShop(t, store)
	asked, err := g.Invoke(t.Context(), ordersV1{}, graph.RunOptions{Thread: "t1"})
	if err != nil || asked.Status != graph.Interrupted {
		t.Fatalf("got %v, %v", asked.Status, err)
	}
	n := 0
	for p, err := range graph.History(t.Context(), store, checkpoint.Key{Thread: "t1"}, checkpoint.Query{}) {
		if n++; err != nil || p.Graph != "shop" {
			t.Errorf("history has %+v, %v", p, err)
		}
	}
	for p, err := range graph.Threads(t.Context(), store, checkpoint.ThreadQuery{}) {
		if n++; err != nil || p.Status != graph.Interrupted || p.Interrupts[0].Prompt != "Anything else?" {
			t.Errorf("threads have %+v, %v", p, err)
		}
	}
	if n != 3 {
		t.Errorf("there are %d points, want two commits and one thread", n)
	}
	if _, err := graph.Inspect(t.Context(), inside, checkpoint.Key{Thread: "t1"}); !errors.Is(err, checkpoint.ErrKey) {
		t.Errorf("without the key Inspect gives %v, want an ErrKey", err)
	}
	if _, err := oldShop(t, inside).Resume(t.Context(), graph.Answer(asked.Interrupts[0].ID, true), graph.RunOptions{Thread: "t1"}); !errors.Is(err, checkpoint.ErrKey) {
		t.Errorf("without the key Resume gives %v, want an ErrKey", err)
	}
	if err := graph.MarkSeen(t.Context(), store, "t1", asked.Interrupts[0].ID); err != nil {
		t.Error(err)
	}
	res, err := g.Resume(t.Context(), graph.Answer(asked.Interrupts[0].ID, true), graph.RunOptions{Thread: "t1"})
	if err != nil || res.Status != graph.Done || res.State.Total.Get() != 3 {
		t.Errorf("it ends with %v, %v, %v", res.Status, res.State, err)
	}
	if s, _, err := g.Thread("t1").State(t.Context(), 0); err != nil || s.Total.Get() != 3 {
		t.Errorf("the state is %v, %v", s, err)
	}
}
