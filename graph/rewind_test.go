package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// asking is a graph of four nodes: s1, a and b, which ask "A" and "B", and s2. Its path is what
// they did. Its commits are 1, the input, to 5, the end.
func asking(t testing.TB, ran *counter, cfg graph.Config) *graph.Graph[inner] {
	b := graph.New[inner]("asking")
	ask := func(node, prompt string) graph.Node[inner] {
		return graph.Func(func(ctx context.Context, s *inner) error {
			ran.add(node)
			answer, err := graph.Ask[string](ctx, graph.Question{Prompt: prompt})
			s.Path.Append(prompt + "=" + answer)
			return err
		})
	}
	b.Node("s1", steps("s1", ran, nil))
	b.Node("a", ask("a", "A"))
	b.Node("b", ask("b", "B"))
	b.Node("s2", steps("s2", ran, nil))
	from := graph.Start
	for _, n := range []string{"s1", "a", "b", "s2"} {
		b.Edge(from, n)
		from = n
	}
	b.Edge(from, graph.End)
	return build(t, b, cfg)
}

// within returns a graph whose second node runs c.
func within(t testing.TB, c *graph.Graph[inner], cfg graph.Config) *graph.Graph[inner] {
	b := graph.New[inner]("within")
	b.Node("first", graph.Func(func(_ context.Context, s *inner) error { s.Path.Append("<"); return nil }))
	b.Node("m", graph.Subgraph(c, func(*inner) (inner, error) { return inner{}, nil },
		func(s *inner, end *inner) error { s.Path.Append(end.Path.Slice()...); s.Path.Append(">"); return nil }))
	b.Edge(graph.Start, "first")
	b.Edge("first", "m")
	b.Edge("m", graph.End)
	return build(t, b, cfg)
}

// journey is a thread that has asked A and B in a subgraph and may have ended.
type journey struct {
	*graph.Graph[world]
	child  *graph.Graph[inner] // that asks
	ran    counter
	cfg    graph.Config
	inside *checkpoint.Memory                      // what is beneath the store
	over   func(checkpoint.Store) checkpoint.Store // makes the store of what is beneath it
	ns     string                                  // of the subgraph that asks
	kind   graph.Lifetime
	levels int
}

// untyped is a store as it is.
func untyped(s checkpoint.Store) checkpoint.Store { return s }

// eachStore runs fn for a plain store and for one that encrypts.
func eachStore(t *testing.T, fn func(t *testing.T, over func(checkpoint.Store) checkpoint.Store)) {
	t.Run("plain", func(t *testing.T) { fn(t, untyped) })
	t.Run("sealed", func(t *testing.T) {
		fn(t, func(s checkpoint.Store) checkpoint.Store { return sealedOver(t, s) })
	})
}

// underway runs a graph whose node n runs the asking graph, levels deep, until it asks B.
func underway(t testing.TB, kind graph.Lifetime, levels int) *journey {
	return underwayIn(t, untyped, kind, levels)
}

// underwayIn is underway in a store over one in memory.
func underwayIn(t testing.TB, over func(checkpoint.Store) checkpoint.Store, kind graph.Lifetime, levels int) *journey {
	j := &journey{inside: new(checkpoint.Memory), over: over, kind: kind, levels: levels}
	j.cfg.Store = over(j.inside)
	child := j.cfg
	child.Nested = kind
	j.child = asking(t, &j.ran, child)
	c := j.child
	for range levels - 1 {
		c = within(t, c, child)
	}
	j.Graph = journeyOf(t, j, c, j.cfg)
	j.ns = invoke(t, j.Graph, "t1", graph.Interrupted).Interrupts[0].Namespace
	resume(t, j.Graph, graph.Reply("a1"), graph.Interrupted)
	return j
}

// journeyOf is the graph at the root of a journey, whose node n runs c.
func journeyOf(t testing.TB, j *journey, c *graph.Graph[inner], cfg graph.Config) *graph.Graph[world] {
	b := graph.New[world]("top")
	b.Node("p", logsNth("p", &j.ran))
	b.Node("n", hosts(c, "", func(*world) error { j.ran.add("n"); return nil }))
	b.Node("z", logsNth("z", &j.ran))
	b.Edge(graph.Start, "p")
	b.Edge("p", "n")
	b.Edge("n", "z")
	b.Edge("z", graph.End)
	return build(t, b, cfg)
}

// at names a commit of the subgraph.
func (j *journey) at(seq uint64) graph.RunOptions {
	return graph.RunOptions{Thread: "t1", Namespace: j.ns, At: seq}
}

