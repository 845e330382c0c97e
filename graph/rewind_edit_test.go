package graph_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/racescale"
)

// word is an edit that appends a word to the path.
func word(as, word string) graph.Edit[inner] {
	return graph.Edit[inner]{As: as, Do: func(s *inner) (graph.Command, error) {
		s.Path.Append(word)
		return graph.Command{}, nil
	}}
}

// An edit in the name of the node that asked closes its question at the root, and at every level
// between, as an edit of the root does.
//
// Requirement: Subgraphs
func TestEditAsAChildsNode_ClosesItsQuestion(t *testing.T) {
	eachWaiting(t, func(t *testing.T, start func() *journey, deep func(string) string) {
		for as, want := range map[string]string{"b": "s1 A=a1 edited s2", graph.End: "s1 A=a1 edited"} {
			j := start()
			waits, err := graph.Inspect(ctx, j.cfg.Store, checkpoint.Key{Thread: "t1"})
			if err != nil || len(waits.Interrupts) != 1 {
				t.Fatal(waits.Interrupts, err)
			}
			stale := waits.Interrupts[0].ID
			if _, err := j.child.Edit(ctx, [][]graph.Edit[inner]{{word(as, "edited")}}, j.at(0)); err != nil {
				t.Fatal(err)
			}
			p, err := graph.Inspect(ctx, j.cfg.Store, checkpoint.Key{Thread: "t1"})
			if err != nil || p.Status != graph.Pending || len(p.Interrupts) != 0 {
				t.Errorf("after the edit as %s the thread is %q with the questions %v (%v), want none", as, p.Status, p.Interrupts, err)
			}
			record := decisions(t, j.cfg.Store, "t1")
			if n := strings.Count(record, "discard "+waits.Interrupts[0].Node+" "); n != 1 {
				t.Errorf("the record is\n%s, want one line that the question was closed", record)
			}
			_, err = j.Resume(ctx, graph.Reply("stale"), t1)
			is(t, err, graph.ErrUnknownQuestion)
			_, err = j.Resume(ctx, graph.Answer(stale, "stale"), t1)
			is(t, err, graph.ErrUnknownQuestion, stale)
			logged(t, resume(t, j.Graph, graph.Answers{}, graph.Done), "p1 "+deep(want)+" z1")
			j.ran.want(t, "s1", 1)
		}
	})
}

// An edit that leaves the question open leaves it open at the root, too. The nodes that it makes
// due run with the next Resume, as after an edit of the root.
//
// Requirement: Subgraphs
func TestEditOfAChildThatWaits_RunsWhatItMakesDue(t *testing.T) {
	eachWaiting(t, func(t *testing.T, start func() *journey, deep func(string) string) {
		j := start()
		goes := graph.Edit[inner]{Do: func(*inner) (graph.Command, error) { return graph.Goto("s1"), nil }}
		if _, err := j.child.Edit(ctx, [][]graph.Edit[inner]{{goes}}, j.at(0)); err != nil {
			t.Fatal(err)
		}
		j.ran.want(t, "s1", 1)
		asked(t, resume(t, j.Graph, graph.Answers{}, graph.Interrupted), "B")
		j.ran.want(t, "s1", 2)
		asksB := j.ran.of("b")
		asked(t, resume(t, j.Graph, graph.Answers{}, graph.Interrupted), "B") // nothing new: it waits
		j.ran.want(t, "b", asksB)
		asked(t, resume(t, j.Graph, graph.Reply("b1"), graph.Interrupted), "A") // of the second way
		asked(t, resume(t, j.Graph, graph.Reply("a2"), graph.Interrupted), "B")
		resume(t, j.Graph, graph.Reply("b2"), graph.Done)
	})
}

// changes counts the edits by hand in the record of a thread.
func (j *journey) changes(t *testing.T) (n int) {
	t.Helper()
	for d, err := range graph.ThreadDecisions(ctx, j.cfg.Store, "t1") {
		if err != nil {
			t.Fatal(err)
		}
		if d.Type == graph.DecisionChange {
			n++
		}
	}
	return n
}

