package graph_test

// The rows of LangGraph's tests that are about checkpoints, in Weft's terms. The numbers are
// those of the specification that Weft was built to.

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// Requirement: New input, new turn
func TestInput_RecoversAThreadThatFailed(t *testing.T) {
	for d, want := range map[graph.Durability]string{
		graph.Sync:  "1 input; 2 step a; 3 input; 4 step a; 5 step b",
		graph.Async: "1 input; 2 step a; 3 input; 4 step a; 5 step b",
		graph.Exit:  "1 step a; 2 step b",
	} {
		t.Run(d.String(), func(t *testing.T) {
			broken := true
			cfg := stored()
			b := graph.New[world]("recovers")
			line(b, "a")
			b.Node("b", graph.Func(func(_ context.Context, s *world) error {
				if s.Log.Append("b"); broken {
					return errBoom
				}
				return nil
			}))
			b.Edge("a", "b")
			b.Edge("b", graph.End)
			g := build(t, b, cfg)
			o := graph.RunOptions{Thread: "t1", Durability: d}
			_, err := g.Invoke(ctx, world{}, o)
			is(t, err, errBoom)
			p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"})
			if err != nil || len(p.Failures) != 1 || p.Failures[0].Node != "b" || p.Failures[0].Message != "boom" {
				t.Errorf("the failed thread is %+v, %v", p, err)
			}
			broken = false
			res, err := g.Invoke(ctx, world{}, o)
			logged(t, ended(t, graph.Done, res, err), "a a b") // the first b is no part of the new turn
			if got := tree(t, cfg); got != want {
				t.Errorf("the history is %q, want %q", got, want)
			}
			if p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); err != nil || len(p.Failures) != 0 {
				t.Errorf("the recovered thread is %+v, %v", p, err)
			}
			if err := cfg.Store.Delete(ctx, "t1"); err != nil {
				t.Fatal(err)
			}
			noThread(t, g, cfg.Store)
		})
	}
}

// noThread fails the test if anything is left of t1.
func noThread(t *testing.T, g *graph.Graph[world], store checkpoint.Store) {
	t.Helper()
	_, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: "t1"})
	is(t, err, graph.ErrUnknownThread)
	_, _, err = g.Thread("t1").State(ctx, 0)
	is(t, err, graph.ErrUnknownThread)
	_, err = g.Resume(ctx, graph.Answers{}, t1)
	is(t, err, graph.ErrUnknownThread)
	_, err = graph.Namespaces(ctx, store, "t1")
	is(t, err, graph.ErrUnknownThread)
	n := 0
	for _, err := range graph.History(ctx, store, checkpoint.Key{Thread: "t1"}, checkpoint.Query{}) {
		is(t, err, graph.ErrUnknownThread)
		n++
	}
	if n != 1 {
		t.Errorf("the history yields %d times, want one error", n)
	}
	for p, err := range graph.Threads(ctx, store, checkpoint.ThreadQuery{}) {
		t.Errorf("listed is %+v, %v", p, err)
	}
}

// countingStore is a store that counts its calls by name, and fails those of one name.
type countingStore struct {
	*checkpoint.Memory
	counter
	bad string
}

func (c *countingStore) call(name string) error {
	if c.add(name); name == c.bad {
		return errFault
	}
	return nil
}

func (c *countingStore) Load(ctx context.Context, k checkpoint.Key, seq uint64) (checkpoint.Snapshot, error) {
	if err := c.call("Load"); err != nil {
		return checkpoint.Snapshot{}, err
	}
	return c.Memory.Load(ctx, k, seq)
}

func (c *countingStore) History(ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
	if err := c.call("History"); err != nil {
		return func(yield func(checkpoint.Snapshot, error) bool) { yield(checkpoint.Snapshot{}, err) }
	}
	return c.Memory.History(ctx, k, q)
}

func (c *countingStore) Namespaces(ctx context.Context, thread string) ([]string, error) {
	if err := c.call("Namespaces"); err != nil {
		return nil, err
	}
	return c.Memory.Namespaces(ctx, thread)
}

func (c *countingStore) Put(ctx context.Context, p checkpoint.Pending) error {
	if err := c.call("Put"); err != nil {
		return err
	}
	return c.Memory.Put(ctx, p)
}

func (c *countingStore) Acquire(ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	if err := c.call("Acquire"); err != nil {
		return checkpoint.Lease{}, err
	}
	return c.Memory.Acquire(ctx, r)
}

