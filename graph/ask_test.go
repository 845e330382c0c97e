package graph_test

// These tests cover the cases of LangGraph's tests of questions and static interrupts.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// Requirement: Siblings keep their work
func TestStep_WithOneAnswerAndOneFailure(t *testing.T) {
	var ran counter
	mended := false
	cfg := stored()
	asking := make(chan struct{}, 1)
	g := build(t, parallel(map[string]graph.Node[world]{
		"ask": graph.Func(func(ctx context.Context, s *world) error {
			ran.add("ask")
			answer, err := graph.Ask[string](ctx, graph.Question{Prompt: "x"})
			asking <- struct{}{}
			s.Log.Append("ask " + answer)
			return err
		}),
		"bad": graph.Func(func(_ context.Context, s *world) error {
			ran.add("bad")
			<-asking // a failure before the question would stop it
			if !mended {
				return errBoom
			}
			s.Log.Append("bad")
			return nil
		}),
	}), cfg)
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, errBoom, `node "bad"`)
	if p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); err != nil || len(p.Interrupts) != 1 || p.Interrupts[0].Prompt != "x" || len(p.Failures) != 1 {
		t.Errorf("the thread is %+v, %v; want the question and the failure", p, err)
	}
	mended = true
	logged(t, resume(t, g, graph.Reply("yes"), graph.Done), "ask yes bad")
	ran.want(t, "ask", 2)
	ran.want(t, "bad", 2)
}

// A task that a failure cuts off before it has used an answer runs with it in the next call, even
// though another of its questions has no answer.
//
// Requirement: Siblings keep their work
func TestStep_AnswerIsUsedAfterAFailureCutItOff(t *testing.T) {
	var ran counter
	mended := false
	cfg := stored()
	cfg.Concurrency = 1
	g := build(t, parallel(map[string]graph.Node[world]{
		"bad": graph.Func(func(ctx context.Context, s *world) error {
			if _, err := graph.Ask[string](ctx, graph.Question{Prompt: "b"}); err != nil || mended {
				return err
			}
			return errBoom // before "pays" has run again
		}),
		"pays": graph.Func(func(ctx context.Context, s *world) error {
			ran.add("pays")
			who, err := graph.Ask[string](ctx, graph.Question{Prompt: "who"})
			if who != "none" {
				_, why := graph.Ask[string](ctx, graph.Question{Prompt: "why"})
				err = errors.Join(err, why)
			}
			s.Log.Append("paid " + who)
			return err
		}),
	}), cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	asked(t, res, "b who why")
	_, err := g.Resume(ctx, graph.Answer(idOf(t, res, "b"), "").Answer(idOf(t, res, "who"), "none"), t1)
	is(t, err, errBoom, `node "bad"`)
	ran.want(t, "pays", 1)
	mended = true
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "paid none")
	ran.want(t, "pays", 2)
}

func TestQuestion_WithoutAStorePausesTheRun(t *testing.T) {
	var ran counter
	g := single(t, asks("a", &ran, "x"), graph.Policy{}, graph.Config{})
	res := invoke(t, g, "", graph.Interrupted)
	asked(t, res, "x")
	_, err := g.Resume(ctx, graph.Reply("1"), graph.RunOptions{})
	is(t, err, graph.ErrNoStore)
}

func TestExit_PausedRunHasOneCommit(t *testing.T) {
	var ran counter
	cfg := stored()
	b := graph.New[world]("exit")
	line(b, "a", "b")
	b.Node("c", asks("c", &ran, "x"))
	b.Edge("b", "c")
	b.Edge("c", graph.End)
	g := build(t, b, cfg)
	res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: graph.Exit})
	asked(t, ended(t, graph.Interrupted, res, err), "x")
	if got := tree(t, cfg); got != "1 step b" {
		t.Errorf("the history is %q, want one commit", got)
	}
	logged(t, resume(t, g, graph.Reply("1"), graph.Done), "a b c x=1")
}

