package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

func TestMarkSeen_DoesNotWaitForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := stored()
		res := invoke(t, polite(t, cfg), "t1", graph.Interrupted)
		id := res.Interrupts[0].ID
		held, err := checkpoint.Hold(ctx, cfg.Store, "t1", checkpoint.HoldOptions{})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var busy *checkpoint.BusyError
		if err := graph.MarkSeen(ctx, cfg.Store, "t1", id); !errors.As(err, &busy) || time.Since(began) != 0 {
			t.Errorf("got %v after %v, want a BusyError at once", err, time.Since(began))
		}
		if err := held.Release(ctx); err != nil {
			t.Fatal(err)
		}
		lease := checkpoint.LeaseRequest{Thread: "t1", Owner: "one that crashed", TTL: time.Second}
		if _, err := cfg.Store.(checkpoint.Leaser).Acquire(ctx, lease); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := graph.MarkSeen(ctx, cfg.Store, "t1", id); err != nil {
			t.Error(err)
		}
		if p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); err != nil || !p.Interrupts[0].Seen {
			t.Errorf("%v: %v is not seen", err, p.Interrupts)
		}
	})
}

func TestErrors_NameWhatIsMissingAndWhere(t *testing.T) {
	g := polite(t, stored())
	invoke(t, g, "t1", graph.Interrupted)
	fail := func() (graph.Command, error) { return graph.Command{}, errBoom }
	edit := func(as string, do func(*world) (graph.Command, error)) error {
		_, err := g.Edit(ctx, [][]graph.Edit[world]{{{As: as, Do: do}}}, t1)
		return err
	}
	for name, c := range map[string]struct {
		err  error
		kind error
		text string
	}{
		"commit":    {second(g.Thread("t1").State(ctx, 9)), graph.ErrUnknownThread, `no such commit: thread "t1" has no commit 9`},
		"namespace": {second(g.Thread("t1").In("x").State(ctx, 0)), graph.ErrUnknownThread, `no such namespace: thread "t1", namespace "x"`},
		"thread":    {second(g.Thread("t2").State(ctx, 0)), graph.ErrUnknownThread, `no such thread: "t2"`},
		"patch":     {edit("", func(*world) (graph.Command, error) { return fail() }), errBoom, `graph "polite": an edit: step`},
		"end":       {edit(graph.End, func(*world) (graph.Command, error) { return fail() }), errBoom, `graph "polite": an edit: step`},
		"edit":      {edit("unknown", nil), graph.ErrEdit, `graph "polite": thread "t1": graph: bad edit: "unknown" is not a node`},
		"start":     {edit(graph.Start, func(*world) (graph.Command, error) { return graph.Goto("a"), nil }), graph.ErrEdit, `thread "t1"`},
	} {
		if !errors.Is(c.err, c.kind) || !strings.Contains(c.err.Error(), c.text) || strings.Contains(c.err.Error(), `node ""`) {
			t.Errorf("%s: got %v, want one that has %s", name, c.err, c.text)
		}
	}
	b := graph.New[world]("typed")
	b.Node("r", goes("r", graph.Send("w", "text"), "w"))
	b.Node("w", graph.Worker(takesInt))
	b.Edge(graph.Start, "r")
	b.Edge("w", graph.End)
	_, err := build(t, b, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
	if err == nil || !strings.Contains(err.Error(), `is of type string, not int`) {
		t.Error(err)
	}
}

func second[A, B any](_ A, _ B, err error) error { return err }

func TestProgram_EdgeToEndCounts(t *testing.T) {
	programOf := func(ends bool) string {
		cfg := stored()
		b := graph.New[world]("ends")
		b.Node("a", graph.Router(func(context.Context, *world) (graph.Command, error) { return graph.Goto(graph.End), nil }, graph.End))
		b.Edge(graph.Start, "a")
		if ends {
			b.Edge("a", graph.End)
		}
		invoke(t, build(t, b, cfg), "t1", graph.Done)
		p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"})
		if err != nil {
			t.Fatal(err)
		}
		return p.Program
	}
	if with := programOf(true); with == programOf(false) || with != programOf(true) {
		t.Error("an edge to End does not show in the hash of the program")
	}
}
