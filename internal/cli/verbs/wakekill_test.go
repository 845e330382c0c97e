//go:build unix

package verbs_test

import (
	"os"
	"strings"
	"testing"
	"time"
)

// overdue has a question that expires at once, and then leaves a line.
const overdue = `version: 1
name: overdue
state: {worklog: string, said: string}
input: [worklog]
output: [said]
nodes:
  ask:
    approval: {title: Sure, expires: {after: 1ms, then: reject}}
    output: {said: "${{ result.type }}"}
    next: work
  work: {uses: go:work, with: {worklog: "${{ state.worklog }}", name: work}, next: END}
`

// A waker is killed before and after each of its writes, of checkpoints and of timers. The next one
// does the rest.
func TestWake_KillAtEachWrite(t *testing.T) {
	killAtEachWrite(t, 3, 1, func(p place, store, crash string) (killed bool) {
		p.write("overdue.yaml", overdue)
		p.must(4, "run", p.path("overdue.yaml"), "--thread", "t", "--store", store, "--input", "worklog="+p.path("worklog"))
		return p.wakeKilled(store, "crash-all:"+crash)
	})
}

// wakeKilled wakes a thread in a process that is killed, and then in others. It reports whether the
// first was killed.
func (p place) wakeKilled(store, crash string) (killed bool) {
	p.Helper()
	wake := func(store string) []string {
		return []string{"wake", p.path("overdue.yaml"), "--once", "--store", store}
	}
	switch e := p.run(wake(crash)...); e.code {
	case -1:
		killed = true
	case 0:
	default:
		p.Fatalf("wake: exit code %d\nstdout: %s\nstderr: %s", e.code, e.stdout, e.stderr)
	}
	// The thread belongs to the dead waker for a while.
	state := ""
	for end := time.Now().Add(time.Minute); !strings.Contains(state, "done"); {
		if time.Now().After(end) {
			p.Fatalf("the thread has not gone on: %s", state)
		}
		p.must(0, wake(store)...)
		state = p.must(0, "state", "t", "--store", store).stdout
	}
	if !strings.Contains(state, "said: reject") {
		p.Errorf("the question was not closed: %s", state)
	}
	data, err := os.ReadFile(p.path("worklog"))
	if err != nil {
		p.Fatal(err)
	}
	if n := strings.Count(string(data), "\n"); n < 1 || n > 2 || n > 1 && !killed {
		p.Errorf("the work was done %d times", n)
	}
	return killed
}
