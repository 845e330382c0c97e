package graph_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/storetest"
	"github.com/weftrun/weft/state"
)

// turns is the state of a graph that goes round.
type turns struct {
	N state.Sum[int] `json:"n"`
}

// round makes steps of a node that calls at with the number of each.
func round(steps int, at func(ctx context.Context, n int) error) *graph.Builder[turns] {
	b := graph.New[turns]("round")
	b.Node("go", graph.Router(func(ctx context.Context, s *turns) (graph.Command, error) {
		s.N.Add(1)
		if err := at(ctx, s.N.Get()); err != nil || s.N.Get() < steps {
			return graph.Goto("go"), err
		}
		return graph.Goto(graph.End), nil
	}, "go", graph.End))
	b.Edge(graph.Start, "go")
	return b
}

// numbers lists the commits of thread t1, newest first.
func numbers(t testing.TB, store checkpoint.Store) (list []uint64) {
	t.Helper()
	for p, err := range graph.History(ctx, store, checkpoint.Key{Thread: "t1"}, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p.Checkpoint)
	}
	return list
}

func TestKeep_StoresTheNewestCommits(t *testing.T) {
	storetest.Room(t, new(checkpoint.Memory))
	for _, d := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
		cfg := stored()
		cfg.Keep = checkpoint.Keep{Last: 3}
		res, err := build(t, round(200, func(context.Context, int) error { return nil }), cfg).Invoke(ctx, turns{}, graph.RunOptions{Thread: "t1", Durability: d})
		if err != nil || res.State.N.Get() != 200 {
			t.Fatalf("%v: got %d, %v", d, res.State.N.Get(), err)
		}
		if list := numbers(t, cfg.Store); len(list) > 3+64 || list[0] != res.Checkpoint {
			t.Errorf("%v: %d commits are stored, from %d on", d, len(list), list[0])
		}
	}
}

// slowDrops is a store whose drops wait, and then fail.
type slowDrops struct {
	*checkpoint.Memory
	began, goOn chan struct{}
}

func (s slowDrops) Drop(ctx context.Context, d checkpoint.Drop) error {
	s.began <- struct{}{}
	<-s.goOn
	return errors.New("not now")
}

func TestPrune_RunsBesideTheNextStepAndMayFail(t *testing.T) {
	s := slowDrops{new(checkpoint.Memory), make(chan struct{}), make(chan struct{})}
	at := func(_ context.Context, n int) error {
		if n == 64 { // commit 64 is that of step 63
			<-s.began
			s.goOn <- struct{}{} // which only a step that runs beside it can say
		}
		return nil
	}
	res, err := build(t, round(70, at), graph.Config{Store: s, Keep: checkpoint.Keep{Last: 1}}).Invoke(ctx, turns{}, t1)
	if err != nil || res.Status != graph.Done || len(numbers(t, s)) != 71 {
		t.Errorf("got %v, %v and %d commits, want a run that is done and all of its commits", res.Status, err, len(numbers(t, s)))
	}
}

func TestPrune_MarkedStayAndAPanicKeepsAll(t *testing.T) {
	cfg := stored()
	cfg.Keep = checkpoint.Keep{Marked: func(s checkpoint.Snapshot) bool { return s.Labels["step"] == "7" }}
	idle := func(context.Context, int) error { return nil }
	if _, err := build(t, round(63, idle), cfg).Invoke(ctx, turns{}, t1); err != nil {
		t.Fatal(err)
	}
	if list := numbers(t, cfg.Store); len(list) != 2 || list[0] != 64 || list[1] != 8 {
		t.Errorf("commits %v are stored, want the newest and the one that is marked", list)
	}
	cfg = stored()
	cfg.Keep = checkpoint.Keep{Marked: func(checkpoint.Snapshot) bool { panic("in Marked") }}
	if _, err := build(t, round(63, idle), cfg).Invoke(ctx, turns{}, t1); err != nil || len(numbers(t, cfg.Store)) != 64 {
		t.Errorf("got %v and %d commits, want all 64", err, len(numbers(t, cfg.Store)))
	}
}

func TestKeep_ForUsesTheClockOfTheGraph(t *testing.T) {
	c := &clock{time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	cfg := stored()
	cfg.Now, cfg.Keep = c.read, checkpoint.Keep{For: 10 * time.Minute}
	tick := func(context.Context, int) error { c.now = c.now.Add(time.Minute); return nil }
	if _, err := build(t, round(63, tick), cfg).Invoke(ctx, turns{}, t1); err != nil {
		t.Fatal(err)
	}
	if list := numbers(t, cfg.Store); len(list) != 11 {
		t.Errorf("%d commits are stored of one a minute, want those of 10 minutes", len(list))
	}
}

func TestKeep_ImpossibleIsAMistake(t *testing.T) {
	for name, cfg := range map[string]graph.Config{
		"negative":    {Store: new(checkpoint.Memory), Keep: checkpoint.Keep{Last: -1}},
		"with fence":  {Store: new(checkpoint.Memory), Keep: checkpoint.Keep{Last: 1, Fence: "f"}},
		"no dropper":  {Store: struct{ checkpoint.Store }{new(checkpoint.Memory)}, Keep: checkpoint.Keep{Last: 1}},
		"no store at": {Keep: checkpoint.Keep{For: time.Hour}},
	} {
		if _, err := round(1, func(context.Context, int) error { return nil }).Compile(cfg); err == nil {
			t.Errorf("%s: compiles", name)
		}
	}
}
