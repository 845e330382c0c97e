package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

type textValue = state.Value[string]

// as is an edit as the named node that logs word and follows the Command.
func as(node, word string, c graph.Command) graph.Edit[world] {
	return graph.Edit[world]{As: node, Do: func(s *world) (graph.Command, error) {
		if word != "" {
			s.Log.Append(word)
		}
		return c, nil
	}}
}

// edits applies edits to t1, one commit each.
func edits(t testing.TB, g *graph.Graph[world], want graph.Status, all ...graph.Edit[world]) graph.Result[world] {
	t.Helper()
	var steps [][]graph.Edit[world]
	for _, e := range all {
		steps = append(steps, []graph.Edit[world]{e})
	}
	res, err := g.Edit(ctx, steps, t1)
	return ended(t, want, res, err)
}

// next returns the nodes that are due on t1.
func next(t testing.TB, cfg graph.Config) string {
	t.Helper()
	p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(p.Next, " ")
}

// diamond has a, then b and c, then d, which joins them.
func diamond(t testing.TB, ran *counter, cfg graph.Config) *graph.Graph[world] {
	b := graph.New[world]("diamond")
	for _, n := range []string{"a", "b", "c", "d"} {
		b.Node(n, logsNth(n, ran))
	}
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("a", "c")
	b.Join("d", "b", "c")
	b.Edge("d", graph.End)
	return build(t, b, cfg)
}

// Requirement: Edits change what they name
func TestPatch_LeavesWhatIsDue(t *testing.T) {
	var ran counter
	cfg := stored()
	g := build(t, parallel(map[string]graph.Node[world]{"a": asks("a", &ran, "x"), "b": logsNth("b", &ran)}), cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	id := idOf(t, res, "x")
	res, err := g.Patch(ctx, func(s *world) error { s.Log.Append("patched"); s.Count.Add(5); return nil }, t1)
	asked(t, ended(t, graph.Interrupted, res, err), "x")
	logged(t, res, "patched")
	res = resume(t, g, graph.Answer(id, "y"), graph.Done)
	logged(t, res, "patched a x=y b1")
	ran.want(t, "b", 1) // its stored result still counts
	if res.State.Count.Get() != 5 {
		t.Errorf("count is %d, want 5: a patch goes through the reducers", res.State.Count.Get())
	}
	if got, want := tree(t, cfg), "1 input; 2 update (edit); 3 step a,b"; got != want {
		t.Errorf("the history is %q, want %q", got, want)
	}
}

func TestPatch_DeferredNodeStaysDue(t *testing.T) {
	var ran counter
	cfg := stored()
	cfg.InterruptBefore = []string{"d"}
	b := graph.New[world]("deferred")
	for _, n := range []string{"a", "b", "c", "d"} {
		b.Node(n, logsNth(n, &ran))
	}
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("a", "d")
	b.Edge("b", "c")
	b.Edge("c", "d")
	b.Edge("d", graph.End)
	b.Defer("d")
	g := build(t, b, cfg)
	invoke(t, g, "t1", graph.Interrupted)
	if _, err := g.Patch(ctx, func(s *world) error { s.Name.Set("n"); return nil }, t1); err != nil {
		t.Fatal(err)
	}
	if got := next(t, cfg); got != "d" {
		t.Errorf("due is %q, want d", got)
	}
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "a1 b1 c1 d1")
}

func TestBreakpoint_CommandRunsBesideWhatIsDue(t *testing.T) {
	var ran counter
	cfg := stored()
	cfg.InterruptBefore = []string{"n1"}
	b := graph.New[world]("breakpoint")
	b.Node("n1", logsNth("n1", &ran))
	b.Node("n2", logsNth("n2", &ran))
	b.Edge(graph.Start, "n1")
	b.Edge("n1", "n2")
	b.Edge("n2", graph.End)
	g := build(t, b, cfg)
	invoke(t, g, "t1", graph.Interrupted)
	res, err := g.UpdateAndResume(ctx, as("", "abc", graph.Goto("n2")), graph.Answers{}, t1)
	logged(t, ended(t, graph.Done, res, err), "abc n11 n21 n22")
}

// Requirement: Edits change what they name
func TestUpdateAndResume_EditsAnswersAndContinuesInOneCommit(t *testing.T) {
	var ran counter
	cfg := stored()
	b := parallel(map[string]graph.Node[world]{"a": asks("a", &ran, "x"), "b": logsNth("b", &ran)})
	g := build(t, b, cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	res, err := g.UpdateAndResume(ctx, as("", "now", graph.Goto("b")), graph.Answer(idOf(t, res, "x"), "y"), t1)
	logged(t, ended(t, graph.Done, res, err), "now a x=y b1")
	_, err = g.UpdateAndResume(ctx, as("", "again", graph.Goto("b")), graph.Reply(1), t1)
	is(t, err, graph.ErrUnknownQuestion)
	if got := logAt(t, g, 0); strings.Contains(got, "again") {
		t.Errorf("the state is %q: a refused answer must leave the edit out too", got)
	}
}

// Requirement: Edits change what they name
func TestPatch_ActsAsANodeAndOthersStayDue(t *testing.T) {
	var ran counter
	cfg := stored()
	cfg.InterruptAfter = []string{"a"}
	g := diamond(t, &ran, cfg)
	invoke(t, g, "t1", graph.Interrupted)
	edits(t, g, graph.Pending, as("b", "b by hand", graph.Command{}))
	if got := next(t, cfg); got != "c" {
		t.Errorf("due is %q, want c alone: b was acted, and others stay", got)
	}
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "a1 b by hand c1 d1")
	ran.want(t, "b", 0)
	ran.want(t, "d", 1)
}