// The writes of a node that asks stay invisible until the node has finished.
func TestQuestion_StateDoesNotChangeWhileItsNodeAsks(t *testing.T) {
	var ran counter
	cfg := stored()
	b := graph.New[world]("asks")
	line(b, "first")
	b.Node("a", asks("a", &ran, "x", "y"))
	b.Edge("first", "a")
	b.Edge("a", graph.End)
	g := build(t, b, cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	for _, w := range []string{"x", "y"} {
		asked(t, res, w)
		logged(t, res, "first")
		if got := logAt(t, g, 0); got != "first" || res.Checkpoint != 2 {
			t.Errorf("while %s is open the thread holds %q at commit %d, want first at 2", w, got, res.Checkpoint)
		}
		r, err := g.Resume(ctx, graph.Reply(w), t1)
		is(t, err, nil)
		res = r
	}
	logged(t, res, "first a x=x y=y")
	if got := tree(t, cfg); got != "1 input; 2 step first; 3 step a" {
		t.Errorf("the history is %q: questions make no commits", got)
	}
}

// Unlike in LangGraph, a node whose question stays open does not run again.
//
// Requirement: Every question counts
func TestAnswer_OnlyItsTaskRunsAgain(t *testing.T) {
	var ran counter
	g, res := two(t, &ran)
	res = resume(t, g, graph.Answer(idOf(t, res, "x"), "1"), graph.Interrupted)
	asked(t, res, "y")
	ran.want(t, "a", 2)
	ran.want(t, "b", 1)
	logged(t, resume(t, g, graph.Reply("2"), graph.Done), "a x=1 b y=2")
	ran.want(t, "a", 2)
	ran.want(t, "b", 2)
}

// Resume passes a static interrupt. An answer belongs to a question: at a pause without a question
// it is an error, and the pause stays.
func TestStaticInterrupt_TakesNoAnswer(t *testing.T) {
	cfg := stored()
	cfg.InterruptBefore = []string{"b"}
	b := graph.New[world]("static")
	line(b, "a", "b")
	g := build(t, b, cfg)
	pauses(t, invoke(t, g, "t1", graph.Interrupted), "before:b")
	_, err := g.Resume(ctx, graph.Reply("any"), t1)
	is(t, err, graph.ErrUnknownQuestion)
	if got := logAt(t, g, 0); got != "a" {
		t.Errorf("after an answer to nothing the log is %q", got)
	}
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "a b")
}

// The run does not pause before Start, which is no node, or after its last node.
func TestPause_NeedsNoChangeOfTheState(t *testing.T) {
	for d, commits := range map[graph.Durability][]uint64{graph.Sync: {2, 3, 4}, graph.Async: {2, 3, 4}, graph.Exit: {1, 2, 3}} {
		cfg := stored()
		cfg.InterruptAfter = []string{"*"}
		b := graph.New[world]("silent")
		from := graph.Start
		for _, n := range []string{"a", "b", "c"} {
			b.Node(n, graph.Func(nop))
			b.Edge(from, n)
			from = n
		}
		b.Edge(from, graph.End)
		g := build(t, b, cfg)
		o := graph.RunOptions{Thread: "t1", Durability: d}
		res, err := g.Invoke(ctx, world{}, o)
		for i, at := range []string{"after:a", "after:b", ""} {
			if is(t, err, nil); res.Checkpoint != commits[i] {
				t.Errorf("%v: pause %q is at commit %d, want %d", d, at, res.Checkpoint, commits[i])
			}
			pauses(t, res, at)
			if at != "" {
				res, err = g.Resume(ctx, graph.Answers{}, o)
			}
		}
		ended(t, graph.Done, res, err)
	}
}

