package graph_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// A run that is cut off at any call of the store goes on from the commit that was named.
//
// Requirement: Subgraphs
func TestResumeAtACommitOfAChild_SurvivesACrashAnywhere(t *testing.T) {
	for name, kind := range map[string]graph.Lifetime{"per call": graph.PerCall, "per thread": graph.PerThread} {
		for _, durability := range durabilities {
			t.Run(fmt.Sprint(name, ", ", durability), func(t *testing.T) {
				eachStore(t, func(t *testing.T, over func(checkpoint.Store) checkpoint.Store) {
					for calls := 0; ; calls++ {
						j := underwayIn(t, over, kind, 2)
						resume(t, j.Graph, graph.Reply("b1"), graph.Done)
						head, err := graph.Inspect(ctx, j.cfg.Store, checkpoint.Key{Thread: "t1"})
						if err != nil {
							t.Fatal(err)
						}
						broken := &stopsAfter{Store: j.inside}
						broken.left.Store(int32(calls))
						run := j.at(3)
						run.Durability = durability
						_, err = j.with(t, kind, over(broken)).Resume(ctx, graph.Answers{}, run)
						if err == nil {
							return
						}
						res, err := j.Resume(ctx, graph.Answers{}, t1)
						if now, _ := graph.Inspect(ctx, j.cfg.Store, checkpoint.Key{Thread: "t1"}); now.Checkpoint == head.Checkpoint {
							ended(t, graph.Done, res, err) // nothing was stored
							continue
						}
						asked(t, ended(t, graph.Interrupted, res, err), "B")
						res = resume(t, j.Graph, graph.Reply("b2"), graph.Done)
						logged(t, res, fmt.Sprintf("p1 < s1 A=a1 B=b2 s2 > z%d", j.ran.of("z")))
						j.ran.want(t, "s1", 1)
						if t.Failed() {
							t.Fatalf("cut off after %d calls of the store", calls)
						}
					}
				})
			})
		}
	}
}

// errCut is what a store answers that is gone.
var errCut = errors.New("the store is gone")

// stopsAfter is a store that is gone after so many writes. With lost the first write after them is
// done, too, and only its reply is lost.
type stopsAfter struct {
	checkpoint.Store
	left atomic.Int32
	lost bool
}

func (s *stopsAfter) write(do func() error) error {
	switch left := s.left.Add(-1); {
	case left >= 0:
		return do()
	case left == -1 && s.lost:
		if err := do(); err != nil {
			return err
		}
	}
	return errCut
}

func (s *stopsAfter) Commit(ctx context.Context, c checkpoint.Commit) error {
	return s.write(func() error { return s.Store.Commit(ctx, c) })
}

func (s *stopsAfter) Put(ctx context.Context, p checkpoint.Pending) error {
	return s.write(func() error { return s.Store.Put(ctx, p) })
}

// with compiles the graph of a journey, two levels deep, on another store.
func (j *journey) with(t testing.TB, kind graph.Lifetime, store checkpoint.Store) *graph.Graph[world] {
	child := graph.Config{Store: store, Nested: kind}
	return journeyOf(t, j, within(t, asking(t, &j.ran, child), child), graph.Config{Store: store})
}

