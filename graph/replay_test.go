package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// version is what new code of the recorded graph does otherwise.
type version struct {
	word string // what a logs
	to   string // where b goes
	keys []string
}

// recorded is a graph with all that a replay takes from the record: a keeps, asks and
// runs a child; b decides.
func recorded(t testing.TB, cfg graph.Config, ran *counter, v version) *graph.Graph[world] {
	c := child(t, ran, graph.Config{Trace: true}, func(ctx context.Context, s *inner) error {
		word, err := graph.Once(ctx, "inside", func(context.Context) (string, error) { return fmt.Sprint("i", ran.add("inside")), nil })
		s.Path.Append(word)
		return err
	})
	memo := remembers(t, graph.PerThread, "memo", nil)
	b := graph.New[world]("recorded")
	b.Node("a", graph.Func(func(ctx context.Context, s *world) error {
		for _, key := range v.keys {
			n, err := graph.Once(ctx, key, func(context.Context) (int, error) { return ran.add(key), nil })
			if err != nil {
				return err
			}
			s.Count.Add(n)
		}
		ok, err := graph.Ask[string](ctx, graph.Question{Prompt: "ok?"})
		if err != nil {
			return err
		}
		end, err := c.Call(ctx, inner{})
		if err != nil {
			return err
		}
		turns, err := memo.Call(ctx, say(s.Name.Get()))
		s.Log.Append(v.word, ok, strings.Join(end.Path.Slice(), ","), memory(turns))
		return err
	}))
	b.Node("b", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		s.Log.Append("b")
		return graph.Goto(v.to), nil
	}, "c", "d"))
	for _, name := range []string{"c", "d"} {
		b.Node(name, logs(name))
		b.Edge(name, graph.End)
	}
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	return build(t, b, cfg)
}

var asWas = version{word: "a", to: "c", keys: []string{"k"}}

// lived runs two turns of the recorded graph on t1.
func lived(t testing.TB, cfg graph.Config, ran *counter) *graph.Graph[world] {
	g := recorded(t, cfg, ran, asWas)
	for _, name := range []string{"one", "two"} {
		res, err := g.Invoke(ctx, world{Name: state.Of(name)}, t1)
		ended(t, graph.Interrupted, res, err)
		resume(t, g, graph.Reply("yes"), graph.Done)
	}
	return g
}

// Requirement: New code continues old threads
func TestReplay_SameCodeGivesTheSameResult(t *testing.T) {
	var ran counter
	cfg := stored()
	cfg.Trace = true
	g := lived(t, cfg, &ran)
	before := tree(t, cfg)
	for range 2 {
		got, err := g.Thread("t1").Replay(ctx, 0, 0)
		if err != nil || got.Divergence != nil || got.Steps != 6 {
			t.Fatalf("replayed %d steps, %v, %v; want 6 without divergence", got.Steps, got.Divergence, err)
		}
	}
	ran.want(t, "k", 2)      // once a turn, and never in a replay
	ran.want(t, "inside", 2) // likewise in the child
	if got := tree(t, cfg); got != before {
		t.Errorf("the thread was %s and is %s", before, got)
	}
}

