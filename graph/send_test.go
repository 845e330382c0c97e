package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// parcel is a payload of several types.
type parcel struct {
	Name  string         `json:"name"`
	Big   uint64         `json:"big"`
	Parts []int          `json:"parts"`
	More  map[string]any `json:"more"`
}

func (p parcel) String() string { return fmt.Sprint(p.Name, p.Big, p.Parts, p.More) }

var parcels = []parcel{
	{Name: "z", Big: 1<<64 - 1, Parts: []int{3, 1}, More: map[string]any{"k": "v"}},
	{Name: "ü\u2028\"", Big: 0},
	{Name: "", Parts: []int{}},
}

// post is a graph in which a and b send parcels to two workers, which log them.
func post(work func(ctx context.Context, s *world, p parcel) error) *graph.Builder[world] {
	b := graph.New[world]("post")
	b.Node("a", goes("a", graph.Send("w", parcels[0]).Send("v", 7).Send("w", parcels[1]), "w", "v"))
	b.Node("b", goes("b", graph.Send("w", parcels[2]).Goto("c"), "w", "c"))
	b.Node("c", logs("c"))
	b.Node("v", graph.Worker(func(_ context.Context, s *world, n int) error {
		s.Log.Append(fmt.Sprint("v", n))
		return nil
	}))
	b.Node("w", graph.Worker(func(ctx context.Context, s *world, p parcel) error {
		if err := work(ctx, s, p); err != nil {
			return err
		}
		s.Log.Append(p.String())
		return nil
	}))
	b.Edge(graph.Start, "a")
	b.Edge(graph.Start, "b")
	for _, name := range []string{"c", "v", "w"} {
		b.Edge(name, graph.End)
	}
	return b
}

// posted is the log of post when all is done: nodes by name, then Sends by emitter and
// place.
var posted = strings.Join([]string{"a", "b", "c", parcels[0].String(), "v7", parcels[1].String(), parcels[2].String()}, " ")

// Requirement: One order
func TestSends_RunInTheOrderSent(t *testing.T) {
	works := func(context.Context, *world, parcel) error { return nil }
	logged(t, invoke(t, build(t, post(works), graph.Config{}), "", graph.Done), posted)
}

func TestPayload_SurvivesAResumeInAnotherProcess(t *testing.T) {
	fails := func(_ context.Context, _ *world, p parcel) error { return errors.New("not now") }
	works := func(_ context.Context, _ *world, p parcel) error {
		if !slices.ContainsFunc(parcels, func(q parcel) bool { return p.String() == q.String() }) {
			return fmt.Errorf("got the payload %v", p)
		}
		return nil
	}
	cfg := stored()
	if _, err := build(t, post(fails), cfg).Invoke(ctx, world{}, t1); err == nil {
		t.Fatal("the run did not fail")
	}
	res, err := build(t, post(works), cfg).Resume(ctx, graph.Answers{}, t1)
	logged(t, ended(t, graph.Done, res, err), posted)
}

func TestPayload_OfTheWrongTypeIsAnError(t *testing.T) {
	for _, payload := range []any{"7", int64(7), nil, (*int)(nil), []int{7}} {
		b := sound()
		b.Node("r", goes("r", graph.Send("w", payload), "w"))
		b.Edge(graph.Start, "r")
		_, err := build(t, b, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
		if err == nil || !strings.Contains(err.Error(), `node "r"`) || !strings.Contains(err.Error(), "int") {
			t.Errorf("a payload %#v gives %v, want an error that names node and type", payload, err)
		}
	}
}

func TestGoto_AWorkerIsAnError(t *testing.T) {
	b := sound()
	b.Node("r", goes("r", graph.Goto("w"), "w"))
	b.Edge(graph.Start, "r")
	_, err := build(t, b, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
	is(t, err, graph.ErrTarget, "Worker", "Send")
}

func TestPayload_ThatCannotBeStoredIsAnError(t *testing.T) {
	b := graph.New[world]("chan")
	b.Node("r", goes("r", graph.Send("w", make(chan int)), "w"))
	b.Node("w", graph.Worker(func(context.Context, *world, chan int) error { return nil }))
	b.Edge(graph.Start, "r")
	b.Edge("w", graph.End)
	_, err := build(t, b, stored()).Invoke(ctx, world{}, t1)
	if err == nil || !strings.Contains(err.Error(), `Send to "w"`) {
		t.Errorf("got %v, want an error that names the Worker", err)
	}
}

// volatile is a payload whose own code panics.
type volatile struct{}

func (volatile) MarshalJSON() ([]byte, error) { panic("in MarshalJSON") }

func TestPayload_PanicInItsCodeIsAnError(t *testing.T) {
	b := graph.New[world]("volatile")
	b.Node("r", goes("r", graph.Send("w", volatile{}), "w"))
	b.Node("w", graph.Worker(func(context.Context, *world, volatile) error { return nil }))
	b.Edge(graph.Start, "r")
	b.Edge("w", graph.End)
	res, err := build(t, b, stored()).Invoke(ctx, world{}, t1)
	var p *graph.PanicError
	if !errors.As(err, &p) || res.Status != graph.Failed {
		t.Errorf("got %q, %v, want a *PanicError", res.Status, err)
	}
}

// Requirement: Inline or pool
func TestSends_ManyKeepTheirOrderAndTheBound(t *testing.T) {
	const n, bound = 500, 7
	b := graph.New[world]("many")
	b.Node("r", graph.Router(func(context.Context, *world) (c graph.Command, err error) {
		for i := range n {
			c = c.Send("w", i)
		}
		return c, nil
	}, "w"))
	running := make(chan int, bound) // its room is the bound: one more would block and fail
	b.Node("w", graph.Worker(func(_ context.Context, s *world, i int) error {
		select {
		case running <- i:
		default:
			return errors.New("more tasks at once than Concurrency allows")
		}
		s.Log.Append(fmt.Sprint(i))
		<-running
		return nil
	}))
	b.Edge(graph.Start, "r")
	b.Edge("w", graph.End)
	res := invoke(t, build(t, b, graph.Config{Concurrency: bound}), "", graph.Done)
	for i, got := range res.State.Log.All() {
		if got != fmt.Sprint(i) {
			t.Fatalf("place %d of the log is %s, want the order of the Sends", i, got)
		}
	}
}

// TestSend_OfNothing sends nil to a Worker that takes any value, with and without a
// store between.
func TestSend_OfNothing(t *testing.T) {
	b := graph.New[small]("nil")
	b.Node("send", graph.Router(func(context.Context, *small) (graph.Command, error) {
		return graph.Send("take", nil), nil
	}, "take"))
	b.Node("take", graph.Worker(func(_ context.Context, s *small, payload any) error {
		s.Facts.Append(fmt.Sprint(payload))
		return nil
	}))
	b.Edge(graph.Start, "send")
	b.Edge("take", graph.End)
	g, err := b.Compile(graph.Config{Store: new(checkpoint.Memory), InterruptBefore: []string{"take"}})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := g.Invoke(t.Context(), small{}, graph.RunOptions{Thread: "t"}); err != nil || res.Status != graph.Interrupted {
		t.Fatal(res.Status, err)
	}
	res, err := g.Resume(t.Context(), graph.Answers{}, graph.RunOptions{Thread: "t"})
	if err != nil || res.State.Facts.Len() != 1 || res.State.Facts.At(0) != "<nil>" {
		t.Errorf("got %v, %v", res.State.Facts, err)
	}
}
