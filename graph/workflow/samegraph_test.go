package workflow_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
	"github.com/weftrun/weft/state/record"
)

func nothing() graph.Node[record.Record] {
	return graph.Func(func(context.Context, *record.Record) error { return nil })
}

func typeNamed(t *testing.T, text string) record.Type {
	t.Helper()
	typ, err := record.ParseType(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// copies are files and the same graphs in Go.
var copies = map[string]struct {
	file   string
	fields func(t *testing.T) []record.Field
	graph  func(b *graph.Builder[record.Record])
}{
	"every reducer": {`version: 1
name: copy
config: {x: int}
state:
  a: {type: list<int>, reducer: prepend}
  b: {type: map<any>, reducer: deep_merge, scope: turn}
  c: {type: string, reducer: once}
  d: messages
  e: {type: string, reducer: "go:longest", default: x}
  f: {type: number, reducer: max}
nodes: {n: {set: {}, next: END}}
`, func(t *testing.T) []record.Field {
		return []record.Field{
			{Name: "a", Type: typeNamed(t, "list<int>"), Kind: state.KindStack},
			{Name: "b", Type: typeNamed(t, "map<any>"), Kind: state.KindDeepMerge, Turn: true},
			{Name: "c", Type: typeNamed(t, "string"), Kind: state.KindOnce},
			{Name: "d", Channel: record.ForeignOf[message.Log]()},
			{Name: "e", Type: typeNamed(t, "string"), Channel: record.ForeignOf[state.Reduced[string, longest]](), Default: []byte(`"x"`)},
			{Name: "f", Type: typeNamed(t, "number"), Kind: state.KindMax},
			{Name: "run_config", Turn: true},
		}
	}, func(b *graph.Builder[record.Record]) {
		b.Node("n", nothing())
		b.Edge(graph.Start, "n")
		b.Edge("n", graph.End)
	}},
	"items": {`version: 1
name: copy
nodes:
  a: {for_each: {in: [1], max_parallel: 3}, set: {}, next: b}
  b: {set: {}, next: END}
`, func(*testing.T) []record.Field { return nil }, func(b *graph.Builder[record.Record]) {
		b.Node("a", graph.Router(func(context.Context, *record.Record) (graph.Command, error) { return graph.Goto("b"), nil }, "b", "a.each"))
		b.Node("a.each", graph.Worker(func(context.Context, *record.Record, struct{}) error { return nil }))
		b.Node("b", nothing())
		b.Edge(graph.Start, "a")
		b.Edge("a.each", "b")
		b.Edge("b", graph.End)
	}},
	"edges at the top": {`version: 1
name: copy
nodes: {a: {set: {}}, b: {set: {}}, c: {set: {}}}
edges: [{from: START, to: [a, b]}, {from: [a, b], to: c}, {from: c, to: END}]
`, func(*testing.T) []record.Field { return nil }, func(b *graph.Builder[record.Record]) {
		for _, name := range []string{"c", "b", "a"} {
			b.Node(name, nothing())
		}
		b.Edge(graph.Start, "a")
		b.Edge(graph.Start, "b")
		b.Edge("a", "c")
		b.Edge("b", "c")
		b.Edge("c", graph.End)
	}},
}

// inBoth returns a file, and the same graph in Go with its shape.
func inBoth(t *testing.T, file string, fields []record.Field, build func(*graph.Builder[record.Record])) (*workflow.Workflow, *graph.Builder[record.Record], *record.Shape) {
	t.Helper()
	w, err := workflow.Parse("copy.yaml", []byte(file), options())
	if err != nil {
		t.Fatal(err)
	}
	shape, err := record.NewShape(fields...)
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewRecord("copy", shape)
	build(b)
	return w, b, shape
}

func TestGraphsInGo_EqualTheirFiles(t *testing.T) {
	seen := map[string]string{}
	for name, copied := range copies {
		w, b, shape := inBoth(t, copied.file, copied.fields(t), copied.graph)
		inGo, inYAML := programOf(t, b.Compile, shape.New()), programOf(t, w.Compile, w.NewState())
		if inGo != inYAML {
			t.Errorf("%s: the program in Go is %s, the one in YAML %s", name, inGo, inYAML)
		}
		if other, same := seen[inGo]; same {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[inGo] = name
	}
}

// The drawing is the plan as data: it is the same for a file and for the graph in Go.
func TestGraphsInGo_DrawLikeTheirFiles(t *testing.T) {
	for name, copied := range copies {
		w, b, _ := inBoth(t, copied.file, copied.fields(t), copied.graph)
		inGo, inYAML := drawingOf(t, b.Compile), drawingOf(t, w.Compile)
		if inGo != inYAML || len(inGo) < 100 {
			t.Errorf("%s: the drawing in Go is\n%s\nthe one in YAML\n%s", name, inGo, inYAML)
		}
	}
}

func drawingOf(t *testing.T, compile func(graph.Config) (*graph.Graph[record.Record], error)) string {
	t.Helper()
	g, err := compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(g.Draw(9))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