// A subgraph of the thread inside one that goes back is as it was then: the calls of the steps
// that stay count, those after them do not.
//
// Requirement: Subgraphs
func TestResumeAtACommitOfAChild_RestoresGrandchildren(t *testing.T) {
	eachStore(t, func(t *testing.T, over func(checkpoint.Store) checkpoint.Store) {
		for name, kind := range map[string]graph.Lifetime{"per call": graph.PerCall, "per thread": graph.PerThread} {
			for _, end := range []bool{false, true} {
				t.Run(fmt.Sprint(name, ", ended ", end), func(t *testing.T) {
					cfg := graph.Config{Store: over(new(checkpoint.Memory))}
					leaf := remembers(t, graph.PerThread, "leaf", nil)
					b := graph.New[inner]("mid")
					b.Node("ask", graph.Func(func(ctx context.Context, s *inner) error {
						tag, err := graph.Ask[string](ctx, graph.Question{Prompt: "tag"})
						s.Tag.Set(tag)
						return err
					}))
					b.Node("leaf", graph.Router(func(ctx context.Context, s *inner) (graph.Command, error) {
						end, err := leaf.Call(ctx, say(fmt.Sprint(s.Path.Len(), s.Tag.Get())))
						s.Path.Append(memory(end))
						if s.Path.Len() == 2 {
							return graph.Goto("ask"), err
						}
						if s.Path.Len() == 4 {
							return graph.Goto(graph.End), err
						}
						return graph.Goto("leaf"), err
					}, "ask", "leaf", graph.End))
					b.Edge(graph.Start, "leaf")
					b.Edge("ask", "leaf")
					mid := build(t, b, graph.Config{Nested: kind})
					top := graph.New[world]("top")
					for i, from := range []string{graph.Start, "n0"} {
						n := fmt.Sprint("n", i)
						top.Node(n, hosts(mid, "", nil))
						top.Edge(from, n)
					}
					top.Edge("n1", graph.End)
					g := build(t, top, cfg)
					res := invoke(t, g, "t1", graph.Interrupted)
					ns := res.Interrupts[0].Namespace
					resume(t, g, graph.Reply("a"), graph.Interrupted) // n0 has ended, n1 asks
					if end {
						resume(t, g, graph.Reply("b"), graph.Done)
					}
					// Commit 2 is after the first call of the leaf, 3 after the second.
					res, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", Namespace: ns, At: 2})
					asked(t, ended(t, graph.Interrupted, res, err), "tag")
					resume(t, g, graph.Reply("c"), graph.Interrupted)
					res = resume(t, g, graph.Reply("d"), graph.Done)
					want := "0/0 0+1/1 0+1+2c/2c 0+1+2c+3c/3c"
					logged(t, res, want+" 0/0 0+1/1 0+1+2d/2d 0+1+2d+3d/3d")
					res, err = g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", Namespace: ns, At: 5}) // with the tag a
					ended(t, graph.Interrupted, res, err)
					res = resume(t, g, graph.Reply("e"), graph.Done)
					logged(t, res, "0/0 0+1/1 0+1+2a/2a 0+1+2a+3a/3a 0/0 0+1/1 0+1+2e/2e 0+1+2e+3e/3e")
				})
			}
		}
	})
}

// A subgraph that shares its parent's state writes what its branch wrote, and nothing of the one
// that was left.
func TestResumeAtACommitOfAChild_ThatSharesTheState(t *testing.T) {
	eachStore(t, func(t *testing.T, over func(checkpoint.Store) checkpoint.Store) {
		var ran counter
		b := graph.New[world]("in")
		b.Node("a", logsNth("a", &ran))
		b.Node("b", asks("b", &ran, "q"))
		b.Node("c", logsNth("c", &ran))
		b.Edge(graph.Start, "a")
		b.Edge("a", "b")
		b.Edge("b", "c")
		b.Edge("c", graph.End)
		cfg := graph.Config{Store: over(new(checkpoint.Memory))}
		in := build(t, b, cfg)
		g := build(t, parallel(map[string]graph.Node[world]{"n": graph.Inline(in)}), cfg)
		res, err := g.Invoke(ctx, world{Log: state.ListOf("old")}, t1)
		ns := ended(t, graph.Interrupted, res, err).Interrupts[0].Namespace
		logged(t, resume(t, g, graph.Reply("1"), graph.Done), "old a1 b q=1 c1")
		at := graph.RunOptions{Thread: "t1", Namespace: ns, At: 2}
		for i := 2; i <= 3; i++ {
			res, err = g.Resume(ctx, graph.Answers{}, at)
			asked(t, ended(t, graph.Interrupted, res, err), "q")
			logged(t, resume(t, g, graph.Reply(fmt.Sprint(i)), graph.Done), fmt.Sprintf("old a1 b q=%d c%d", i, i))
		}
		at.At = 3 // b has run with 1
		res, err = g.Resume(ctx, graph.Answers{}, at)
		logged(t, ended(t, graph.Done, res, err), "old a1 b q=1 c4")
		if _, err := in.Patch(ctx, func(s *world) error { s.Log.Append("patched"); return nil }, graph.RunOptions{Thread: "t1", Namespace: ns, At: 3}); err != nil {
			t.Fatal(err)
		}
		logged(t, resume(t, g, graph.Answers{}, graph.Done), "old a1 b q=1 patched c5")
		ran.want(t, "a", 1)
	})
}

