package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// shorten drops the newest commits of one namespace of t1, all but the first left.
func shorten(t *testing.T, old *checkpoint.Memory, namespace string, left uint64) *checkpoint.Memory {
	t.Helper()
	short := new(checkpoint.Memory)
	spaces, err := old.Namespaces(ctx, "t1")
	if err != nil {
		t.Fatal(err)
	}
	for _, ns := range spaces {
		k := checkpoint.Key{Thread: "t1", Namespace: ns}
		held := map[string]bool{}
		for seq := uint64(1); ns != namespace || seq <= left; seq++ {
			snap, err := old.Load(ctx, k, seq)
			if errors.Is(err, checkpoint.ErrNotFound) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			c := checkpoint.Commit{Key: k, ID: snap.ID, Head: seq - 1, Header: snap.Header, Refs: snap.Refs, Labels: snap.Labels}
			for _, b := range snap.Blobs {
				if name := fmt.Sprint(b.Field, b.Base, b.Chunk); !held[name] {
					c.Blobs, held[name] = append(c.Blobs, b), true
				}
			}
			err = short.Commit(ctx, c)
			if err == nil && len(snap.Pending) > 0 && seq == snap.Head {
				err = short.Put(ctx, checkpoint.Pending{Key: k, Head: seq, Entries: snap.Pending})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return short
}

func TestQueue_InputsSurviveALossOfTheStore(t *testing.T) {
	for left := range uint64(4) {
		store := new(checkpoint.Memory)
		queue := graph.RunOptions{Thread: "t1", OnOpenQuestions: graph.Queue}
		g := polite(t, graph.Config{Store: store})
		for _, name := range []string{"one", "two", "three", "four"} {
			if _, err := g.Invoke(ctx, inputOf(name), queue); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 { // all three are taken, and the last one asks
			resume(t, g, graph.Reply("x"), graph.Interrupted)
		}
		g = polite(t, graph.Config{Store: shorten(t, store, "+inputs", left)})
		for _, name := range []string{"five", "six"} {
			res, err := g.Invoke(ctx, inputOf(name), queue)
			ended(t, graph.Queued, res, err)
		}
		resume(t, g, graph.Reply("x"), graph.Interrupted)
		resume(t, g, graph.Reply("x"), graph.Interrupted)
		logged(t, resume(t, g, graph.Reply("x"), graph.Done), "one:x two:x three:x four:x five:x six:x")
	}
}

func TestQueue_BranchTakesNoInputAgain(t *testing.T) {
	cfg := stored()
	g := polite(t, cfg)
	queue := graph.RunOptions{Thread: "t1", OnOpenQuestions: graph.Queue}
	for _, name := range []string{"one", "two"} {
		if _, err := g.Invoke(ctx, inputOf(name), queue); err != nil {
			t.Fatal(err)
		}
	}
	resume(t, g, graph.Reply("x"), graph.Interrupted)
	resume(t, g, graph.Reply("x"), graph.Done)
	res, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", At: 1})
	ended(t, graph.Interrupted, res, err)
	logged(t, resume(t, g, graph.Reply("y"), graph.Done), "one:y")
	res, err = g.Invoke(ctx, inputOf("three"), queue)
	ended(t, graph.Interrupted, res, err)
	res, err = g.Invoke(ctx, inputOf("four"), queue)
	ended(t, graph.Queued, res, err)
	resume(t, g, graph.Reply("y"), graph.Interrupted)
	logged(t, resume(t, g, graph.Reply("y"), graph.Done), "one:y three:y four:y")
}

// keeping is a chain n1 to n6 whose nodes keep what they log; n4 calls lose.
func keeping(t testing.TB, ran *counter, cfg graph.Config, lose func()) *graph.Graph[world] {
	b := graph.New[world]("keeping")
	from := graph.Start
	for i := range 6 {
		name := fmt.Sprint("n", i+1)
		b.Node(name, graph.Func(func(ctx context.Context, s *world) error {
			if name == "n4" {
				lose()
			}
			word, err := graph.Once(ctx, "k", func(context.Context) (string, error) {
				return fmt.Sprint(name, "#", ran.add(name)), nil
			})
			s.Log.Append(word)
			return err
		}))
		b.Edge(from, name)
		from = name
	}
	b.Edge(from, graph.End)
	cfg.Trace = true
	return build(t, b, cfg)
}

func TestReplay_OfARecoveredThread(t *testing.T) {
	for _, durability := range durabilities {
		for left := range uint64(4) {
			var ran counter
			f := &forgetful{Store: new(checkpoint.Memory)}
			lost := false
			g := keeping(t, &ran, graph.Config{Store: f}, func() {
				if !lost {
					lost = true
					f.forget(t, left)
				}
			})
			res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: durability})
			ended(t, graph.Done, res, err)
			got, err := g.Thread("t1").Replay(ctx, 0, 0)
			if err != nil || got.Divergence != nil || got.Steps+len(got.Skipped) == 0 {
				t.Errorf("%v, %d commits were left: %d steps, skipped %v, %v, %v", durability, left, got.Steps, got.Skipped, got.Divergence, err)
			}
			if skips := left == 0; skips != (len(got.Skipped) == 1) {
				t.Errorf("%v, %d commits were left: skipped %v", durability, left, got.Skipped)
			}
			for i := range 6 {
				ran.want(t, fmt.Sprint("n", i+1), 1)
			}
		}
	}
}

func TestExit_RunCanBeReplayed(t *testing.T) {
	var ran counter
	word := "a"
	three := func(t *testing.T, cfg graph.Config) *graph.Graph[world] {
		b := graph.New[world]("exits")
		b.Node("q", asks("q", &ran, "x"))
		line(b, "a", "c")
		b.Node("b", graph.Func(func(_ context.Context, s *world) error { s.Log.Append(word); return nil }))
		b.Join("q", "a", "b")
		b.Edge(graph.Start, "b")
		b.Edge("q", "d")
		b.Node("d", graph.Func(func(_ context.Context, s *world) error { s.Log.Append(word); return nil }))
		b.Edge("d", graph.End)
		cfg.Trace = true
		return build(t, b, cfg)
	}
	cfg := stored()
	g := three(t, cfg)
	exit := graph.RunOptions{Thread: "t1", Durability: graph.Exit}
	res, err := g.Invoke(ctx, world{}, exit)
	ended(t, graph.Interrupted, res, err)
	res, err = g.Resume(ctx, graph.Reply("1"), exit)
	ended(t, graph.Done, res, err)
	got, err := g.Thread("t1").Replay(ctx, 0, 0)
	if err != nil || got.Divergence != nil || got.Steps != 1 || fmt.Sprint(got.Skipped) != "[1]" {
		t.Errorf("%d steps, skipped %v, %v, %v; want one, and the first skipped", got.Steps, got.Skipped, got.Divergence, err)
	}
	word = "new"
	if got, err = three(t, cfg).Thread("t1").Replay(ctx, 0, 0); err != nil || got.Divergence == nil || len(got.Divergence.Changes) != 1 {
		t.Errorf("%v, %v; want that the log differs", got.Divergence, err)
	}
}