// eachJourney runs fn for every kind of subgraph, up to three levels deep, in a plain and in an
// encrypted store, while the root waits and after it has ended.
func eachJourney(t *testing.T, fn func(t *testing.T, j *journey, deep func(string) string)) {
	eachWaiting(t, func(t *testing.T, start func() *journey, deep func(string) string) {
		t.Run("waits", func(t *testing.T) { fn(t, start(), deep) })
		t.Run("ended", func(t *testing.T) {
			j := start()
			res := resume(t, j.Graph, graph.Reply("b1"), graph.Done)
			logged(t, res, "p1 "+deep("s1 A=a1 B=b1 s2")+" z1")
			fn(t, j, deep)
		})
	})
}

// eachWaiting runs fn for every kind of subgraph, up to three levels deep, in a plain and in an
// encrypted store. start begins a thread that waits.
func eachWaiting(t *testing.T, fn func(t *testing.T, start func() *journey, deep func(string) string)) {
	for name, kind := range map[string]graph.Lifetime{"per call": graph.PerCall, "per thread": graph.PerThread} {
		for levels := 1; levels <= 3; levels++ {
			t.Run(fmt.Sprintf("%s, level %d", name, levels), func(t *testing.T) {
				eachStore(t, func(t *testing.T, over func(checkpoint.Store) checkpoint.Store) {
					deep := func(path string) string {
						return strings.Repeat("< ", levels-1) + path + strings.Repeat(" >", levels-1)
					}
					fn(t, func() *journey { return underwayIn(t, over, kind, levels) }, deep)
				})
			})
		}
	}
}

// Requirement: History is a tree
// Requirement: Subgraphs
func TestResumeAtACommitOfAChild_RunsTheChildFromThere(t *testing.T) {
	eachJourney(t, func(t *testing.T, j *journey, deep func(string) string) {
		before, err := graph.Inspect(ctx, j.cfg.Store, checkpoint.Key{Thread: "t1", Namespace: j.ns})
		if err != nil {
			t.Fatal(err)
		}
		asksA, asksB := j.ran.of("a"), j.ran.of("b")
		res, err := j.Resume(ctx, graph.Answers{}, j.at(3)) // a has run, b has not
		asked(t, ended(t, graph.Interrupted, res, err), "B")
		j.ran.want(t, "p", 1)
		j.ran.want(t, "s1", 1)
		j.ran.want(t, "a", asksA)
		if before.Status == graph.Done {
			asksB++ // where it is the newest commit, B is still open
		}
		j.ran.want(t, "b", asksB)
		res = resume(t, j.Graph, graph.Reply("b2"), graph.Done)
		logged(t, res, "p1 "+deep("s1 A=a1 B=b2 s2")+fmt.Sprintf(" z%d", j.ran.of("z")))
		j.ran.want(t, "a", asksA)
		j.ran.want(t, "s1", 1)

		res, err = j.Resume(ctx, graph.Answers{}, j.at(2)) // of the first branch: both are asked again
		asked(t, ended(t, graph.Interrupted, res, err), "A")
		asked(t, resume(t, j.Graph, graph.Reply("a3"), graph.Interrupted), "B")
		res = resume(t, j.Graph, graph.Reply("b3"), graph.Done)
		logged(t, res, "p1 "+deep("s1 A=a3 B=b3 s2")+fmt.Sprintf(" z%d", j.ran.of("z")))
		j.ran.want(t, "s1", 1)

		s, p, err := j.child.Thread("t1").In(j.ns).State(ctx, before.Checkpoint) // the old branch stays
		if err != nil || p.Step != before.Step || !strings.HasPrefix(strings.Join(s.Path.Slice(), " "), "s1 A=a1") {
			t.Errorf("commit %d of the subgraph is now %v %q (%v)", before.Checkpoint, p, s.Path.Slice(), err)
		}
	})
}