// The step that runs the subgraph can be replayed on the branch that was left and on the new one.
func TestResumeAtACommitOfAChild_CanBeReplayed(t *testing.T) {
	eachStore(t, func(t *testing.T, over func(checkpoint.Store) checkpoint.Store) {
		for name, kind := range map[string]graph.Lifetime{"per call": graph.PerCall, "per thread": graph.PerThread} {
			t.Run(name, func(t *testing.T) {
				j := underwayIn(t, over, kind, 2)
				resume(t, j.Graph, graph.Reply("b1"), graph.Done)
				res, err := j.Resume(ctx, graph.Answers{}, j.at(3))
				ended(t, graph.Interrupted, res, err)
				resume(t, j.Graph, graph.Reply("b2"), graph.Done)
				for _, step := range []uint64{3, 6} {
					done, err := j.Thread("t1").Replay(ctx, step, step)
					if err != nil || done.Divergence != nil || done.Steps != 1 {
						t.Errorf("the replay of commit %d returns %v, %+v (%v)", step, done.Divergence, done, err)
					}
				}
			})
		}
	})
}

// The result of a task that resumed at an older commit of a subgraph may depend on an edit, so it
// is not cached.
func TestResumeAtACommitOfAChild_IsNotCached(t *testing.T) {
	var ran counter
	cfg := graph.Config{Store: new(checkpoint.Memory), Cache: new(graph.MemoryCache)}
	c := child(t, &ran, cfg, nil)
	node := graph.Cache(hosts(c, "", nil), graph.Caching[world]{Key: func(*world) (string, error) { return "k", nil }})
	g := build(t, parallel(map[string]graph.Node[world]{"n": node}), cfg)
	logged(t, invoke(t, g, "t1", graph.Done), "c1 c2 c3")
	spaces, err := graph.Namespaces(ctx, cfg.Store, "t1")
	if err != nil || len(spaces) != 1 {
		t.Fatal(spaces, err)
	}
	_, err = c.Patch(ctx, func(s *inner) error { s.Path.Append("patched"); return nil }, graph.RunOptions{Thread: "t1", Namespace: spaces[0], At: 2})
	if err != nil {
		t.Fatal(err)
	}
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "c1 patched c2 c3")
	res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t2"})
	logged(t, ended(t, graph.Done, res, err), "c1 c2 c3")
}

// Diff compares two commits of a subgraph, also of different branches.
//
// Requirement: Subgraphs
func TestDiff_OfASubgraph(t *testing.T) {
	j := underway(t, graph.PerCall, 1)
	resume(t, j.Graph, graph.Reply("b1"), graph.Done)
	res, err := j.Resume(ctx, graph.Answers{}, j.at(3))
	ended(t, graph.Interrupted, res, err)
	resume(t, j.Graph, graph.Reply("b2"), graph.Done)
	d, err := j.child.Thread("t1").In(j.ns).Diff(ctx, 4, 7)
	if err != nil || d.Base != 3 || len(d.Changes) != 1 || len(d.Changes[0].Writers) != 1 || d.Changes[0].Writers[0].Node != "b" {
		t.Errorf("the difference is %+v (%v), want that b wrote the path since commit 3", d, err)
	}
	if _, err := j.child.Edit(ctx, [][]graph.Edit[inner]{{word("", "edited")}}, j.at(0)); err != nil {
		t.Fatal(err)
	}
	reader := graph.StoredReader{Store: j.cfg.Store}
	for _, at := range []struct {
		from, to uint64
		edits    int
	}{{1, 3, 0}, {8, 9, 1}} { // commits 2 and 3 of the root have answers beside them
		d, err := j.child.Thread("t1").In(j.ns).Diff(ctx, at.from, at.to)
		if err != nil || len(d.Decisions) != at.edits {
			t.Errorf("from %d to %d: decided was %+v (%v), want %d edits", at.from, at.to, d.Decisions, err, at.edits)
		}
		stored, err := reader.Diff(ctx, checkpoint.Key{Thread: "t1", Namespace: j.ns}, at.from, at.to)
		if err != nil || len(stored.Decisions) != at.edits || len(stored.Changes) != 1 || string(stored.Changes[0].After) != string(d.Changes[0].After) {
			t.Errorf("from %d to %d as stored: %+v (%v), want %+v", at.from, at.to, stored, err, d)
		}
	}
	values, p, err := reader.State(ctx, checkpoint.Key{Thread: "t1", Namespace: j.ns}, 3)
	if err != nil || p.Namespace != j.ns || p.Checkpoint != 3 || len(values) == 0 || string(values[len(values)-1].Value) != `["s1","A=a1"]` {
		t.Errorf("commit 3 as stored is %+v with %s (%v)", p, values, err)
	}
	_, _, err = reader.State(ctx, checkpoint.Key{Thread: "t1", Namespace: j.ns}, 99)
	is(t, err, graph.ErrUnknownThread, "99", j.ns)
}
