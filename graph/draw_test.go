package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// gallery is a graph with each element that can be drawn.
func gallery(t testing.TB, cfg graph.Config) *graph.Graph[world] {
	var ran counter
	b := graph.New[world]("gallery")
	b.Node("plan", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		s.Log.Append("plan")
		if s.Log.Len() < 2 {
			return graph.Goto("plan").Send("work", 1).Send("work", 2), nil
		}
		return graph.Goto("child"), nil
	}, "plan", "work", "child", graph.End))
	b.Node("work", graph.Worker(takesInt))
	b.Node("child", hosts(child(t, &ran, graph.Config{}, nil), "", nil))
	b.Node("both", logs("both"))
	b.Node(`q"<`, logs("q"))
	b.Edge(graph.Start, "plan")
	b.Edge("child", `q"<`)
	b.Edge("work", graph.End)
	b.Join("both", "work", "child")
	b.Edge("both", graph.End)
	b.Edge(`q"<`, graph.End)
	b.Defer("both")
	b.OnError("child", graph.Handler(func(context.Context, *world, *graph.NodeError) (graph.Command, error) {
		return graph.Goto("plan"), nil
	}, "plan"))
	return build(t, b, cfg)
}

const mermaidGallery = `flowchart TD
  start([start])
  n0["both (deferred)"]
  n1[/"child"/]
  n2{{"plan"}}
  n3["q#quot;#lt;"]
  n4[["work"]]
  stop([end])
  start --> n2
  n0 --> stop
  n1 --> n3
  n1 ==> n0
  n1 -.->|error| n2
  n2 -.-> n2
  n2 -.-> n4
  n2 -.-> n1
  n2 -.-> stop
  n3 --> stop
  n4 --> stop
  n4 ==> n0
`

const textGallery = `gallery
└── plan
   ├─? plan ↑
   ├─? work [worker]
   │  ├── end
   │  └─& both (deferred)
   │     └── end
   ├─? child
   │  ├── q"<
   │  │  └── end
   │  ├─& both (deferred) ↑
   │  └─! plan ↑
   └─? end
`

func TestDraw_Graph(t *testing.T) {
	d := gallery(t, graph.Config{}).Draw(0)
	for name, c := range map[string][2]string{"mermaid": {d.Mermaid(), mermaidGallery}, "text": {d.Text(), textGallery}} {
		if c[0] != c[1] {
			t.Errorf("%s is\n%s\nwant\n%s", name, c[0], c[1])
		}
	}
	dot := d.DOT()
	for _, line := range []string{`digraph "gallery" {`, `n3 [label="q\"<"]`, `n2 -> n4 [style=dashed]`, `n4 -> n0 [penwidth=3]`, `n1 -> n2 [style=dashed, color=red]`} {
		if !strings.Contains(dot, line) {
			t.Errorf("the DOT does not hold %s:\n%s", line, dot)
		}
	}
	var again graph.Drawing
	data, err := json.Marshal(d)
	if err == nil {
		err = json.Unmarshal(data, &again)
	}
	if err != nil || again.Mermaid() != d.Mermaid() {
		t.Errorf("the drawing does not survive JSON: %v", err)
	}
}

func TestDraw_Labels(t *testing.T) {
	b := graph.New[world]("labels")
	b.Node("a", graph.Router(func(context.Context, *world) (graph.Command, error) { return graph.Goto("b"), nil }, "b", graph.End))
	b.Node("b", logs("b"))
	b.Label("a", "b", `x < "1"`)
	b.Label("a", "b", "y is\n set")
	b.Label("a", "b", `x < "1"`) // again
	b.Label("a", graph.End, "p or q")
	b.Label("a", graph.End, "p or q")
	b.Label("a", graph.End, "else")
	b.Label("a", graph.End, "p or q")
	b.Edge(graph.Start, "a")
	b.Edge("b", graph.End)
	g := build(t, b, stored())
	invoke(t, g, "t1", graph.Done)
	d, err := g.Thread("t1").Draw(ctx, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		d.Mermaid(): `n0 -.->|"x #lt; #quot;1#quot; or y is set ×1"| n1`, d.DOT(): `label="x < \"1\" or y is set ×1"`, d.Text(): `? b ✓: x < "1" or y is set`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %s in\n%s", want, text)
		}
	}
	if text := d.Text(); !strings.Contains(text, "p or q or else") || strings.Count(text, "p or q") != 1 {
		t.Errorf("want the label p or q or else in\n%s", text)
	}
	for _, wrong := range [][3]string{{"a", "c", "x"}, {"b", graph.End, "x"}, {"c", "a", "x"}, {"a", "b", " "}} {
		b := graph.New[world]("wrong")
		b.Node("a", graph.Router(func(context.Context, *world) (graph.Command, error) { return graph.Goto("b"), nil }, "b"))
		b.Node("b", logs("b"))
		b.Edge(graph.Start, "a")
		b.Edge("b", graph.End)
		b.Label(wrong[0], wrong[1], wrong[2])
		if _, err := b.Compile(graph.Config{}); err == nil || !strings.Contains(err.Error(), "label") {
			t.Errorf("the label %q is accepted: %v", wrong, err)
		}
	}
}