// open returns the ids of the questions that a thread, or a subgraph on it, lists.
func (j *journey) open(t *testing.T, ns string) (ids []string) {
	t.Helper()
	p, err := graph.Inspect(ctx, j.cfg.Store, checkpoint.Key{Thread: "t1", Namespace: ns})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range p.Interrupts {
		ids = append(ids, in.ID)
	}
	return ids
}

// end answers what is asked until the thread has ended, and returns its log.
func (j *journey) end(t *testing.T) string {
	t.Helper()
	given := graph.Answers{}
	for {
		res, err := j.Resume(ctx, given, t1)
		if err != nil || res.Status != graph.Interrupted {
			ended(t, graph.Done, res, err)
			return strings.Join(res.State.Log.Slice(), " ")
		}
		given = graph.Reply("late")
	}
}

// An edit of a subgraph is cut off at each write, before it is done and before its reply. Then the
// record of decisions has the edit if it was made, and not if it was not; the root lists no
// question that the subgraph does not ask; and every answer that is taken is used.
//
// Requirement: Subgraphs
func TestEditOfAChild_SurvivesACrashAnywhere(t *testing.T) {
	for name, edit := range map[string]struct {
		at uint64
		as string
		id string
	}{"in the name of the node that asked": {0, "b", ""}, "as the end": {0, graph.End, ""}, "of the values": {0, "", ""}, "at an older commit": {2, "", ""},
		"under an id of the caller": {0, "b", "call-1"}} {
		t.Run(name, func(t *testing.T) {
			eachWaiting(t, func(t *testing.T, start func() *journey, deep func(string) string) {
				for _, then := range []string{"resumed", "edited", "gone back"} {
					for n := 0; ; n += racescale.Of(1, 3) { // each write twice, or two of three once
						j := start()
						before, err := graph.Inspect(ctx, j.cfg.Store, checkpoint.Key{Thread: "t1", Namespace: j.ns})
						if err != nil {
							t.Fatal(err)
						}
						broken := &stopsAfter{Store: j.inside, lost: n%2 == 1}
						broken.left.Store(int32(n / 2))
						cfg := graph.Config{Store: j.over(broken), Nested: j.kind}
						o := j.at(edit.at)
						o.ID = edit.id
						_, err = asking(t, &j.ran, cfg).Edit(ctx, [][]graph.Edit[inner]{{word(edit.as, "edited")}}, o)
						whole := err == nil
						after, err := graph.Inspect(ctx, j.cfg.Store, checkpoint.Key{Thread: "t1", Namespace: j.ns})
						if err != nil {
							t.Fatal(err)
						}
						want, made := 0, after.Checkpoint > before.Checkpoint
						if made {
							want = 1
						}
						if got := j.changes(t); got != want {
							t.Errorf("the record has %d edits, want %d", got, want)
						}
						asks := j.open(t, j.ns)
						for _, id := range j.open(t, "") {
							if !slices.Contains(asks, id) {
								t.Errorf("the root lists the question %s, and the subgraph asks %v", id, asks)
							}
						}
						switch then {
						case "edited":
							if _, err := j.child.Edit(ctx, [][]graph.Edit[inner]{{word("", "again")}}, j.at(0)); err != nil {
								t.Fatal(err)
							}
							want++
						case "gone back":
							res, err := j.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", At: 1})
							ended(t, graph.Interrupted, res, err)
						}
						log := j.end(t)
						if strings.Contains(log, "edited") != made && then != "gone back" {
							t.Errorf("the log is %q, and the edit was made: %v", log, made)
						}
						if err := checkpoint.Prune(ctx, j.cfg.Store, "t1", checkpoint.Keep{Last: 1}); err != nil {
							t.Fatal(err)
						}
						if got := j.changes(t); got != want {
							t.Errorf("at the end the record has %d edits, want %d", got, want)
						}
						if t.Failed() {
							t.Fatalf("cut off at write %d, done %v, then %s; the edit was made: %v", n/2+1, n%2 == 1, then, made)
						}
						if whole {
							break
						}
					}
				}
			})
		})
	}
}