// Requirement: Edits change what they name
func TestEdit_OfSeveralSteps(t *testing.T) {
	var ran counter
	cfg := stored()
	g := diamond(t, &ran, cfg)
	_, err := g.Edit(ctx, nil, t1)
	is(t, err, graph.ErrEdit)
	_, err = g.Edit(ctx, [][]graph.Edit[world]{{}}, t1)
	is(t, err, graph.ErrEdit)
	_, err = g.Edit(ctx, [][]graph.Edit[world]{{as("a", "", graph.Command{})}}, t1)
	is(t, err, graph.ErrUnknownThread)
	edits(t, g, graph.Pending, as(graph.Start, "in", graph.Command{}), as("a", "1", graph.Command{}))
	_, err = g.Edit(ctx, [][]graph.Edit[world]{{as("nope", "", graph.Command{})}}, t1)
	is(t, err, graph.ErrEdit, "nope")
	_, err = g.Edit(ctx, [][]graph.Edit[world]{{as(graph.End, "", graph.Command{}), as("b", "", graph.Command{})}}, t1)
	is(t, err, graph.ErrEdit, "alone")
	_, err = g.Edit(ctx, [][]graph.Edit[world]{{as("b", "", graph.Goto("d"))}}, t1)
	is(t, err, graph.ErrTarget, `"d"`)
	res, err := g.Edit(ctx, [][]graph.Edit[world]{{as("c", "3", graph.Command{}), as("b", "2", graph.Command{})}}, t1)
	logged(t, ended(t, graph.Pending, res, err), "in 1 2 3")
	if got := next(t, cfg); got != "d" {
		t.Errorf("due is %q, want d: both sources of the join were acted", got)
	}
	if got, want := tree(t, cfg), "1 input; 2 update a; 3 update b,c"; got != want {
		t.Errorf("the history is %q, want one commit a step: %q", got, want)
	}
}

// whole describes values, next, step and what ran of each commit, without the source.
func whole(t testing.TB, g *graph.Graph[world], cfg graph.Config) string {
	t.Helper()
	var all strings.Builder
	for p, err := range graph.History(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%d turn %d step %d %v next %v: %s\n", p.Checkpoint, p.Turn, p.Step, p.Ran, p.Next, logAt(t, g, p.Checkpoint))
	}
	return all.String()
}

// Requirement: Edits change what they name
func TestPatch_ConversationTypedByHandHasTheSameHistory(t *testing.T) {
	b := graph.New[world]("talk")
	b.Node("plan", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		s.Log.Append("plan")
		return graph.Goto("look").Send("work", 1).Send("work", 2), nil
	}, "look", "work"))
	b.Node("look", logs("look"))
	b.Node("work", graph.Worker(func(_ context.Context, s *world, n int) error {
		s.Log.Append(fmt.Sprint("work", n))
		return nil
	}))
	b.Node("sum", logs("sum"))
	b.Edge(graph.Start, "plan")
	b.Join("sum", "look", "work")
	b.Edge("sum", graph.End)
	real, byHand := stored(), stored()
	ran := build(t, b, real)
	for range 2 {
		invoke(t, ran, "t1", graph.Done)
	}
	g := build(t, b, byHand)
	var steps [][]graph.Edit[world]
	for range 2 {
		steps = append(steps,
			[]graph.Edit[world]{as(graph.Start, "", graph.Command{})},
			[]graph.Edit[world]{as("plan", "plan", graph.Goto("look").Send("work", 1).Send("work", 2))},
			[]graph.Edit[world]{as("look", "look", graph.Command{}), as("work", "work1", graph.Command{}), as("work", "work2", graph.Command{})},
			[]graph.Edit[world]{as("sum", "sum", graph.Command{})})
	}
	res, err := g.Edit(ctx, steps, t1)
	ended(t, graph.Done, res, err)
	if got, want := whole(t, g, byHand), whole(t, ran, real); got != want {
		t.Errorf("by hand the history is\n%s\nand of the run it is\n%s", got, want)
	}
}

