package workflow_test

import (
	"context"
	"sync"
	"testing"

	"github.com/weftrun/weft/graph/workflow"
)

// together counts how many are at work at once. Each waits until as many as may be are, so
// the count does not depend on how fast they are.
type together struct {
	mu        sync.Mutex
	now, most int
	full      chan struct{} // closed when want are at work
	want      int
}

func (c *together) work(context.Context, struct{}) (int, error) {
	c.mu.Lock()
	c.now++
	c.most = max(c.most, c.now)
	if c.now == c.want {
		select {
		case <-c.full:
		default:
			close(c.full)
		}
	}
	c.mu.Unlock()
	<-c.full
	c.mu.Lock()
	c.now--
	c.mu.Unlock()
	return 1, nil
}

func TestForEach_MaxParallelBoundsItems(t *testing.T) {
	c := &together{want: 3, full: make(chan struct{})}
	f := load(t, map[string]string{"main.yaml": `
version: 1
state: {n: {type: int, reducer: add}}
nodes:
  a: {for_each: {in: "1..20", max_parallel: 3}, uses: "go:work", output: {n: "${{ result }}"}, next: END}
`}, map[string]workflow.Kind{"go:work": workflow.Go(c.work)})
	f.gives("{}", `{"n":20}`)
	if c.most != 3 {
		t.Errorf("%d items were at work at once, want 3", c.most)
	}
}

func TestForEach_MaxParallelBoundsGraphs(t *testing.T) {
	c := &together{want: 2, full: make(chan struct{})}
	f := load(t, map[string]string{"main.yaml": `
version: 1
state: {n: {type: int, reducer: add}}
nodes:
  a: {for_each: {in: "1..9", max_parallel: 2}, workflow: ./sub.yaml, output: {n: "${{ result.n }}"}, timeout: 1h, next: END}
`, "sub.yaml": `
version: 1
state: {n: int}
nodes:
  a: {uses: "go:work", output: {n: "${{ result }}"}, next: b}
  b: {set: {}, next: END}
`}, map[string]workflow.Kind{"go:work": workflow.Go(c.work)})
	f.gives("{}", `{"n":9}`)
	if c.most != 2 {
		t.Errorf("%d items were at work at once, want 2", c.most)
	}
}
