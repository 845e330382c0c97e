package workflow_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/weftrun/weft/graph"
)

func TestStep_UnreadLogCostsNothing(t *testing.T) {
	bytes := func(n int) uint64 {
		w := parse(t, fmt.Sprintf(`
version: 1
state:
  n: {type: int, reducer: add}
  log: {type: list<string>, reducer: append}
nodes:
  a:
    set: {n: 1, log: ["step ${{ state.n }}"]}
    next:
      - {if: state.n < %d, to: a}
      - {else: END}
`, n))
		g, err := w.Compile(graph.Config{MaxSteps: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		in, err := w.Input(nil)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res, err := g.Invoke(t.Context(), in, graph.RunOptions{})
		runtime.ReadMemStats(&after)
		if v, _ := res.State.Get("log"); err != nil || len(v.([]any)) != n {
			t.Fatalf("the log is %v, %v", v, err)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	short, long := bytes(1000)/1000, bytes(5000)/5000
	if long > 2*short {
		t.Errorf("a step of 5,000 allocates %d bytes, one of 1,000 %d", long, short)
	}
}
