//go:build unix

package verbs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/server/queue"
)

// pending stores runs that no server has begun, each on its thread.
func (p place) pending(address, graph string, threads ...string) {
	p.Helper()
	store, err := openAny(p.Context(), address)
	if err != nil {
		p.Fatal(err)
	}
	defer store.Close()
	q, err := server.OpenQueue(p.Context(), store)
	if err != nil {
		p.Fatal(err)
	}
	for _, thread := range threads {
		r := queue.Run{ID: "run-" + thread, Thread: thread, Request: fmt.Appendf(nil, `{"graph":%q}`, graph)}
		if _, err := q.Create(p.Context(), r, queue.Enqueue); err != nil {
			p.Fatal(err)
		}
	}
}

// TestBulk_KillAtEachWriteOfCancel kills the cancel of many runs at each of its writes. The same
// command then does the rest.
func TestBulk_KillAtEachWriteOfCancel(t *testing.T) {
	killAtEachWrite(t, 3, func(p place, store, crash string) (killed bool) {
		p.pending(store, "steps", "a", "b", "c")
		p.pending(store, "other", "d")
		killed = p.killedThenWhole(store, "crash-served:"+crash, "runs", "cancel")
		for thread, want := range map[string]string{"a": "interrupted", "b": "interrupted", "c": "interrupted", "d": "pending"} {
			got := p.must(0, "runs", "ls", "--thread", thread, "--json", "--store", store).stdout
			if status := gjson.Get(got, "status").String(); status != want || strings.Count(got, `"run":`) != 1 {
				p.Errorf("the run of thread %s is %q, want %q: %s", thread, status, want, got)
			}
		}
		if got := p.must(0, "runs", "--json", "--store", store).stdout; strings.Count(got, `"run":`) != 1 {
			p.Errorf("more than the run of thread d has not ended: %s", got)
		}
		return killed
	})
}
