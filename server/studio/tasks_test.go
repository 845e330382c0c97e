package studio_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
)

func TestThread_ListsTheTasksOfAWideRow(t *testing.T) {
	h, m := newStudio(t, "/studio")
	head, err := graph.Inspect(t.Context(), m.threads[0].Store, checkpoint.Key{Thread: "t 1"})
	if err != nil {
		t.Fatal(err)
	}
	b := eventlog.Batch{Run: head.Run}
	for i := range 250 {
		ev := graph.Event{Mode: graph.Tasks, Node: "search", Task: fmt.Sprint("k", i), Label: fmt.Sprintf("<page %d>", i), Phase: graph.Started, Attempt: 1, Time: head.Time.Add(time.Duration(i) * time.Second)}
		end := ev
		end.Phase, end.Time = graph.Finished, head.Time.Add(1000*time.Second)
		if i == 3 {
			end.Phase, end.Err = graph.Failing, errRefused
		}
		b.Events = append(b.Events, ev, end)
	}
	if err := m.log.Publish(t.Context(), "t 1", b); err != nil {
		t.Fatal(err)
	}
	holds(t, get(t, h, "/studio/threads/t%201"), 200, "250 tasks, at most 250 at once", `tasks=search" data-swap="" aria-expanded="false">250 tasks of search`, "!page 7")
	holds(t, get(t, h, "/studio/threads/t%201?tasks=search"), 200, "1 to 100 of 250", `<th scope="row" class="wide">&lt;page 7&gt;</th><td>done</td><td class="number">1</td><td class="number">7.0 s</td>`, "failed", "the input does not fit", "first=100", "!page 100")
	holds(t, get(t, h, "/studio/threads/t%201?tasks=search&first=200"), 200, "201 to 250 of 250", "page 249", "!first=300")
	holds(t, get(t, h, "/studio/threads/t%201?tasks=none"), 200, "!Table of tasks")
}
