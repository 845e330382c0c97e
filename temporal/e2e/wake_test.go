package e2e

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/queue"
)

// due has a schedule whose time has passed, and a question that expires AFTER a time.
const due = `
version: 1
state: {said: string, by: string}
config: {greeting: {type: string, default: hello}}
input: []
schedules:
  launch: {at: "2026-01-02T06:00:00Z"}
nodes:
  ask:
    approval: {title: Sure, expires: {after: AFTER, then: reject}}
    output: {by: "${{ result.type }}"}
    next: say
  say: {set: {said: "${{ config.greeting }}"}, next: END}
`

// overdue returns a place with the workflow due under a name of its own, since all tests have one
// server, and the queue and the name. Its question expires after the time.
func overdue(t *testing.T, after string) (sh shell, on []string, name string) {
	t.Helper()
	sh, name = shell{T: t, dir: t.TempDir()}, "due-"+strings.ToLower(rand.Text())
	if err := os.WriteFile(filepath.Join(sh.dir, "due.yaml"), []byte("name: "+name+strings.Replace(due, "AFTER", after, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return sh, engineOf(name), name
}

// state returns what weft state prints of a thread.
func (sh shell) state(thread string) (s struct {
	Status string `json:"status"`
	State  struct {
		Said string `json:"said"`
		By   string `json:"by"`
	} `json:"state"`
}) {
	sh.Helper()
	code, printed := sh.call("state", thread, "--json")
	if code == 0 {
		if err := json.Unmarshal([]byte(printed), &s); err != nil {
			sh.Fatalf("%v\n%s", err, printed)
		}
	}
	return s
}

// await waits until a condition holds.
func (sh shell) await(what string, holds func() bool) {
	sh.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(time.Minute); !holds(); {
		select {
		case <-tick.C:
		case <-late:
			sh.Fatalf("%s: it did not happen within a minute", what)
		}
	}
}

// The workers of an engine begin the runs of schedules, and go on with threads whose questions
// expire. They hand these runs to the engine, each of them once.
func TestWorker_WakesThreads(t *testing.T) {
	sh, on, name := overdue(t, "1s")
	for range 2 {
		sh.worker(append(on, "due.yaml")...)
	}
	if code, printed := sh.call(append(on, "run", "due.yaml", "--thread", "asked")...); code != 4 {
		t.Fatalf("run: exit code %d, want 4\n%s", code, printed)
	}
	conn := dial(t)
	for _, thread := range []string{"asked", name + "/launch/2026-01-02T06:00:00Z"} {
		sh.await(thread, func() bool { return sh.state(thread).Status == "done" })
		if got := sh.state(thread).State; got.Said != "hello" || got.By != "reject" {
			t.Errorf("thread %s ended with %+v, want that it said hello after a reject", thread, got)
		}
		if _, printed := sh.call("history", thread, "--json"); strings.Count(printed, `"decision`) != 1 {
			t.Errorf("the history of %s is\n%s\nwant one decision", thread, printed)
		}
		if _, err := conn.DescribeWorkflowExecution(t.Context(), name+"/"+thread, ""); err != nil {
			t.Errorf("the engine has no workflow of thread %s: %v", thread, err)
		}
	}
}

// The run with which a worker of an engine wakes a thread of a server is one of the server's API.
// While no server lives, it waits for one.
func TestWorker_LeavesRunsOfTheAPIToServers(t *testing.T) {
	sh, on, name := overdue(t, "5s")
	w := sh.worker(append(on, "due.yaml")...)
	first := sh.serve(append(on, "due.yaml")...)
	thread := first.thread()
	first.get("POST", thread+"/runs/wait", `{"assistant_id":"`+name+`","input":{},"context":{"greeting":"good day"}}`, "")
	kill(first.cmd)
	store, err := sqlite.Open(t.Context(), filepath.Join(sh.dir, "weft.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	docs, err := store.Documents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.New(queue.Config{Store: store, Documents: docs, Engine: true})
	if err != nil {
		t.Fatal(err)
	}
	sh.await("the worker creates a run", func() bool {
		runs, err := q.Unfinished(t.Context(), strings.TrimPrefix(thread, "/threads/"))
		if err != nil {
			t.Fatal(err)
		}
		if len(runs) == 1 {
			return true
		}
		// The first server may have carried it out where its end took longer than the question.
		at, err := graph.Inspect(t.Context(), store, checkpoint.Key{Thread: strings.TrimPrefix(thread, "/threads/")})
		if err != nil {
			t.Fatal(err)
		}
		return at.Status == graph.Done
	})
	kill(w)
	sh.worker(append(on, "due.yaml")...)
	second := sh.serve(append(on, "due.yaml")...)
	second.until(thread, "status", "idle")
	if got := second.get("GET", thread, "", "values"); !strings.Contains(got, "said:good day") {
		t.Errorf("the thread ended with %s, want the greeting of its first run", got)
	}
	sh.await("two runs of the thread end with success", func() bool { // the thread is idle before its run has ended
		var runs []struct{ Status string }
		text := second.get("GET", thread+"/runs", "", "")
		return json.Unmarshal([]byte(text), &runs) == nil && fmt.Sprint(runs) == "[{success} {success}]"
	})
}