// A choice and the way of an error handler may lead to the same node. Each counts its own.
func TestDraw_CountsChoicesAndHandlersApart(t *testing.T) {
	b := graph.New[world]("both")
	b.Node("a", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		switch s.Log.Len() {
		case 0:
			return graph.Goto("b"), nil
		case 1, 2:
			return graph.Command{}, errors.New("broken")
		}
		return graph.Goto(graph.End), nil
	}, "b", graph.End))
	b.OnError("a", graph.Handler(func(context.Context, *world, *graph.NodeError) (graph.Command, error) { return graph.Goto("b"), nil }, "b"))
	b.Node("b", logs("b"))
	b.Edge(graph.Start, "a")
	b.Edge("b", "a")
	g := build(t, b, stored())
	invoke(t, g, "t1", graph.Done)
	d, err := g.Thread("t1").Draw(ctx, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	choices, handled := 0, 0
	for _, e := range d.Edges {
		switch {
		case e.To == "stop":
		case e.Kind == "choice":
			choices += e.Taken
		default:
			handled += e.Taken
		}
	}
	if choices != 1 || handled != 2 {
		t.Errorf("the ways from a to b were taken %d times as a choice and %d times by the handler, want 1 and 2", choices, handled)
	}
}

func TestDraw_SubgraphsToADepth(t *testing.T) {
	d := gallery(t, graph.Config{}).Draw(1)
	for what, text := range map[string]string{"mermaid": d.Mermaid(), "dot": d.DOT(), "text": d.Text()} {
		for _, want := range map[string][]string{
			"mermaid": {`subgraph n1 ["child"]`, `n1_n0["c1"]`, `n1_n0 --> n1_n1`},
			"dot":     {"subgraph cluster_n1 {", `n1_n0 [label="c1"]`, "ltail=cluster_n1"},
			"text":    {"┆ └── c1"},
		}[what] {
			if !strings.Contains(text, want) {
				t.Errorf("the %s does not hold %s:\n%s", what, want, text)
			}
		}
	}
}

func TestDraw_Run(t *testing.T) {
	cfg := stored()
	cfg.InterruptBefore = []string{"child"}
	g := gallery(t, cfg)
	invoke(t, g, "t1", graph.Interrupted)
	d, err := g.Thread("t1").Draw(ctx, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`n2{{"plan ×2"}}:::ran`, `n4[["work ×2"]]:::ran`, `n1[/"child"/]:::due`, "n2 -.->|×2| n4", "n2 -.->|×1| n2", "n2 -.->|×1| n1", "classDef due"} {
		if !strings.Contains(d.Mermaid(), want) {
			t.Errorf("the drawing does not hold %s:\n%s", want, d.Mermaid())
		}
	}
	for _, want := range []string{"plan ×2 ✓", "work ×2 [worker] ✓", "child (pauses before) …"} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("the text does not hold %s:\n%s", want, d.Text())
		}
	}
	resume(t, g, graph.Answers{}, graph.Done)
	old, err := g.Thread("t1").Draw(ctx, 2, 0)
	if err != nil || !strings.Contains(old.Mermaid(), "n2 -.-> n1") || !strings.Contains(old.Mermaid(), `n2{{"plan"}}:::due`) {
		t.Errorf("as of commit 2 the drawing is %v\n%s", err, old.Mermaid())
	}
	_, err = g.Thread("t1").Draw(ctx, 99, 0)
	is(t, err, graph.ErrUnknownThread)
	_, err = g.Thread("t2").Draw(ctx, 0, 0)
	is(t, err, graph.ErrUnknownThread)
}

