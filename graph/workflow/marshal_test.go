package workflow_test

import (
	"context"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/record"
)

// programOf runs a graph, or begins to, and returns the hash of the program that its
// checkpoint has.
func programOf(t *testing.T, compile func(graph.Config) (*graph.Graph[record.Record], error), in record.Record) string {
	t.Helper()
	store := new(checkpoint.Memory)
	g, err := compile(graph.Config{Store: store, InterruptBefore: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Invoke(context.Background(), in, graph.RunOptions{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	for p, err := range graph.History(context.Background(), store, checkpoint.Key{Thread: "t"}, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		return p.Program
	}
	t.Fatal("there is no checkpoint")
	return ""
}

// TestMarshal_RoundTrip writes every valid file of the golden files, and the
// one with tests, in the canonical form and reads it again.
func TestMarshal_RoundTrip(t *testing.T) {
	files := validFiles(t)
	files["tested"] = tested
	files["edges"] = "version: 1\nstate: {n: int}\nnodes: {a: {set: {}}, b: {set: {}}}\nedges: [{from: a, to: b, if: state.n > 1}, {from: a, to: END}, {from: b, to: END}]\n"
	files["derived"] = "version: 1\nstate: {x: int, y: int}\nnodes:\n  c: {requires: [x, y], set: {}}\n  a: {provides: [x], set: {x: 1}}\n  b: {provides: [y], set: {y: 1}}\n"
	all := kinds()
	for name, k := range testedKinds() {
		all[name] = k
	}
	compared := 0
	for name, text := range files {
		opts := options()
		opts.Kinds = all
		first, err := workflow.Parse("testdata/beside/in.yaml", []byte(text), opts)
		if err != nil {
			continue // it needs kinds of its own test
		}
		compared++
		written, err := first.Marshal()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		second, err := workflow.Parse("testdata/beside/in.yaml", written, opts)
		if err != nil {
			t.Errorf("%s: the canonical form is not valid: %v\n%s", name, err, written)
			continue
		}
		again, err := second.Marshal()
		if err != nil || string(again) != string(written) {
			t.Errorf("%s: the canonical form changes (%v)\n%s\n%s", name, err, written, again)
		}
		if a, b := programOf(t, first.Compile, first.NewState()), programOf(t, second.Compile, second.NewState()); a != b {
			t.Errorf("%s: the program is %s, and %s after a round trip\n%s", name, a, b, written)
		}
	}
	if compared < 80 {
		t.Errorf("only %d files were compared", compared)
	}
}

func TestMarshal_WritesImpliedEdges(t *testing.T) {
	w, err := workflow.Parse("in.yaml", []byte(`# a comment
nodes:
  c: {set: {}, requires: [x, y]}
  a: {set: {x: &one 1}, provides: [x]}
  b: {provides: [y], set: {y: *one}}
state: {x: int, y: int}
version: 1
`), workflow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `version: 1
name: in
state:
  x: int
  y: int
start: [a, b]
nodes:
  c:
    requires:
      - x
      - y
    join: [a, b]
    set: {}
    next: END
  a:
    set:
      x: 1
    provides:
      - x
    next: c
  b:
    set:
      y: 1
    provides:
      - y
    next: c
`
	if got, err := w.Marshal(); err != nil || string(got) != want {
		t.Errorf("got\n%s(%v)\nwant\n%s", got, err, want)
	}
}

// The same graph, built in Go and written in YAML, is one program: a thread of the one
// goes on with the other.
func TestGraphInGo_EqualsItsFile(t *testing.T) {
	w, err := workflow.Parse("copy.yaml", []byte(`
version: 1
state: {n: {type: int, reducer: add}, text: string}
nodes:
  a: {set: {n: 1}, next: [b, c]}
  b: {set: {n: 1}, on_error: d, next: d}
  c: {set: {n: 1}, next: d}
  d: {join: [b, c], set: {text: x}, next: [{if: state.n > 9, to: END}, {else: a}]}
  e: {defer: true, set: {}, next: END}
start: [a, e]
`), workflow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	number, _ := record.ParseType("int", nil)
	words, _ := record.ParseType("string", nil)
	shape, err := record.NewShape(record.Field{Name: "n", Type: number, Kind: state.KindSum}, record.Field{Name: "text", Type: words})
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewRecord("copy", shape)
	nothing := graph.Func(func(context.Context, *record.Record) error { return nil })
	for _, name := range []string{"e", "c", "b", "a"} {
		b.Node(name, nothing)
	}
	b.Node("d", graph.Router(func(context.Context, *record.Record) (graph.Command, error) { return graph.Goto(graph.End), nil }, graph.End, "a"))
	b.OnError("b", graph.Handler(func(context.Context, *record.Record, *graph.NodeError) (graph.Command, error) {
		return graph.Goto("d"), nil
	}, "d"))
	b.Defer("e")
	b.Edge(graph.Start, "e")
	b.Edge(graph.Start, "a")
	b.Edge("e", graph.End)
	b.Edge("a", "c")
	b.Edge("a", "b")
	b.Join("d", "c", "b")
	inGo, inYAML := programOf(t, b.Compile, shape.New()), programOf(t, w.Compile, w.NewState())
	if inGo != inYAML {
		t.Errorf("the program in Go is %s, the one in YAML %s", inGo, inYAML)
	}
	b.Edge("a", "e")
	if other := programOf(t, b.Compile, shape.New()); other == inYAML {
		t.Error("another graph has the same hash")
	}
}