func (c *countingStore) Release(ctx context.Context, thread, fence string) error {
	if err := c.call("Release"); err != nil {
		return err
	}
	return c.Memory.Release(ctx, thread, fence)
}

// Requirement: Commit before the next step
func TestStoreFailures_AreReturned(t *testing.T) {
	for _, d := range durabilities {
		for _, bad := range []string{"Load", "History", "Namespaces", "Put", "Acquire", "Release"} {
			t.Run(d.String()+" "+bad, func(t *testing.T) {
				var ran counter
				store := &countingStore{Memory: new(checkpoint.Memory)}
				g := build(t, parallel(map[string]graph.Node[world]{"a": asks("a", &ran, "x")}), graph.Config{Store: store})
				o := graph.RunOptions{Thread: "t1", Durability: d}
				res, err := g.Invoke(ctx, world{}, o)
				ended(t, graph.Interrupted, res, err)
				store.bad = bad
				failed := map[string]error{}
				_, failed["Inspect"] = graph.Inspect(ctx, store, checkpoint.Key{Thread: "t1"})
				_, failed["Namespaces"] = graph.Namespaces(ctx, store, "t1")
				_, _, failed["State"] = g.Thread("t1").State(ctx, 0)
				_, failed["Invoke"] = g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t2", Durability: d})
				_, failed["Resume"] = g.Resume(ctx, graph.Reply("1"), o)
				store.bad = ""
				fails := map[string]string{"Load": "State Invoke Resume", "History": "Inspect", "Namespaces": "Namespaces",
					"Put": "Invoke Resume", "Acquire": "Invoke Resume", "Release": "Invoke Resume"}[bad]
				for name, err := range failed {
					if strings.Contains(fails, name) {
						is(t, err, errFault)
					} else if err != nil {
						t.Errorf("%s gives %v", name, err)
					}
				}
			})
		}
	}
}

func TestHistory_ByNumberAndByContent(t *testing.T) {
	var ran counter
	cfg := stored()
	g := chainOf(t, &ran, cfg, "a", "b", "c")
	for _, who := range []string{"ann", "bob"} { // commits 1 to 4, and 5 to 8
		res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Metadata: map[string]string{"who": who}})
		ended(t, graph.Done, res, err)
	}
	where := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for _, c := range []struct {
		q    checkpoint.Query
		want string
	}{
		{checkpoint.Query{}, "8 7 6 5 4 3 2 1"},
		{checkpoint.Query{Limit: 2}, "8 7"},
		{checkpoint.Query{Before: 3}, "2 1"},
		{checkpoint.Query{Before: 8, Limit: 3}, "7 6 5"},
		{checkpoint.Query{Before: 1}, ""},
		{checkpoint.Query{Where: where("source", "input")}, "5 1"},
		{checkpoint.Query{Where: where("who", "ann")}, "4 3 2 1"},
		{checkpoint.Query{Where: where("who", "ann", "source", "step")}, "4 3 2"},
		{checkpoint.Query{Where: where("who", "bob", "step", "5")}, "7"},
		{checkpoint.Query{Where: where("turn", "2"), Limit: 1, Before: 8}, "7"},
		{checkpoint.Query{Where: where("who", "an")}, ""},
		{checkpoint.Query{Where: where("whom", "ann")}, ""},
	} {
		var got []string
		for p, err := range graph.History(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}, c.q) {
			if is(t, err, nil); len(p.Nodes()) > 1 || p.Graph != "chain" {
				t.Errorf("the commit is reported as %+v", p)
			}
			got = append(got, fmt.Sprint(p.Checkpoint))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v selects %v, want %s", c.q, got, c.want)
		}
	}
}

// sparse is a store that returns none if a head has no pending writes.
type sparse struct {
	checkpoint.Store
	none []checkpoint.Entry
}

func (s sparse) Load(ctx context.Context, k checkpoint.Key, seq uint64) (checkpoint.Snapshot, error) {
	snap, err := s.Store.Load(ctx, k, seq)
	if len(snap.Pending) == 0 {
		snap.Pending = s.none
	}
	return snap, err
}

