package workflow_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// BenchmarkLoop1000 runs a loop of 1,000 steps of one node; what it sets is the difference.
func BenchmarkLoop1000(b *testing.B) {
	for _, bm := range []struct{ name, set string }{
		{"number", `{n: 1}`},
		{"object", `{n: 1, last: {title: a, at: "${state.n}"}}`},
		{"read a list", `{n: 1, last: {seen: "${len(state.names)}"}}`},
	} {
		b.Run(bm.name, func(b *testing.B) {
			w, err := workflow.Parse("loop.yaml", fmt.Appendf(nil, `
version: 1
name: loop
state:
  n: {type: int, reducer: add}
  names: {type: list<string>, reducer: append, default: [a, b, c, d, e, f, g, h]}
  last: map<any>
nodes:
  count:
    set: %s
    next:
      - {if: state.n < 1000, to: count}
      - {else: END}
`, bm.set), workflow.Options{})
			if err != nil {
				b.Fatal(err)
			}
			g, err := w.Compile(graph.Config{MaxSteps: 2000})
			if err != nil {
				b.Fatal(err)
			}
			in, err := w.Input(map[string]json.RawMessage{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.Invoke(b.Context(), in, graph.RunOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A step that chooses its way by an expression allocates little more than what it writes.
func TestCompile_AStepOfALoopAllocatesLittle(t *testing.T) {
	loop := func(turns int) func() {
		w, err := workflow.Parse("loop.yaml", fmt.Appendf(nil, `
version: 1
name: loop
state:
  n: {type: int, reducer: add}
nodes:
  count:
    set: {n: 1}
    next:
      - {if: state.n < %d, to: count}
      - {else: END}
`, turns), workflow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		g, err := w.Compile(graph.Config{MaxSteps: 2000})
		if err != nil {
			t.Fatal(err)
		}
		in, err := w.Input(map[string]json.RawMessage{})
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			if _, err := g.Invoke(t.Context(), in, graph.RunOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	short, long := testing.AllocsPerRun(5, loop(100)), testing.AllocsPerRun(5, loop(1100))
	if n := (long - short) / 1000; n > 2 { // the race detector drops what pools keep
		t.Errorf("got %v allocations a step, want at most 2", n)
	}
}