// Requirement: New code continues old threads
func TestReplay_ReportsTheFirstDivergence(t *testing.T) {
	for name, c := range map[string]struct {
		now   version
		at    uint64
		steps int
		text  string
	}{
		"a field":          {version{"A", "c", []string{"k"}}, 2, 0, `log was ["a","yes","c1,c2,i1,c3","one/one"] and is ["A",`},
		"a decision":       {version{"a", "d", []string{"k"}}, 3, 1, "due after it were [c] and are [d]"},
		"no stored result": {version{"a", "c", []string{"k", "new"}}, 2, 0, `it was not recorded: "new" of node "a"`},
	} {
		t.Run(name, func(t *testing.T) {
			var ran counter
			cfg := stored()
			cfg.Trace = true
			lived(t, cfg, &ran)
			g := recorded(t, cfg, &ran, c.now)
			got, err := g.Thread("t1").Replay(ctx, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got.Divergence == nil || got.Divergence.Checkpoint != c.at || got.Steps != c.steps || !strings.Contains(got.Divergence.String(), c.text) {
				t.Errorf("after %d steps: %v\nwant commit %d: %s", got.Steps, got.Divergence, c.at, c.text)
			}
			ran.want(t, "new", 0)
		})
	}
}

// Requirement: New code continues old threads
func TestReplay_NamesWhatIsGone(t *testing.T) {
	var ran counter
	cfg := stored()
	chainOf(t, &ran, cfg, "a", "b", "c")
	g := chainOf(t, &ran, cfg, "a", "b", "c")
	invoke(t, g, "t1", graph.Done)
	got, err := chainOf(t, &ran, cfg, "a", "c").Thread("t1").Replay(ctx, 0, 0)
	if err != nil || got.Divergence == nil {
		t.Fatalf("%v, %v", got.Divergence, err)
	}
	if text := got.Divergence.String(); !strings.Contains(text, "due after it were [b] and are [c]") {
		t.Errorf("the divergence is %s", text)
	}
	got, err = chainOf(t, &ran, cfg, "a", "c").Thread("t1").Replay(ctx, 3, 3)
	if err != nil || got.Divergence == nil {
		t.Fatalf("%v, %v", got.Divergence, err)
	}
	is(t, got.Divergence.Err, graph.ErrProgram, `node "b"`)
}

// Requirement: New code continues old threads
func TestReplay_NamesWhatHasNoTrace(t *testing.T) {
	var ran counter
	cfg := stored()
	g := lived(t, cfg, &ran)
	got, err := g.Thread("t1").Replay(ctx, 0, 0)
	if err != nil || got.Divergence == nil {
		t.Fatalf("%v, %v", got.Divergence, err)
	}
	is(t, got.Divergence.Err, graph.ErrReplay, `"k"`)
	ran.want(t, "k", 2)
	g = build(t, parallel(map[string]graph.Node[world]{"a": asks("a", &ran, "x")}), stored())
	_, err = g.Thread("none").Replay(ctx, 0, 0)
	is(t, err, graph.ErrUnknownThread)
	res := invoke(t, g, "t1", graph.Interrupted)
	ended(t, graph.Done, resume(t, g, graph.Answer(idOf(t, res, "x"), "1"), graph.Done), nil)
	got, err = g.Thread("t1").Replay(ctx, 0, 0)
	if err != nil || got.Divergence == nil || len(got.Divergence.Asked) != 1 {
		t.Errorf("%v, %v; want that x is asked", got.Divergence, err)
	}
}

// Two branches of a thread have two answers to one question, and two results in one place.
func TestReplay_EachBranchHasItsOwnRecord(t *testing.T) {
	var ran counter
	cfg := stored()
	cfg.Trace = true
	b := graph.New[world]("flow")
	b.Node("a", graph.Func(func(ctx context.Context, s *world) error {
		result, err := graph.Once(ctx, "k", func(context.Context) (string, error) { return fmt.Sprint("k", ran.add("k")), nil })
		if err != nil {
			return err
		}
		word, err := graph.Ask[string](ctx, graph.Question{Prompt: "word?"})
		s.Log.Append(result, word)
		return err
	}))
	line(b, "z")
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g := build(t, b, cfg)
	invoke(t, g, "t1", graph.Interrupted)
	resume(t, g, graph.Reply("one"), graph.Done)
	res, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", At: 1})
	ended(t, graph.Interrupted, res, err)
	resume(t, g, graph.Reply("two"), graph.Done)
	done, err := g.Thread("t1").Replay(ctx, 0, 0)
	if err != nil || done.Divergence != nil || done.Steps == 0 {
		t.Errorf("got %d steps and %v, %v; want all as recorded", done.Steps, done.Divergence, err)
	}
	ran.want(t, "k", 2)
}