// Requirement: Subgraphs
func TestPatchAtACommitOfAChild_MakesQuestionsStale(t *testing.T) {
	eachJourney(t, func(t *testing.T, j *journey, deep func(string) string) {
		waits, err := graph.Inspect(ctx, j.cfg.Store, checkpoint.Key{Thread: "t1"})
		if err != nil {
			t.Fatal(err)
		}
		patch := func(s *inner) error { s.Path.Append("patched"); return nil }
		if _, err := j.child.Patch(ctx, patch, j.at(2)); err != nil {
			t.Fatal(err)
		}
		p, err := graph.Inspect(ctx, j.cfg.Store, checkpoint.Key{Thread: "t1"})
		if err != nil || p.Status != graph.Pending || len(p.Interrupts) != 0 {
			t.Errorf("the thread is %q with the questions %v (%v), want none", p.Status, p.Interrupts, err)
		}
		_, err = j.Resume(ctx, graph.Reply("stale"), t1)
		is(t, err, graph.ErrUnknownQuestion)
		record := decisions(t, j.cfg.Store, "t1")
		for _, in := range waits.Interrupts {
			if want := "discard " + in.Node + " "; !strings.Contains(record, want) {
				t.Errorf("the record is\n%s, want a line %q", record, want)
			}
			_, err = j.Resume(ctx, graph.Answer(in.ID, "stale"), t1)
			is(t, err, graph.ErrUnknownQuestion, in.ID)
			for d, err := range j.Thread("t1").Decisions(ctx) {
				if err != nil || d.Type == graph.DecisionDiscard && d.Branch == 0 {
					t.Errorf("the decision %+v names no branch (%v)", d, err)
				}
			}
		}
		asked(t, resume(t, j.Graph, graph.Answers{}, graph.Interrupted), "A")
		asked(t, resume(t, j.Graph, graph.Reply("a2"), graph.Interrupted), "B")
		res := resume(t, j.Graph, graph.Reply("b2"), graph.Done)
		logged(t, res, "p1 "+deep("s1 patched A=a2 B=b2 s2")+fmt.Sprintf(" z%d", j.ran.of("z")))
		j.ran.want(t, "s1", 1)
		j.ran.want(t, "p", 1)
	})
}

// Requirement: Subgraphs
func TestResumeAtTheNewestCommitOfAChild_IsAPlainResume(t *testing.T) {
	eachStore(t, func(t *testing.T, over func(checkpoint.Store) checkpoint.Store) {
		for _, at := range []uint64{0, 3} {
			j := underwayIn(t, over, graph.PerCall, 2)
			before := tree(t, j.cfg)
			res, err := j.Resume(ctx, graph.Reply("b1"), j.at(at))
			logged(t, ended(t, graph.Done, res, err), "p1 < s1 A=a1 B=b1 s2 > z1")
			if after := tree(t, j.cfg); strings.Contains(after, "fork") || !strings.HasPrefix(after, before) {
				t.Errorf("the history is %s, want no branch", after)
			}
		}
	})
}

// A branch may be gone back in, too: to a commit of the subgraph on the new branch, and on the
// old one.
func TestResumeAtACommitOfAChild_OnABranchOfABranch(t *testing.T) {
	eachJourney(t, func(t *testing.T, j *journey, deep func(string) string) {
		res, err := j.Resume(ctx, graph.Answers{}, j.at(2))
		ended(t, graph.Interrupted, res, err)
		resume(t, j.Graph, graph.Reply("a2"), graph.Interrupted)
		p, err := graph.Inspect(ctx, j.cfg.Store, checkpoint.Key{Thread: "t1", Namespace: j.ns})
		if err != nil || p.Branch == 0 {
			t.Fatalf("the subgraph is at %+v (%v), want a branch", p, err)
		}
		onNew := p.Checkpoint // a has run with a2
		resume(t, j.Graph, graph.Reply("b2"), graph.Done)
		for i, want := range []struct {
			at   uint64
			path string
		}{{onNew, "s1 A=a2 B=x s2"}, {3, "s1 A=a1 B=x s2"}, {onNew, "s1 A=a2 B=x s2"}} {
			res, err := j.Resume(ctx, graph.Answers{}, j.at(want.at))
			asked(t, ended(t, graph.Interrupted, res, err), "B")
			res = resume(t, j.Graph, graph.Reply("x"), graph.Done)
			logged(t, res, "p1 "+deep(want.path)+fmt.Sprintf(" z%d", j.ran.of("z")))
			if t.Failed() {
				t.Fatalf("going back number %d, to commit %d", i+1, want.at)
			}
		}
		j.ran.want(t, "s1", 1)
	})
}

// What is called after a branch goes on from it: a new turn of the thread and of its subgraph.
func TestResumeAtACommitOfAChild_LaterTurnsContinue(t *testing.T) {
	eachStore(t, func(t *testing.T, over func(checkpoint.Store) checkpoint.Store) {
		j := underwayIn(t, over, graph.PerThread, 2)
		resume(t, j.Graph, graph.Reply("b1"), graph.Done)
		res, err := j.Resume(ctx, graph.Answers{}, j.at(3))
		ended(t, graph.Interrupted, res, err)
		resume(t, j.Graph, graph.Reply("b2"), graph.Done)
		invoke(t, j.Graph, "t1", graph.Interrupted)
		resume(t, j.Graph, graph.Reply("a9"), graph.Interrupted)
		res = resume(t, j.Graph, graph.Reply("b9"), graph.Done)
		logged(t, res, "p1 < s1 A=a1 B=b2 s2 > z2 p2 < s1 A=a1 B=b2 s2 > < s1 A=a1 B=b2 s2 s1 A=a9 B=b9 s2 > z3")
	})
}

