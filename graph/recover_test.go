package graph_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// forgetful is a store that can lose the newest commits of t1.
type forgetful struct {
	checkpoint.Store
	mu sync.Mutex // guards which store it is
}

func (f *forgetful) now() checkpoint.Store {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Store
}

func (f *forgetful) Commit(ctx context.Context, c checkpoint.Commit) error {
	return f.now().Commit(ctx, c)
}

func (f *forgetful) Put(ctx context.Context, p checkpoint.Pending) error { return f.now().Put(ctx, p) }

// forget lets t1 be as it was after commit number left, or not be at all.
func (f *forgetful) forget(t testing.TB, left uint64) {
	old, held := new(checkpoint.Memory), map[string]bool{}
	for seq := uint64(1); seq <= left; seq++ {
		snap, err := f.Store.Load(ctx, checkpoint.Key{Thread: "t1"}, seq)
		if err != nil {
			t.Error(err)
		}
		c := checkpoint.Commit{Key: snap.Key, ID: snap.ID, Head: seq - 1, Header: snap.Header, Refs: snap.Refs, Labels: snap.Labels}
		for _, b := range snap.Blobs {
			if name := fmt.Sprint(b.Field, b.Base, b.Chunk); !held[name] {
				c.Blobs, held[name] = append(c.Blobs, b), true
			}
		}
		if err := old.Commit(ctx, c); err != nil {
			t.Error(err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Store = old
}

// losing is a chain n1 to n6; while n4 runs the store loses all but the first commits.
func losing(t testing.TB, f *forgetful, left uint64, beside bool) *graph.Graph[world] {
	b := graph.New[world]("losing")
	from := graph.Start
	for i := range 6 {
		name := fmt.Sprint("n", i+1)
		b.Node(name, graph.Func(func(ctx context.Context, s *world) error {
			if name == "n4" {
				f.forget(t, left)
			}
			if name == "n4" && beside {
				if _, err := graph.Once(ctx, "k", func(context.Context) (int, error) { return 1, nil }); err != nil {
					return err
				}
			}
			s.Log.Append(name)
			s.Seen.Put(name, i)
			return nil
		}))
		b.Edge(from, name)
		from = name
	}
	b.Edge(from, graph.End)
	return build(t, b, graph.Config{Store: f})
}

// Requirement: A store may lose its newest commits
// Requirement: a failover loses acknowledged commits
func TestRun_RecoversAStoreThatLostItsTail(t *testing.T) {
	for left := range uint64(4) {
		for i := range 4 {
			beside, durability := i%2 == 1, durabilities[i/2]
			f := &forgetful{Store: new(checkpoint.Memory)}
			g := losing(t, f, left, beside)
			res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: durability})
			logged(t, ended(t, graph.Done, res, err), "n1 n2 n3 n4 n5 n6")
			s, p, err := g.Thread("t1").State(ctx, 0)
			if err != nil || strings.Join(s.Log.Slice(), " ") != "n1 n2 n3 n4 n5 n6" || s.Seen.Len() != 6 || p.Status != graph.Done {
				t.Errorf("%d commits were left: stored is %v, %q, %v", left, s, p.Status, err)
			}
			if p.Checkpoint != res.Checkpoint {
				t.Errorf("%d commits were left: the head is %d, the result said %d", left, p.Checkpoint, res.Checkpoint)
			}
			snap, err := f.Load(ctx, checkpoint.Key{Thread: "t1"}, left+1)
			if err != nil {
				t.Fatal(err)
			}
			if durability == graph.Async && left == 3 {
				continue // the commit of n3 may have come only then, and nothing was lost
			}
			if rec, err := checkpoint.ReadRecord(snap); err != nil || !rec.Recovered {
				t.Errorf("%d commits were left: the next one does not record that it recovered them: %+v, %v", left, rec, err)
			}
		}
	}
}

// Requirement: A store may lose its newest commits
func TestRun_RecoversOnlyItsOwnHistory(t *testing.T) {
	var ran counter
	f := &forgetful{Store: new(checkpoint.Memory)}
	other := new(checkpoint.Memory)
	if _, err := chainOf(t, &ran, graph.Config{Store: other}, "a").Invoke(ctx, world{}, t1); err != nil {
		t.Fatal(err)
	}
	b := graph.New[world]("swapped")
	from := graph.Start
	for _, name := range []string{"a", "b", "c"} {
		b.Node(name, logs(name))
		b.Edge(from, name)
		from = name
	}
	b.Node("d", graph.Func(func(context.Context, *world) error { f.Store = other; return nil }))
	b.Edge("c", "d")
	b.Edge("d", graph.End)
	_, err := build(t, b, graph.Config{Store: f}).Invoke(ctx, world{}, t1)
	is(t, err, checkpoint.ErrConflict)
}

// TestRun_LastFlushThatFailsFailsIt drains a run whose steps are stored when it ends, on a thread
// that another run has taken meanwhile.
func TestRun_LastFlushThatFailsFailsIt(t *testing.T) {
	var ran counter
	f := &forgetful{Store: new(checkpoint.Memory)}
	other := new(checkpoint.Memory)
	if _, err := chainOf(t, &ran, graph.Config{Store: other}, "a").Invoke(ctx, world{}, t1); err != nil {
		t.Fatal(err)
	}
	drain := new(graph.Drain)
	b := graph.New[world]("drained")
	from := graph.Start
	for _, name := range []string{"a", "b", "c", "d"} {
		b.Node(name, graph.Func(func(ctx context.Context, s *world) error {
			if name == "d" {
				f.Store = other
				drain.Request("deploy")
				return nil
			}
			_, err := graph.Once(ctx, "k", func(context.Context) (int, error) { return 1, nil }) // stores the step before
			return err
		}))
		b.Edge(from, name)
		from = name
	}
	b.Node("e", logs("e"))
	b.Edge("d", "e")
	b.Edge("e", graph.End)
	o := t1
	o.Durability, o.Drain = graph.Exit, drain
	res, err := build(t, b, graph.Config{Store: f}).Invoke(ctx, world{}, o)
	if res.Status != graph.Failed || err == nil {
		t.Errorf("a run whose end could not be stored\n got: %s, %v\nwant: failed, and why", res.Status, err)
	}
}