// Where LangGraph calls back on an interrupt and on a resume, Weft emits events. A reader that
// panics has only left.
//
// Requirement: events: questions
func TestEvents_QuestionAndAnswerComeOnce(t *testing.T) {
	var ran counter
	cfg := stored()
	c := child(t, &ran, graph.Config{}, func(ctx context.Context, s *inner) error {
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "q"})
		return err
	})
	g := build(t, parallel(map[string]graph.Node[world]{"in": hosts(c, "", nil)}), cfg)
	live := g.Start(ctx, world{}, graph.RunOptions{Thread: "t1", Hold: true})
	events := live.Events(graph.Tasks)
	bad := live.Events(graph.Tasks)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the reader did not panic")
			}
		}()
		for range bad {
			panic("a bad reader")
		}
	}()
	asked, ends := askings(t, events)
	res, err := live.Wait()
	ended(t, graph.Interrupted, res, err)
	id, ns := res.Interrupts[0].ID, res.Interrupts[0].Namespace
	if want := fmt.Sprintf("c2@%s %s; in@ %s", ns, id, id); strings.Join(asked, "; ") != want || !strings.HasPrefix(ns, "in:") {
		t.Errorf("the events of questions are %q, want each level of the question once: %s", asked, want)
	}
	if want := fmt.Sprint("interrupted ", res.Checkpoint, " ", id); ends != want {
		t.Errorf("the event of the end is %q, want %q", ends, want)
	}
	asked, ends = askings(t, g.StreamResume(ctx, graph.Reply(true), graph.RunOptions{Thread: "t1", Modes: graph.Tasks}))
	if len(asked) != 0 || ends != "done 2 " {
		t.Errorf("after the answer %q ask, and the end is %q", asked, ends)
	}
}

// The id of a question depends on its place: it is the same in another process, and differs in
// another namespace, thread, turn and call.
//
// Requirement: Every question counts
func TestQuestionID_ComesFromItsPlace(t *testing.T) {
	ask := func(ctx context.Context, s *inner) error {
		_, err1 := graph.Ask[bool](ctx, graph.Question{Prompt: "q"})
		_, err2 := graph.Ask[bool](ctx, graph.Question{Prompt: "q"})
		_, err3 := graph.Ask[bool](ctx, graph.Question{Prompt: "q", Key: "k"})
		for _, err := range []error{err1, err2, err3} {
			if err != nil {
				return err
			}
		}
		return nil
	}
	ids := func(store checkpoint.Store, thread string) (all []string) {
		n := 0
		cfg := graph.Config{Store: store, NewID: func() string { n++; return fmt.Sprint(thread, n) }}
		var ran counter
		c := child(t, &ran, graph.Config{}, ask)
		g := build(t, parallel(map[string]graph.Node[world]{"x": hosts(c, "", nil), "y": hosts(c, "", nil)}), cfg)
		o := graph.RunOptions{Thread: thread, OnOpenQuestions: graph.Discard}
		for range 2 { // two turns
			res, err := g.Invoke(ctx, world{}, o)
			for _, in := range ended(t, graph.Interrupted, res, err).Interrupts {
				all = append(all, in.ID)
			}
		}
		p, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: thread})
		is(t, err, nil)
		for i, in := range p.Interrupts { // as another process reads it
			if in.ID != all[6+i] {
				t.Errorf("question %d has the id %s in its event and %s in the store", i, all[6+i], in.ID)
			}
		}
		return all
	}
	first, again := ids(new(checkpoint.Memory), "t1"), ids(new(checkpoint.Memory), "t1")
	if fmt.Sprint(first) != fmt.Sprint(again) {
		t.Errorf("the same place has the ids %v and %v", first, again)
	}
	seen := map[string]bool{}
	for _, id := range append(first, ids(new(checkpoint.Memory), "t2")...) {
		seen[id] = true
	}
	if len(seen) != 24 { // two threads, two turns, two namespaces, three calls
		t.Errorf("24 questions have %d ids", len(seen))
	}
}

// askings returns the events of tasks that ask, with namespace and questions, and the event of the
// end.
func askings(t *testing.T, events iter.Seq2[graph.Event, error]) (asked []string, end string) {
	t.Helper()
	for ev, err := range events {
		is(t, err, nil)
		var ids []string
		for _, in := range ev.Interrupts {
			ids = append(ids, in.ID)
		}
		switch {
		case ev.Phase == graph.Asking:
			asked = append(asked, fmt.Sprintf("%s@%s %s", ev.Node, ev.Namespace, strings.Join(ids, " ")))
		case ev.Mode == graph.Ended:
			end = fmt.Sprint(ev.Status, " ", ev.Checkpoint, " ", strings.Join(ids, " "))
		}
	}
	return asked, end
}
