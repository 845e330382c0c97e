package graph_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// clock is a clock that tests set.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

// timed is a graph of a node that asks x for an hour and y without a limit, both at once, and logs
// the outcome.
func timed(t testing.TB, ran *counter, c *clock) (*graph.Graph[world], graph.Config) {
	cfg := stored()
	cfg.Now = c.read
	return build(t, parallel(map[string]graph.Node[world]{"a": graph.Func(func(ctx context.Context, s *world) error {
		ran.add("a")
		x, errX := graph.Ask[string](ctx, graph.Question{Prompt: "x", Timeout: time.Hour})
		y, errY := graph.Ask[string](ctx, graph.Question{Prompt: "y"})
		for _, err := range []error{errX, errY} {
			switch {
			case errors.Is(err, graph.ErrExpired):
				s.Log.Append("expired")
			case errors.Is(err, graph.ErrDeclined):
				s.Log.Append(err.Error())
			case err != nil:
				return err
			}
		}
		s.Log.Append(x, y)
		return nil
	})}), cfg), cfg
}

// Requirement: Questions expire, and are declined
func TestQuestion_Expires(t *testing.T) {
	var ran counter
	c := &clock{time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	g, _ := timed(t, &ran, c)
	res := invoke(t, g, "t1", graph.Interrupted)
	asked(t, res, "x y")
	if at := res.Interrupts[0].Expires; !at.Equal(c.now.Add(time.Hour)) || !res.Interrupts[1].Expires.IsZero() {
		t.Errorf("x expires at %v, y at %v", at, res.Interrupts[1].Expires)
	}
	x, y := idOf(t, res, "x"), idOf(t, res, "y")
	c.now = c.now.Add(59 * time.Minute)
	resume(t, g, graph.Answers{}, graph.Interrupted)
	ran.want(t, "a", 1) // nothing has changed
	c.now = c.now.Add(time.Minute)
	_, err := g.Resume(ctx, graph.Answer(x, "late"), t1)
	is(t, err, graph.ErrExpired, "x", "13:00")
	res = resume(t, g, graph.Answers{}, graph.Interrupted)
	asked(t, res, "y")
	ran.want(t, "a", 2)
	c.now = c.now.Add(-24 * time.Hour) // an expired question stays expired if the clock goes back
	res = resume(t, g, graph.Answer(y, "Y"), graph.Done)
	logged(t, res, "expired  Y")
}

// Requirement: Questions expire, and are declined
func TestExpiry_DoesNotMoveWhenTheNodeRunsAgain(t *testing.T) {
	var ran counter
	c := &clock{time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	g, _ := timed(t, &ran, c)
	res := invoke(t, g, "t1", graph.Interrupted)
	want := res.Interrupts[0].Expires
	c.now = c.now.Add(30 * time.Minute)
	res = resume(t, g, graph.Answer(idOf(t, res, "y"), "Y"), graph.Interrupted)
	asked(t, res, "x")
	if got := res.Interrupts[0].Expires; !got.Equal(want) {
		t.Errorf("x now expires at %v, was %v", got, want)
	}
}

// Requirement: Questions expire, and are declined
func TestExpiry_NewInputMayReplaceExpiredQuestions(t *testing.T) {
	var ran counter
	c := &clock{time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	g, _ := timed(t, &ran, c)
	res := invoke(t, g, "t1", graph.Interrupted)
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, graph.ErrWaiting)
	resume(t, g, graph.Answer(idOf(t, res, "y"), "Y"), graph.Interrupted)
	c.now = c.now.Add(time.Hour)
	asked(t, invoke(t, g, "t1", graph.Interrupted), "x y")
}

// Requirement: Questions expire, and are declined
func TestQuestion_Declined(t *testing.T) {
	var ran counter
	c := &clock{time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	g, cfg := timed(t, &ran, c)
	res := invoke(t, g, "t1", graph.Interrupted)
	x, y := idOf(t, res, "x"), idOf(t, res, "y")
	res = resume(t, g, graph.Decline(y, "not mine"), graph.Interrupted)
	asked(t, res, "x")
	resume(t, g, graph.Decline(y, "not mine"), graph.Interrupted) // the same again is no mistake
	_, err := g.Resume(ctx, graph.Answer(y, "Y"), t1)
	is(t, err, graph.ErrUnknownQuestion)
	_, err = g.Resume(ctx, graph.Decline(x, "a").Answer(x, "b"), t1)
	is(t, err, graph.ErrAnswer, "declined: a", `"b"`)
	res = resume(t, g, graph.Answer(x, "X"), graph.Done)
	logged(t, res, `graph: the question was declined: "y": not mine X `)
	if p, _ := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); len(p.Answered) != 2 {
		t.Errorf("answered are %v, want both", p.Answered)
	}
}

// Requirement: Questions expire, and are declined
func TestQuestion_ThatWasClosedIsAskedAgain(t *testing.T) {
	for name, closes := range map[string]graph.Answers{"expired": {}, "declined": graph.Answers{}.Decline("", "not mine")} {
		t.Run(name, func(t *testing.T) {
			cfg, c := stored(), &clock{time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
			cfg.Now = c.read
			var ran counter
			ask := func(q string) graph.Node[world] {
				return graph.Func(func(ctx context.Context, s *world) error {
					ran.add(q)
					x, err := graph.Ask[string](ctx, graph.Question{Prompt: q, Timeout: time.Hour})
					s.Log.Append(x)
					return err
				})
			}
			g := build(t, parallel(map[string]graph.Node[world]{"a": ask("x"), "b": logsNth("b", &ran)}), cfg)
			invoke(t, g, "t1", graph.Interrupted)
			if name == "expired" {
				c.now = c.now.Add(time.Hour)
			}
			for range 2 { // the question stays closed
				_, err := g.Resume(ctx, closes, t1)
				is(t, err, map[string]error{"expired": graph.ErrExpired, "declined": graph.ErrDeclined}[name], "x")
				closes = graph.Answers{}
			}
			atHead := graph.RunOptions{Thread: "t1", At: 1}
			res, err := g.Resume(ctx, graph.Answers{}, atHead)
			asked(t, ended(t, graph.Interrupted, res, err), "x")
			if got, want := tree(t, cfg), "1 input; 2 fork on 2"; got != want {
				t.Errorf("the history is %q, want %q", got, want)
			}
			atHead.At = 2 // its question is open, so this goes on
			res, err = g.Resume(ctx, graph.Reply("yes"), atHead)
			logged(t, ended(t, graph.Done, res, err), "yes b2")
			if got, want := tree(t, cfg), "1 input; 2 fork on 2; 3 step on 2 a,b"; got != want {
				t.Errorf("the history is %q, want %q", got, want)
			}
		})
	}
}

// An edit at the newest commit asks its closed question again too, and loses no decision.
func TestQuestion_ThatWasClosedIsAskedAgainAfterAnEdit(t *testing.T) {
	cfg := stored()
	g := build(t, parallel(map[string]graph.Node[world]{"a": asks("a", new(counter), "x")}), cfg)
	invoke(t, g, "t1", graph.Interrupted)
	_, err := g.Resume(ctx, graph.Answers{}.Decline("", "not mine"), t1)
	is(t, err, graph.ErrDeclined)
	edit := func(s *world) error { s.Name.Set("edited"); return nil }
	if _, err := g.Patch(ctx, edit, graph.RunOptions{Thread: "t1", At: 1}); err != nil {
		t.Fatal(err)
	}
	res := resume(t, g, graph.Answers{}, graph.Interrupted)
	asked(t, res, "x")
	res = resume(t, g, graph.Reply("yes"), graph.Done)
	if logged(t, res, "a x=yes"); res.State.Name.Get() != "edited" {
		t.Errorf("the name is %q, want %q", res.State.Name.Get(), "edited")
	}
	want := `decline a not mine by "" via go
change   by "" via go [name]
respond a "yes" by "" via go
`
	if got := decisions(t, cfg.Store, "t1"); got != want {
		t.Errorf("the decisions are\n%s\nwant\n%s", got, want)
	}
}
