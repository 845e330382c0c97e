//go:build unix

package verbs_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// clocked is a workflow that reads when its turn began, before and after it does work.
const clocked = `version: 1
name: clocked
state:
  worklog: {type: string, required: true}
  before: string
  after: string
input: [worklog]
output: [before, after]
nodes:
  one:
    uses: go:work
    with: {worklog: "${{ state.worklog }}", name: one}
    output: {before: "${{ run.time }}"}
    next: two
  two:
    uses: go:work
    with: {worklog: "${{ state.worklog }}", name: two}
    output: {after: "${{ run.time }}"}
    next: END
`

// TestTurn_ThatReadsItsTimeContinuesByTheSameCommand kills a run between its steps, and
// gives the command again at another time: it is the same turn, with the time at which it began.
func TestTurn_ThatReadsItsTimeContinuesByTheSameCommand(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", clocked)
	for n, kills := 1, 0; ; n++ {
		thread := fmt.Sprintf("t%d", n)
		h := newHistory(p, thread)
		run := func(store string) []string {
			return []string{"run", "w.yaml", "--thread", thread, "--store", store, "--input", "worklog=" + h.worklog()}
		}
		code := p.run(run(fmt.Sprintf("crash:%d:after:%s", n, h.file()))...).code
		if code != -1 {
			if kills < 3 {
				t.Errorf("it was killed %d times; want it between all steps", kills)
			}
			return
		}
		kills++
		began := beganAs(h)
		got := p.must(0, run(h.store)...).stdout
		if want := fmt.Sprintf("before: %s\nafter: %s\n", began, began); got != want {
			t.Errorf("after kill %d: got\n%swant\n%s", n, got, want)
		}
		if lines := h.lines(); len(lines) > 3 {
			t.Errorf("after kill %d: the worklog is %q; two tasks run, and one of them may run again", n, lines)
		}
	}
}

// beganAs returns the time that a thread's turn has, and holds the turn to be the same as one
// that would begin much later with the same input.
func beganAs(h *history) string {
	h.Helper()
	w, err := workflow.Load(h.path("w.yaml"), workflow.Options{
		Kinds: map[string]workflow.Kind{"go:work": workflow.Go(work)},
		Now:   func() time.Time { return time.Now().Add(72 * time.Hour) },
	})
	if err != nil {
		h.Fatal(err)
	}
	store, err := openAny(h.Context(), h.store)
	if err != nil {
		h.Fatal(err)
	}
	defer store.Close()
	g, err := w.Compile(graph.Config{Store: store})
	if err != nil {
		h.Fatal(err)
	}
	state, p, err := g.Thread(h.thread).State(h.Context(), 0)
	if err != nil {
		h.Fatal(err)
	}
	worklog, _ := json.Marshal(h.worklog())
	later, err := w.Input(map[string]json.RawMessage{"worklog": worklog})
	if err != nil {
		h.Fatal(err)
	}
	if hash, err := g.InputHash(later); err != nil || hash != p.Input {
		h.Errorf("the same input three days later has the hash %q (%v), and the turn has %q", hash, err, p.Input)
	}
	unix, _ := state.Get("run_time")
	return time.Unix(unix.(int64), 0).UTC().Format(time.RFC3339)
}