// Requirement: Subgraphs
func TestResumeAtACommitOfAChild_ThatIsNotThere(t *testing.T) {
	j := underway(t, graph.PerCall, 1)
	before := tree(t, j.cfg)
	for _, run := range []graph.RunOptions{j.at(99), {Thread: "t1", Namespace: "n:elsewhere", At: 1}} {
		_, err := j.Resume(ctx, graph.Answers{}, run)
		is(t, err, graph.ErrUnknownThread, `"t1"`, fmt.Sprintf("%q", run.Namespace))
		_, err = j.child.Patch(ctx, func(*inner) error { return nil }, run)
		is(t, err, graph.ErrUnknownThread, `"t1"`, fmt.Sprintf("%q", run.Namespace))
	}
	if after := tree(t, j.cfg); after != before {
		t.Errorf("the history is now %s, was %s", after, before)
	}
}

// The commit of the root that the task's step began at may have been pruned.
//
// Requirement: Subgraphs
func TestResumeAtACommitOfAChild_WhoseParentWasPruned(t *testing.T) {
	j := underway(t, graph.PerThread, 2)
	resume(t, j.Graph, graph.Reply("b1"), graph.Done)
	keep := checkpoint.Keep{Marked: func(s checkpoint.Snapshot) bool { return s.Namespace != "" }}
	if err := checkpoint.Prune(ctx, j.cfg.Store, "t1", keep); err != nil {
		t.Fatal(err)
	}
	_, err := j.Resume(ctx, graph.Answers{}, j.at(3))
	is(t, err, graph.ErrUnknownThread, `"t1"`, `node "n"`, "commit 3", j.ns)
}

