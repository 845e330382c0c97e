package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// logsNth is a node that logs its name and the number of its run, as in a2.
func logsNth(name string, ran *counter) graph.Node[world] {
	return graph.Func(func(_ context.Context, s *world) error {
		s.Log.Append(fmt.Sprintf("%s%d", name, ran.add(name)))
		return nil
	})
}

// chainOf is a graph of nodes in a row, made by logsNth.
func chainOf(t testing.TB, ran *counter, cfg graph.Config, names ...string) *graph.Graph[world] {
	b := graph.New[world]("chain")
	from := graph.Start
	for _, n := range names {
		b.Node(n, logsNth(n, ran))
		b.Edge(from, n)
		from = n
	}
	b.Edge(from, graph.End)
	return build(t, b, cfg)
}

// tree describes each commit of t1, oldest first: number, source, parent, branch, what ran.
func tree(t testing.TB, cfg graph.Config) string {
	t.Helper()
	var lines []string
	for p, err := range graph.History(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%d %s", p.Checkpoint, p.Source)
		if p.Parent != 0 {
			line += fmt.Sprintf(" of %d", p.Parent)
		}
		if p.Branch != 0 {
			line += fmt.Sprintf(" on %d", p.Branch)
		}
		lines = append([]string{strings.TrimSpace(line + " " + strings.Join(p.Nodes(), ","))}, lines...)
	}
	return strings.Join(lines, "; ")
}

func logAt(t testing.TB, g *graph.Graph[world], at uint64) string {
	t.Helper()
	s, _, err := g.Thread("t1").State(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(s.Log.Slice(), " ")
}

// Requirement: History is a tree
func TestBranch_OldOneStays(t *testing.T) {
	var ran counter
	cfg := stored()
	g := chainOf(t, &ran, cfg, "a", "b", "c")
	invoke(t, g, "t1", graph.Done) // commits 1 to 4
	res, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", At: 2})
	logged(t, ended(t, graph.Done, res, err), "a1 b2 c2")
	want := "1 input; 2 step a; 3 step b; 4 step c; 5 fork of 2 on 5; 6 step on 5 b; 7 step on 5 c"
	if got := tree(t, cfg); got != want {
		t.Errorf("the history is\n%s\nwant\n%s", got, want)
	}
	for at, want := range map[uint64]string{3: "a1 b1", 4: "a1 b1 c1", 5: "a1", 6: "a1 b2"} {
		if got := logAt(t, g, at); got != want {
			t.Errorf("commit %d holds %q, want %q", at, got, want)
		}
	}
}

// Requirement: History is a tree
func TestReplay_RunsOnlyTheLaterSteps(t *testing.T) {
	var ran counter
	cfg := stored()
	g := chainOf(t, &ran, cfg, "a", "b", "c")
	invoke(t, g, "t1", graph.Done)
	for range 2 {
		res, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", At: 3})
		ended(t, graph.Done, res, err)
	}
	ran.want(t, "a", 1)
	ran.want(t, "b", 1)
	ran.want(t, "c", 3)
	head, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", At: head.Checkpoint})
	ended(t, graph.Done, res, err)
	ran.want(t, "c", 3) // from the final commit there is nothing to run
	if now, _ := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); now.Checkpoint != head.Checkpoint {
		t.Errorf("replaying the head added commits: %d, was %d", now.Checkpoint, head.Checkpoint)
	}
}

// Requirement: History is a tree
func TestReplay_FromBeforeAQuestionAsksAgain(t *testing.T) {
	var ran counter
	cfg := stored()
	g := build(t, parallel(map[string]graph.Node[world]{"a": asks("a", &ran, "x")}), cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	id := idOf(t, res, "x")
	res = resume(t, g, graph.Answer(id, "old"), graph.Done)
	logged(t, res, "a x=old")
	res, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", At: 1})
	asked(t, ended(t, graph.Interrupted, res, err), "x")
	logged(t, resume(t, g, graph.Answer(idOf(t, res, "x"), "new"), graph.Done), "a x=new")
	_, err = g.Resume(ctx, graph.Answer(id, "both"), graph.RunOptions{Thread: "t1", At: 1})
	is(t, err, graph.ErrUnknownQuestion) // a commit of the past has no open question
}

func TestResume_AtTheHeadIsAPlainResume(t *testing.T) {
	var ran counter
	cfg := stored()
	g := build(t, parallel(map[string]graph.Node[world]{"a": asks("a", &ran, "x")}), cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	res, err := g.Resume(ctx, graph.Reply("yes"), graph.RunOptions{Thread: "t1", At: res.Checkpoint})
	logged(t, ended(t, graph.Done, res, err), "a x=yes")
	if got, want := tree(t, cfg), "1 input; 2 step a"; got != want {
		t.Errorf("the history is %q, want %q", got, want)
	}
}

// Requirement: History is a tree
func TestBranch_LaterTurnsContinueTheReplayedOne(t *testing.T) {
	var ran counter
	cfg := stored()
	g := chainOf(t, &ran, cfg, "a", "b")
	invoke(t, g, "t1", graph.Done)
	res, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", At: 2})
	ended(t, graph.Done, res, err)
	logged(t, invoke(t, g, "t1", graph.Done), "a1 b2 a2 b3")
	res, err = g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", At: 3})
	logged(t, ended(t, graph.Done, res, err), "a1 b1 a3 b4") // a turn may begin at any commit
}

// Requirement: History is a tree
func TestBranch_DoesNotTakePendingWrites(t *testing.T) {
	var ran counter
	cfg := stored()
	fail := true
	b := parallel(map[string]graph.Node[world]{"a": logsNth("a", &ran), "b": graph.Func(func(context.Context, *world) error {
		ran.add("b")
		if fail {
			return errBoom
		}
		return nil
	})})
	g := build(t, b, cfg)
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, errBoom)
	fail = false
	edited, err := g.Patch(ctx, func(s *world) error { s.Name.Set("edited"); return nil }, graph.RunOptions{Thread: "t1"})
	if err != nil || edited.Status != graph.Pending {
		t.Fatalf("the patched thread is %q, %v", edited.Status, err)
	}
	resume(t, g, graph.Answers{}, graph.Done)
	ran.want(t, "a", 1) // a patch keeps the stored result
	res, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", At: 1})
	logged(t, ended(t, graph.Done, res, err), "a2") // a fork begins from the commit alone
	ran.want(t, "a", 2)
	ran.want(t, "b", 3)
}

func TestBranch_KeepsUnknownFields(t *testing.T) {
	var ran counter
	cfg := stored()
	g := chainOf(t, &ran, cfg, "a", "b")
	invoke(t, g, "t1", graph.Done)
	type small struct {
		Name textValue `json:"name"`
	}
	b := graph.New[small]("chain")
	for _, n := range []string{"a", "b"} {
		b.Node(n, graph.Func(func(context.Context, *small) error { return nil }))
	}
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	less := build(t, b, cfg)
	if _, err := less.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", At: 2}); err != nil {
		t.Fatal(err)
	}
	if got := logAt(t, g, 0); got != "a1" {
		t.Errorf("the branch holds %q, want what the other graph did not know: a1", got)
	}
}

