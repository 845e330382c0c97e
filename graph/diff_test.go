package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// changesOf returns a difference as text, one change a line.
func changesOf(d graph.Difference) string {
	var b strings.Builder
	fmt.Fprintf(&b, "from %d to %d, base %d\n", d.From, d.To, d.Base)
	for _, c := range d.Changes {
		fmt.Fprintf(&b, "%s (%s): %s -> %s by", c.Field, c.Type, c.Before, c.After)
		for _, w := range c.Writers {
			fmt.Fprintf(&b, " %d:%s:%s", w.Checkpoint, w.Source, w.Node)
		}
		b.WriteString("\n")
	}
	for _, p := range d.Path {
		for _, r := range p.Ran {
			for _, w := range r.Ways {
				fmt.Fprintf(&b, "%s goes to %s because %s\n", r.Node, w.To, w.Why)
			}
		}
	}
	return b.String()
}

func TestDiff_NamesTheWritersAndTheReasons(t *testing.T) {
	cfg := stored()
	b := graph.New[world]("diff")
	b.Node("a", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		s.Log.Append("a")
		s.Name.Set("by a")
		s.Draft.Append("draft")
		return graph.Goto("b", "c").WithReason("the name is %q", s.Name.Get()), nil
	}, "b", "c"))
	b.Node("b", logs("b"))
	b.Node("c", graph.Func(func(_ context.Context, s *world) error { s.Log.Append("c"); s.Count.Add(2); return nil }))
	b.Edge(graph.Start, "a")
	b.Edge("b", graph.End)
	b.Edge("c", graph.End)
	g := build(t, b, cfg)
	res, err := g.Invoke(ctx, world{Other: state.Of("in")}, t1)
	ended(t, graph.Done, res, err)
	if _, err := g.Patch(ctx, func(s *world) error { s.Count.Add(40); return nil }, t1); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to uint64
		want     string
	}{
		{1, 3, `from 1 to 3, base 1
name (state.Value[string]): null -> "by a" by 2:step:a
log (state.List[string]): null -> ["a","b","c"] by 2:step:a 3:step:b 3:step:c
count (state.Sum[int]): null -> 2 by 3:step:c
draft (state.List[string]): null -> ["draft"] by 2:step:a
a goes to b because the name is "by a"
a goes to c because the name is "by a"
`},
		{3, 4, "from 3 to 4, base 3\ncount (state.Sum[int]): 2 -> 42 by 4:update:\n"},
		{4, 3, "from 4 to 3, base 3\ncount (state.Sum[int]): 42 -> 2 by\n"},
		{2, 2, "from 2 to 2, base 2\n"},
	} {
		d, err := g.Thread("t1").Diff(ctx, c.from, c.to)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(changesOf(d), ": [] ->", ": null ->"); strings.ReplaceAll(got, ":  ->", ": null ->") != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
	_, err = g.Thread("t1").Diff(ctx, 1, 77)
	is(t, err, graph.ErrUnknownThread, "77")
}

func TestDiff_BranchesStartFromTheirBase(t *testing.T) {
	var ran counter
	cfg := stored()
	g := chainOf(t, &ran, cfg, "a", "b", "c")
	invoke(t, g, "t1", graph.Done) // 1 to 4
	res, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", At: 2})
	ended(t, graph.Done, res, err) // 5 to 7
	d, err := g.Thread("t1").Diff(ctx, 4, 7)
	if err != nil {
		t.Fatal(err)
	}
	want := "from 4 to 7, base 2\nlog (state.List[string]): [\"a1\",\"b1\",\"c1\"] -> [\"a1\",\"b2\",\"c2\"] by 6:step:b 7:step:c\n"
	if got := changesOf(d); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