func TestPending_MayBeNilOrEmpty(t *testing.T) {
	for name, none := range map[string][]checkpoint.Entry{"nil": nil, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			var ran counter
			cfg := graph.Config{Store: sparse{new(checkpoint.Memory), none}, InterruptBefore: []string{"b"}}
			b := graph.New[world]("sparse")
			line(b, "a", "b")
			b.Node("c", asks("c", &ran, "x"))
			b.Edge("b", "c")
			b.Edge("c", graph.End)
			g := build(t, b, cfg)
			for range 2 {
				pauses(t, invoke(t, g, "t1", graph.Interrupted), "before:b")
				asked(t, resume(t, g, graph.Answers{}, graph.Interrupted), "x")
				resume(t, g, graph.Reply("1"), graph.Done)
				resume(t, g, graph.Answers{}, graph.Done)
			}
			if got := logAt(t, g, 0); got != "a b c x=1 a b c x=1" {
				t.Errorf("the log is %q", got)
			}
		})
	}
}

// slow is a store whose commits take their time, each another one.
type slow struct {
	*checkpoint.Memory
	n int
}

func (s *slow) Commit(ctx context.Context, c checkpoint.Commit) error {
	for range (s.n * 7) % 50 {
		runtime.Gosched()
	}
	s.n++
	return s.Memory.Commit(ctx, c)
}

// Requirement: Durability bounds the loss of a crash
func TestAsync_NewestCommitIsTheLastOne(t *testing.T) {
	const steps = 20
	store := &slow{Memory: new(checkpoint.Memory)}
	b := graph.New[world]("async")
	b.Node("n", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		s.Log.Append(fmt.Sprint(s.Log.Len()))
		if s.Tries.Add(1); s.Tries.Get() < 7+steps {
			return graph.Goto("n"), nil
		}
		return graph.Goto(graph.End), nil
	}, "n", graph.End))
	b.Edge(graph.Start, "n")
	g := build(t, b, graph.Config{Store: store})
	for turn := 1; turn <= 10; turn++ {
		res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: graph.Async})
		ended(t, graph.Done, res, err)
		s, p, err := g.Thread("t1").State(ctx, 0)
		if err != nil || p.Step != turn*steps || s.Log.Len() != turn*steps || p.Checkpoint != res.Checkpoint || p.Status != graph.Done {
			t.Fatalf("turn %d: the newest commit is %+v with %d words, %v; the run ended at %d", turn, p, s.Log.Len(), err, res.Checkpoint)
		}
	}
	next := uint64(10 * (steps + 1))
	for p, err := range graph.History(ctx, store, checkpoint.Key{Thread: "t1"}, checkpoint.Query{}) {
		if err != nil || p.Checkpoint != next {
			t.Fatalf("the history goes on with %d, %v; want %d", p.Checkpoint, err, next)
		}
		if got := len(strings.Fields(logAt(t, g, next))); got != p.Step {
			t.Errorf("commit %d holds %d words after step %d", next, got, p.Step)
		}
		next--
	}
	if next != 0 {
		t.Errorf("the history ends before commit %d", next)
	}
}

func TestExpire_LeavesNothingOfAThread(t *testing.T) {
	c := &clock{time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	store := &countingStore{Memory: &checkpoint.Memory{Now: c.read}}
	var ran counter
	sub := child(t, &ran, graph.Config{}, func(ctx context.Context, s *inner) error {
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "q"})
		return err
	})
	g := build(t, parallel(map[string]graph.Node[world]{"a": logs("a"), "in": hosts(sub, "", nil)}), graph.Config{Store: store})
	for range 10 {
		invoke(t, g, "t1", graph.Interrupted)
		resume(t, g, graph.Reply(true), graph.Done)
	}
	invoke(t, g, "t1", graph.Interrupted) // results, a question and a child are pending
	if err := store.Expire(ctx, "t1", time.Hour); err != nil {
		t.Fatal(err)
	}
	c.now = c.now.Add(59 * time.Minute)
	if p, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: "t1"}); err != nil || p.Status != graph.Interrupted {
		t.Errorf("before its end the thread is %+v, %v", p, err)
	}
	c.now = c.now.Add(2 * time.Minute)
	before := store.of("History") + store.of("Load") + store.of("Namespaces")
	noThread(t, g, store)
	if n := store.of("History") + store.of("Load") + store.of("Namespaces") - before; n > 5 {
		t.Errorf("to find nothing took %d calls of the store, want one for each question", n)
	}
	res := invoke(t, g, "t1", graph.Interrupted) // a new thread of the same name
	if p, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: "t1"}); err != nil || p.Turn != 1 || res.Checkpoint != 1 {
		t.Errorf("the new thread begins as %+v, %v, at commit %d", p, err, res.Checkpoint)
	}
	logged(t, resume(t, g, graph.Reply(true), graph.Done), "a c1 c2 c3")
}