// An edit that was announced and not made is not in the record. A run with its id may commit a step
// of the subgraph with the number that was announced.
//
// Requirement: Subgraphs
func TestEditOfAChild_IsNoStepOfARunWithItsID(t *testing.T) {
	announced := 0
	for n := int32(0); ; n++ {
		j := &journey{over: untyped, inside: new(checkpoint.Memory)}
		j.cfg = graph.Config{Store: j.inside}
		j.child = asking(t, &j.ran, j.cfg)
		j.Graph = build(t, parallel(map[string]graph.Node[world]{"n": hosts(j.child, "", nil)}), j.cfg)
		j.ns = invoke(t, j.Graph, "t1", graph.Interrupted).Interrupts[0].Namespace
		broken := &stopsAfter{Store: j.inside}
		broken.left.Store(n)
		o := j.at(0)
		o.ID = "call-1"
		_, err := asking(t, &j.ran, graph.Config{Store: broken}).Edit(ctx, [][]graph.Edit[inner]{{word("", "edited")}}, o)
		if err == nil {
			break
		}
		made := j.changes(t)
		res, err := j.Resume(ctx, graph.Reply("a1"), graph.RunOptions{Thread: "t1", ID: "call-1"})
		ended(t, graph.Interrupted, res, err)
		if got := j.changes(t); got != made {
			t.Errorf("cut off at write %d, the record has %d edits after a step, want %d", n+1, got, made)
		}
		announced++
	}
	if announced < 2 {
		t.Errorf("the edit was cut off at %d writes, want one after its announcement", announced)
	}
}

// The questions of other subgraphs stay as they are, and edits of several steps are one record
// each.
//
// Requirement: Subgraphs
func TestEditAsAChildsNode_LeavesOtherQuestionsOpen(t *testing.T) {
	eachStore(t, func(t *testing.T, over func(checkpoint.Store) checkpoint.Store) {
		j := &journey{over: over, cfg: graph.Config{Store: over(new(checkpoint.Memory))}}
		j.child = asking(t, &j.ran, j.cfg)
		nodes := map[string]graph.Node[world]{"n": hosts(j.child, "", nil), "o": hosts(j.child, "", nil)}
		j.Graph = build(t, parallel(nodes), j.cfg)
		res := invoke(t, j.Graph, "t1", graph.Interrupted)
		asked(t, res, "A A")
		j.ns = res.Interrupts[0].Namespace
		other := res.Interrupts[1].ID
		if _, err := j.child.Edit(ctx, [][]graph.Edit[inner]{{word("a", "one")}, {word("b", "two")}}, j.at(0)); err != nil {
			t.Fatal(err)
		}
		if open := j.open(t, ""); !slices.Equal(open, []string{other}) || j.changes(t) != 2 {
			t.Errorf("open are %v, want %v; %d edits are recorded, want 2", open, other, j.changes(t))
		}
		asked(t, resume(t, j.Graph, graph.Answers{}, graph.Interrupted), "A")
		j.ran.want(t, "s2", 1) // of the one that was edited
		asked(t, resume(t, j.Graph, graph.Answer(other, "a2"), graph.Interrupted), "B")
		logged(t, resume(t, j.Graph, graph.Reply("b2"), graph.Done), "s1 one two s2 s1 A=a2 B=b2 s2")
	})
}

// At an older commit nothing is open. An answer to it is refused before the thread goes back.
func TestResumeAtAnOlderCommit_WithAnAnswerChangesNothing(t *testing.T) {
	eachJourney(t, func(t *testing.T, j *journey, _ func(string) string) {
		before := tree(t, j.cfg)
		for _, run := range []graph.RunOptions{j.at(2), {Thread: "t1", At: 1}} {
			_, err := j.Resume(ctx, graph.Reply("early"), run)
			is(t, err, graph.ErrUnknownQuestion)
		}
		if after := tree(t, j.cfg); after != before {
			t.Errorf("the history is now %s, was %s", after, before)
		}
	})
}