// A subgraph of the thread continues from its state on the branch, not from that on another branch.
//
// Requirement: Subgraphs
func TestBranch_SubgraphOfTheThreadFollowsIt(t *testing.T) {
	cfg := stored()
	c := remembers(t, graph.PerThread, "memo", nil)
	b := graph.New[world]("loop")
	b.Node("n", graph.Router(func(ctx context.Context, s *world) (graph.Command, error) {
		end, err := c.Call(ctx, say(fmt.Sprint(s.Name.Get(), s.Count.Get())))
		s.Log.Overwrite([]string{memory(end)})
		if s.Count.Add(1); s.Count.Get() < 3 {
			return graph.Goto("n"), err
		}
		return graph.Goto(graph.End), err
	}, "n", graph.End))
	b.Edge(graph.Start, "n")
	g := build(t, b, cfg)
	logged(t, invoke(t, g, "t1", graph.Done), "0+1+2/2") // commits 1 to 4
	rename := func(at uint64, name string) {
		res, err := g.Patch(ctx, func(s *world) error { s.Name.Set(name); return nil }, graph.RunOptions{Thread: "t1", At: at})
		ended(t, graph.Pending, res, err)
	}
	rename(2, "b")
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "0+b1+b2/b2")
	rename(1, "c") // before the first call
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "c0+c1+c2/c2")
	rename(6, "d") // on the second branch, after its first call
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "0+b1+d2/d2")
	res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", At: 4})
	ended(t, graph.Done, res, err)
	logged(t, res, "0+1+2+3/3") // a new turn on the first branch
}

// Requirement: Subgraphs
func TestBranch_SubgraphOfATaskStartsAgain(t *testing.T) {
	var ran counter
	cfg := stored()
	b := graph.New[world]("outer")
	b.Node("in", hosts(child(t, &ran, graph.Config{}, nil), "", nil))
	b.Edge(graph.Start, "in")
	b.Edge("in", graph.End)
	g := build(t, b, cfg)
	logged(t, invoke(t, g, "t1", graph.Done), "c1 c2 c3")
	res, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", At: 1})
	logged(t, ended(t, graph.Done, res, err), "c1 c2 c3")
	ran.want(t, "c2", 2)
}

func TestResume_AtAnUnknownCommitIsAnError(t *testing.T) {
	var ran counter
	g := chainOf(t, &ran, stored(), "a")
	invoke(t, g, "t1", graph.Done)
	_, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", At: 99})
	is(t, err, graph.ErrUnknownThread, "99")
	_, err = g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t2", At: 1})
	is(t, err, graph.ErrUnknownThread, "t2")
}

// On a branch, the task in the same place has the same id, and its stored side effects happen
// again.
//
// Requirement: An answer to an old question
func TestBranch_TasksHaveTheIDsOfTheirPlace(t *testing.T) {
	var ran counter
	var ids []string
	g := one(t, stored(), func(ctx context.Context, s *world) error {
		_, err := graph.Once(ctx, "effect", func(ctx context.Context) (int, error) {
			ids = append(ids, graph.TaskID(ctx), graph.ExecutionID(ctx))
			return ran.add("effect"), nil
		})
		return err
	})
	invoke(t, g, "t1", graph.Done)
	res, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", At: 1})
	ended(t, graph.Done, res, err)
	ran.want(t, "effect", 2)
	if len(ids) != 4 || ids[0] != ids[2] || ids[1] != ids[3] || ids[0] == ids[1] {
		t.Errorf("the ids are %v, want those of the task and of its effect twice", ids)
	}
}