// Requirement: Edits change what they name
func TestPatch_AsEndKeepsFinishedResults(t *testing.T) {
	var ran counter
	cfg := stored()
	g := build(t, parallel(map[string]graph.Node[world]{"a": asks("a", &ran, "x"), "b": logsNth("b", &ran)}), cfg)
	invoke(t, g, "t1", graph.Interrupted)
	logged(t, edits(t, g, graph.Done, as(graph.End, "closed", graph.Command{})), "b1 closed")
	res := resume(t, g, graph.Answers{}, graph.Done)
	logged(t, res, "b1 closed")
	logged(t, edits(t, g, graph.Pending, as("", "again", graph.Goto("b"))), "b1 closed again")
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "b1 closed again b2")
}

// Requirement: Edits change what they name
func TestPatch_UsesTheReducers(t *testing.T) {
	var ran counter
	g := chainOf(t, &ran, stored(), "a")
	invoke(t, g, "t1", graph.Done)
	res, err := g.Patch(ctx, func(s *world) error {
		s.Log.Overwrite([]string{"only"})
		s.Seen.Put("k", 1)
		s.Count.Add(2)
		return nil
	}, t1)
	ended(t, graph.Done, res, err)
	res, err = g.Patch(ctx, func(s *world) error { s.Seen.Delete("k"); s.Count.Add(2); return nil }, t1)
	logged(t, ended(t, graph.Done, res, err), "only")
	if res.State.Seen.Len() != 0 || res.State.Count.Get() != 4 {
		t.Errorf("after the edits the state is %v", res.State)
	}
}

// Requirement: Edits change what they name
func TestPatch_FailureChangesNothing(t *testing.T) {
	var ran counter
	cfg := stored()
	g := diamond(t, &ran, cfg)
	invoke(t, g, "t1", graph.Done)
	before := tree(t, cfg)
	_, err := g.Patch(ctx, func(s *world) error { s.Log.Append("lost"); return errBoom }, t1)
	is(t, err, errBoom)
	_, err = g.Patch(ctx, func(*world) error { panic("boom") }, t1)
	if err == nil || !strings.Contains(err.Error(), "panic: boom") {
		t.Errorf("a panic in an edit gives %v", err)
	}
	_, err = g.Edit(ctx, [][]graph.Edit[world]{{
		{As: "b", Do: func(s *world) (graph.Command, error) { s.Name.Set("1"); return graph.Command{}, nil }},
		{As: "c", Do: func(s *world) (graph.Command, error) { s.Name.Set("2"); return graph.Command{}, nil }},
	}}, t1)
	is(t, err, graph.ErrConflict, `"b"`, `"c"`)
	if got := tree(t, cfg); got != before {
		t.Errorf("the history is %q, was %q", got, before)
	}
	_, err = chainOf(t, &ran, graph.Config{}, "a").Patch(ctx, func(*world) error { return nil }, graph.RunOptions{})
	is(t, err, graph.ErrNoStore)
}

// Requirement: Subgraphs
func TestPatch_OfTheStateOfASubgraph(t *testing.T) {
	var ran counter
	cfg := stored()
	c := child(t, &ran, cfg, func(ctx context.Context, s *inner) error {
		word, err := graph.Ask[string](ctx, graph.Question{Prompt: "word"})
		s.Path.Append(s.Tag.Get() + "=" + word)
		return err
	})
	b := graph.New[world]("outer")
	b.Node("in", hosts(c, "tag", nil))
	b.Edge(graph.Start, "in")
	b.Edge("in", graph.End)
	g := build(t, b, cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	ns := res.Interrupts[0].Namespace
	edited, err := c.Patch(ctx, func(s *inner) error { s.Tag.Set("new"); return nil }, graph.RunOptions{Thread: "t1", Namespace: ns})
	if err != nil || edited.Status != graph.Interrupted || edited.State.Tag.Get() != "new" {
		t.Fatalf("the edited subgraph is %q, %v", edited.Status, err)
	}
	logged(t, resume(t, g, graph.Reply("w"), graph.Done), "tagc1 newc2 new=w newc3")
	ran.want(t, "c1", 1)
	_, err = c.Patch(ctx, func(*inner) error { return nil }, graph.RunOptions{Thread: "t1", Namespace: "none"})
	is(t, err, graph.ErrUnknownThread, "none")
	_, err = c.Invoke(ctx, inner{}, graph.RunOptions{Thread: "t1", Namespace: ns})
	is(t, err, graph.ErrEdit, ns)
	_, err = c.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", Namespace: ns})
	is(t, err, graph.ErrEdit, ns)
}

func TestEdit_BranchThatAsks(t *testing.T) {
	g := branchThatAsks(t)
	invoke(t, g, "t1", graph.Interrupted)
	_, err := g.Edit(ctx, [][]graph.Edit[world]{{as("a", "", graph.Command{})}}, t1)
	if is(t, err, graph.ErrEdit, "must not ask or wait"); errors.Is(err, graph.ErrInterrupted) {
		t.Errorf("the error is an ErrInterrupted: %v", err)
	}
	logged(t, resume(t, g, graph.Reply(graph.End), graph.Done), "a")
}