// The subgraphs that the node called before keep their ends, and those after it begin anew.
// While the root waits, the earlier results and answers of the node stay too.
//
// Requirement: Subgraphs
func TestResumeAtACommitOfAChild_KeepsWhatTheNodeDidBefore(t *testing.T) {
	eachStore(t, func(t *testing.T, over func(checkpoint.Store) checkpoint.Store) {
		for name, kind := range map[string]graph.Lifetime{"per call": graph.PerCall, "per thread": graph.PerThread} {
			for _, trace := range []bool{false, true} {
				t.Run(fmt.Sprint(name, ", trace ", trace), func(t *testing.T) {
					var ran counter
					cfg := graph.Config{Store: over(new(checkpoint.Memory)), Trace: trace}
					c := remembers(t, kind, "memo", func(ctx context.Context, s *memo) error {
						ran.add(s.Word.Get())
						if s.Word.Get() != "two" {
							return nil
						}
						word, err := graph.Ask[string](ctx, graph.Question{Prompt: "word"})
						s.Words.Append(word)
						return err
					})
					g := one(t, cfg, func(ctx context.Context, s *world) error {
						who, err := graph.Ask[string](ctx, graph.Question{Prompt: "who"})
						if err != nil {
							return err
						}
						n, err := graph.Once(ctx, "effect", func(context.Context) (int, error) { return ran.add("effect"), nil })
						if err != nil {
							return err
						}
						s.Log.Append(fmt.Sprint(who, n))
						for _, w := range []string{"one", "two", "three"} {
							end, err := c.Call(ctx, say(w))
							if err != nil {
								return err
							}
							s.Log.Append(memory(end))
						}
						n, err2 := graph.Once(ctx, "after", func(context.Context) (int, error) { return ran.add("after"), nil })
						s.Log.Append(fmt.Sprint("after", n))
						last, err := graph.Ask[string](ctx, graph.Question{Prompt: "last"})
						s.Log.Append(last)
						return errorsOf(err, err2)
					})
					invoke(t, g, "t1", graph.Interrupted)
					res := resume(t, g, graph.Reply("me"), graph.Interrupted)
					asked(t, res, "word")
					ns := res.Interrupts[0].Namespace
					at := graph.RunOptions{Thread: "t1", Namespace: ns, At: 1} // the input of "two"
					for p, err := range graph.History(ctx, cfg.Store, checkpoint.Key{Thread: "t1", Namespace: ns}, checkpoint.Query{Limit: 1}) {
						if at.At = p.Checkpoint; err != nil {
							t.Fatal(err)
						}
					}
					asked(t, resume(t, g, graph.Reply("w1"), graph.Interrupted), "last")
					want := func(word string, after int) string {
						if kind == graph.PerThread {
							return fmt.Sprintf("me1 one/one one+two+%s/two one+two+%s+three/three after%d ", word, word, after)
						}
						return fmt.Sprintf("me1 one/one two+%s/two three/three after%d ", word, after)
					}
					const rounds = 4
					for i := 2; i <= rounds; i++ {
						if trace && i > 2 { // now from a branch that has ended
							logged(t, resume(t, g, graph.Reply("end"), graph.Done), want(fmt.Sprint("w", i-1), i-1)+"end")
							for p, err := range graph.History(ctx, cfg.Store, checkpoint.Key{Thread: "t1", Namespace: ns}, checkpoint.Query{}) {
								if err != nil {
									t.Fatal(err)
								}
								if p.Source == checkpoint.Fork {
									at.At = p.Checkpoint
									break
								}
							}
						}
						res, err := g.Resume(ctx, graph.Answers{}, at)
						asked(t, ended(t, graph.Interrupted, res, err), "word")
						asked(t, resume(t, g, graph.Reply(fmt.Sprint("w", i)), graph.Interrupted), "last")
					}
					logged(t, resume(t, g, graph.Reply("end"), graph.Done), want(fmt.Sprint("w", rounds), rounds)+"end")
					ran.want(t, "effect", 1)
					ran.want(t, "one", 1)
					ran.want(t, "after", rounds)
				})
			}
		}
	})
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// A node that takes another way and does not come to the call fails: what was asked for is not
// dropped silently.
//
// Requirement: Subgraphs
func TestResumeAtACommitOfAChild_ThatIsNotCalledAgain(t *testing.T) {
	var ran counter
	cfg := stored()
	c := child(t, &ran, graph.Config{}, nil)
	calls := true
	g := one(t, cfg, func(ctx context.Context, s *world) error {
		if !calls {
			return nil
		}
		_, err := c.Call(ctx, inner{Tag: state.Of("x")})
		return err
	})
	invoke(t, g, "t1", graph.Done)
	spaces, err := graph.Namespaces(ctx, cfg.Store, "t1")
	if err != nil || len(spaces) != 1 {
		t.Fatal(spaces, err)
	}
	calls = false
	_, err = g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", Namespace: spaces[0], At: 2})
	is(t, err, graph.ErrProgram, `node "n"`, spaces[0], "commit 2")
	calls = true
	resume(t, g, graph.Answers{}, graph.Done)
	ran.want(t, "c1", 1)
	ran.want(t, "c2", 2)
}

// Each task of a Send runs a subgraph of its own; only the one whose subgraph was named goes
// back, and the others run as on any branch.
//
// Requirement: Subgraphs
func TestResumeAtACommitOfAChild_OfASend(t *testing.T) {
	eachStore(t, func(t *testing.T, over func(checkpoint.Store) checkpoint.Store) {
		for _, end := range []bool{false, true} {
			var ran counter
			cfg := graph.Config{Store: over(new(checkpoint.Memory))}
			c := child(t, &ran, cfg, func(ctx context.Context, s *inner) error {
				answer, err := graph.Ask[string](ctx, graph.Question{Prompt: s.Tag.Get()})
				s.Path.Append(answer)
				return err
			})
			g := sendsTo(t, c, cfg)
			res := invoke(t, g, "t1", graph.Interrupted)
			asked(t, res, "a b")
			ns, a, bb := res.Interrupts[1].Namespace, idOf(t, res, "a"), idOf(t, res, "b")
			resume(t, g, graph.Answer(bb, "2"), graph.Interrupted)
			if end {
				logged(t, resume(t, g, graph.Answer(a, "1"), graph.Done), "ac1 ac2 1 ac3 bc1 bc2 2 bc3")
			}
			res, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", Namespace: ns, At: 2})
			asked(t, ended(t, graph.Interrupted, res, err), "a b")
			ran.want(t, "c1", 3) // of a again, as on any branch; of b not
			resA := idOf(t, res, "a")
			logged(t, resume(t, g, graph.Answer(resA, "3").Answer(idOf(t, res, "b"), "4"), graph.Done), "ac1 ac2 3 ac3 bc1 bc2 4 bc3")
		}
	})
}