func TestDrawTurn_CountsTheNewestSteps(t *testing.T) {
	cfg := stored()
	g := gallery(t, cfg)
	invoke(t, g, "t1", graph.Done)
	whole, err := graph.Turn(ctx, cfg.Store, "t1", 0, 0)
	if err != nil || len(whole) < 4 || whole[len(whole)-1].Source != checkpoint.Input {
		t.Fatalf("the turn is %v, %v", whole, err)
	}
	for limit := 1; limit <= len(whole); limit++ {
		turn, err := graph.Turn(ctx, cfg.Store, "t1", 0, limit)
		if err != nil || !reflect.DeepEqual(turn, whole[:limit]) {
			t.Fatalf("with the limit %d the turn is %v, %v", limit, turn, err)
		}
		d, err := g.Thread("t1").DrawTurn(ctx, turn, 1)
		ran := 0
		for _, n := range d.Nodes {
			ran += n.Ran
		}
		want := 0
		for _, c := range turn {
			want += len(c.Nodes())
		}
		if err != nil || ran != want {
			t.Errorf("with the limit %d nodes ran %d times, %v, want %d", limit, ran, err, want)
		}
	}
	d, err := g.Thread("t1").DrawTurn(ctx, whole[:1], 1) // the child ran before
	for _, n := range d.Nodes {
		if n.Inside == nil {
			continue
		}
		for _, in := range n.Inside.Nodes {
			if err != nil || in.Ran > 0 {
				t.Errorf("in the last step %s ran %d times, %v", in.Name, in.Ran, err)
			}
		}
	}
	_, err = graph.Turn(ctx, cfg.Store, "t1", 99, 0)
	is(t, err, graph.ErrUnknownThread)
	_, err = graph.Turn(ctx, cfg.Store, "t2", 0, 0)
	is(t, err, graph.ErrUnknownThread)
}

func TestDraw_RunWithItsSubgraphs(t *testing.T) {
	var ran counter
	pausing := func(ctx context.Context, s *inner) error {
		_, err := graph.Ask[string](ctx, graph.Question{Prompt: "ok?"})
		return err
	}
	for _, lifetime := range []graph.Lifetime{graph.PerCall, graph.PerThread} {
		c := child(t, &ran, graph.Config{Nested: lifetime}, pausing)
		outer := graph.New[inner]("middle")
		outer.Node("m", graph.Inline(c))
		outer.Edge(graph.Start, "m")
		outer.Edge("m", graph.End)
		b := graph.New[world]("outer")
		b.Node("o", hosts(build(t, outer, graph.Config{Nested: lifetime}), "", nil))
		b.Edge(graph.Start, "o")
		b.Edge("o", graph.End)
		g := build(t, b, stored())
		for range 2 { // the second turn alone is drawn
			invoke(t, g, "t1", graph.Interrupted)
			for depth, want := range []string{"", `n0_n0[/"m"/]:::due`, `n0_n0_n1["c2"]:::due`} {
				d, err := g.Thread("t1").Draw(ctx, 0, depth)
				if err != nil || !strings.Contains(d.Mermaid(), want) {
					t.Errorf("at depth %d, while it asks, %v, the drawing does not hold %s:\n%s", depth, err, want, d.Mermaid())
				}
			}
			resume(t, g, graph.Reply("yes"), graph.Done)
			d, err := g.Thread("t1").Draw(ctx, 0, 2)
			middle := d.Nodes[1].Inside
			if err != nil || middle == nil || middle.Nodes[1].Ran != 1 {
				t.Fatalf("%v: middle is %v, want that m ran once", err, middle)
			}
			for _, n := range middle.Nodes[1].Inside.Nodes[1:4] {
				if n.Ran != 1 || n.Due {
					t.Errorf("%s ran %d times, due is %v", n.Name, n.Ran, n.Due)
				}
			}
		}
		early, err := g.Thread("t1").Draw(ctx, 1, 2)
		if err != nil || early.Nodes[1].Inside.Nodes[1].Ran != 0 {
			t.Errorf("as of commit 1: %v, %v", early.Nodes[1].Inside, err)
		}
	}
}
